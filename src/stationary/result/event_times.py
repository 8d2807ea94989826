"""When events happened, by place and by name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from stationary.errors import StatementError, did_you_mean
from stationary.result.views import same


class Happened(tuple):
    """Times of events in the order in which the events were given; those with a name also by it.

    Examples
    --------
    >>> x = st.coordinates("x")
    >>> free = st.System(kinetic=x.dot**2 / 2)
    >>> motion = st.simulate(
    ...     free, span=(0, 3), start={x.dot: 1.0}, events=[st.Event(x - 2, name="there")]
    ... )
    >>> motion.events["there"], motion.events[0]
    (array([2.]), array([2.]))
    """

    names: tuple[str | None, ...]

    def __new__(cls, times: Iterable[np.ndarray] = (), names: Iterable[str | None] = ()):
        """Make it of arrays of times, one for each event, and of the events' names."""
        happened = super().__new__(cls, times)
        happened.names = tuple(names)
        return happened

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return super().__getitem__(key)
        if key not in self.names:
            known = [name for name in self.names if name]
            raise StatementError(
                f"no event is called '{key}'.",
                f"Named events: {', '.join(known) or 'none'}.{did_you_mean(key, known)}",
                "Give it a name, as in st.Event(x, name='turn'), or take it by its place.",
            )
        return super().__getitem__(self.names.index(key))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Happened) and same([*self, self.names], [*other, other.names])

    # Arrays have no hash.
    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __reduce__(self) -> tuple[Any, ...]:
        return Happened, (tuple(self), self.names)
