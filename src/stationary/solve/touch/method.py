"""How motions that touch are followed: what a user may choose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from stationary.errors import StatementError, did_you_mean, spelled

WORDS = ("open", "closed", "stick", "slide")


@spelled
@dataclass(frozen=True)
class Touch:
    """From change to change, with smooth motions between them located to rounding.

    Parameters
    ----------
    prefer : str or tuple of str
        Where several modes satisfy the laws of contact and friction, the one with most contacts
        "open", "closed", "stick" or "slide", the first word first. Left out, such a motion ends.
    smooth : "auto" or integrator
        What integrates between the changes: `Taylor`, `BDF` or `Runge`.

    Examples
    --------
    >>> x = st.coordinates("x")
    >>> block = st.System(kinetic=x.dot**2 / 2, friction=[st.Friction(2.0, on=x, name="floor")])
    >>> motion = st.simulate(block, span=(0, 2), start={x.dot: 3.0}, method=st.Touch())
    >>> print(motion.changes)
    1 changes
      t = 1.5  stick    floor
    """

    prefer: Any = ()
    smooth: Any = "auto"

    def __post_init__(self):
        several = isinstance(self.prefer, (list, tuple))
        words = tuple(self.prefer) if several else (self.prefer,)
        for word in words:
            if word not in WORDS:
                raise StatementError(
                    "prefer names what is no mode of a contact.",
                    f"Found {word!r}, expected one of {', '.join(WORDS)}."
                    + did_you_mean(str(word), WORDS),
                    "Write prefer='open', or several in order of preference.",
                )
        object.__setattr__(self, "prefer", words)
