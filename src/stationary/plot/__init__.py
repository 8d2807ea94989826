"""Pictures of results; importing this package registers them."""

from stationary.plot import animation, phase, series, strobe

__all__ = ["animation", "phase", "series", "strobe"]
