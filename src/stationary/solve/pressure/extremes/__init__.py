"""The search for the extreme motion of one mode, and its pressure."""
