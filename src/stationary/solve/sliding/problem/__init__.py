"""What is asked: a system at a time and a place as numbers, its modes, and what is far."""
