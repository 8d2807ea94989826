"""Pictures of results; importing this package registers them."""

from stationary.plot import (
    animation,
    diagram,
    eigenvalues,
    fields,
    forces,
    phase,
    pressure,
    quasistatic_error,
    runs,
    series,
    sliding,
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
    "quasistatic_error",
    "strobe",
    "surface",
]
