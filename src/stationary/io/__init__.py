"""Systems as text: model files, read by a grammar of our own and written back."""
