"""Solvers: they see graphs and numbers, never a SymPy expression."""
