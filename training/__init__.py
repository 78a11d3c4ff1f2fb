"""How the embedding model is made: its data and its training. Not part of the package."""
