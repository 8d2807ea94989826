"""What becomes of equilibria while a parameter moves."""
