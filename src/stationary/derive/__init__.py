"""Deriving equations from a statement: to read, in SymPy; to run, on a CasADi graph."""
