"""How far a load can grow before anything slides, and how fast before inertia counts."""
