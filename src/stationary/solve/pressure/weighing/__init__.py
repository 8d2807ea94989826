"""Loads from how a part moves when it is pushed."""
