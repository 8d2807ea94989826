"""Frames, orientations, bodies and joints in space."""
