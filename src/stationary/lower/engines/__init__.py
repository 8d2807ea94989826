"""Engines: one file each, all from the same graph."""
