"""Where it rests: one minimum, or all equilibria in a box, and what kind each is."""
