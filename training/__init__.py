"""How the model in the package was made: its data, its training, its quantisation, its figures."""
