"""Friction at contacts, as large as what presses them: Coulomb's law, mode by mode."""
