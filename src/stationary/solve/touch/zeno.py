"""Impacts that follow each other ever faster: when they accumulate."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

# Contacts of a pattern that repeats: up to so many impacts.
_LONGEST = 4

# Ratios of successive intervals agree to this part where a series is geometric.
_AGREE = 0.02

# A series ends when what is left of it is this part of what it took.
_LEFT = 1e-11

# Impacts that time hardly tells apart have come to their end.
_APART = 64.0

# Contacts that open by less than this many roundings of their gaps are closed.
_ROUGH = 4.0

# Impacts without loss between walls that close are as many as one likes: of so many it is asked now
# and then whether the room for them ends, and they end where this part of their time is left.
_MANY, _NOW_AND_THEN, _NEAR = 3000, 100, 0.01

# So many impacts are remembered.
_KEPT = 64


@dataclass
class Zeno:
    """The last impacts, as long as they follow each other ever faster."""

    times: list[float] = field(default_factory=list)
    which: list[frozenset[int]] = field(default_factory=list)
    first: float = np.nan
    count: int = 0

    def clear(self) -> None:
        """Forget what was."""
        self.times, self.which = [], []

    def would_end(self, t: float, contacts: frozenset[int], speed: float) -> bool:
        """Note an impact, unless impacts like it accumulate here, or may."""
        known = self.times.copy(), self.which.copy(), self.first, self.count
        if self.ends(t, contacts, speed, 0.0) is None and self.crowd is None:
            return False
        self.times, self.which, self.first, self.count = known
        return True

    def ends(
        self, t: float, contacts: frozenset[int], speed: float, rounding: float
    ) -> tuple[float, frozenset[int]] | None:
        """Note an impact; return when impacts like it accumulate, and at which contacts, if soon.

        Intervals d, r·d, r²·d … after the last one add up to r·d/(1 − r). A series whose contacts
        open no further than `rounding` is at its end as well: `speed` is that of the impact.
        """
        if not self.times:
            self.first, self.count = t, 0
        self.count += 1
        self.times.append(t)
        self.which.append(contacts)
        del self.times[:-_KEPT], self.which[:-_KEPT]
        for period in range(1, _LONGEST + 1):
            if len(self.times) < 3 * period + 1:
                break
            if self.which[-2 * period :] != self.which[-3 * period : -period]:
                continue
            d = [self.times[-1 - k * period] - self.times[-1 - (k + 1) * period] for k in range(3)]
            every = frozenset().union(*self.which[-period:])
            if d[0] <= _APART * np.spacing(abs(t)):
                return t, every
            if not d[0] < d[1] < d[2]:
                # The series has not begun yet.
                self.first, self.count = t, 0
                continue
            ratio, other = d[0] / d[1], d[1] / d[2]
            left = d[0] * ratio / (1 - ratio)
            if abs(ratio - other) > _AGREE * (1 - ratio) + 1e-3 * _AGREE:
                continue
            rise = speed * d[0] / (4 * period)
            if left <= _LEFT * (t - self.first) or rise <= _ROUGH * rounding:
                return t + left, every
        return None

    @property
    def crowd(self) -> frozenset[int] | None:
        """The contacts of a long series, now and then: what follows it costs more than a look."""
        if self.count < _MANY or self.count % _NOW_AND_THEN:
            return None
        return frozenset().union(*self.which)

    def near(self, t: float, end: float) -> bool:
        """Tell whether a series that ends then has come close to its end."""
        return end - t <= _NEAR * (t - self.first)
