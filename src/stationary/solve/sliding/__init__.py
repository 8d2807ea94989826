"""Motion without inertia: minimum power, force balance, limit loads."""
