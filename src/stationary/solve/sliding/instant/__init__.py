"""How it slides at one instant: by least power or dissipation, or by the balance of forces."""
