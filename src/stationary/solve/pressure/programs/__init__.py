"""Linear programs over all pressures at given motions."""
