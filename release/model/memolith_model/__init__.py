"""The networks and the vocabulary of memolith; `retrieval/embedding` of memolith reads them."""
