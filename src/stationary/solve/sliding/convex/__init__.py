"""The least of power where friction is given: cones, kinks, and what is left free."""
