"""How it moves with inertia: legs, switches, events, and why a motion ends."""
