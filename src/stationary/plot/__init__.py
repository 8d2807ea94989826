"""Pictures of results; importing this package registers them."""

from stationary.plot import (
    animation,
    diagram,
    eigenvalues,
    fields,
    forces,
    phase,
    pressure,
    runs,
    series,
    sliding,
    speed,
    strobe,
    surface,
)

__all__ = [
    "animation",
    "diagram",
    "eigenvalues",
    "fields",
    "forces",
    "phase",
    "pressure",
    "runs",
    "series",
    "sliding",
    "speed",
    "strobe",
    "surface",
]
