"""Values with units as text: ``"5 cm"`` is 0.05. Everything inside is in SI units."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from fractions import Fraction

from stationary.errors import did_you_mean

_PREFIXES = {"n": -9, "u": -6, "µ": -6, "μ": -6, "m": -3, "c": -2, "d": -1, "h": 2, "k": 3,
             "M": 6, "G": 9}  # fmt: skip

# Units that take prefixes, in SI units. The gram rather than the kilogram: "mg" is a milligram.
_WITH_PREFIX = {"m": 1.0, "g": 1e-3, "s": 1.0, "N": 1.0, "J": 1.0, "W": 1.0, "Pa": 1.0, "Hz": 1.0,
                "rad": 1.0}  # fmt: skip
_ALONE = {"deg": math.pi / 180, "°": math.pi / 180, "rev": 2 * math.pi, "rpm": math.pi / 30,
          "min": 60.0, "h": 3600.0, "L": 1e-3, "t": 1e3, "1": 1.0, "%": 0.01, "in": 0.0254,
          "ft": 0.3048, "lb": 0.45359237, "lbf": 4.4482216152605}  # fmt: skip
KNOWN = (*_WITH_PREFIX, *_ALONE)

#: Powers of length, mass and time.
Dimension = tuple[Fraction, ...]
# Angles and shares have none.
_DIMENSIONS = {"m": (1, 0, 0), "g": (0, 1, 0), "s": (0, 0, 1), "N": (1, 1, -2), "J": (2, 1, -2),
               "W": (2, 1, -3), "Pa": (-1, 1, -2), "Hz": (0, 0, -1), "rpm": (0, 0, -1),
               "min": (0, 0, 1), "h": (0, 0, 1), "L": (3, 0, 0), "t": (0, 1, 0), "in": (1, 0, 0),
               "ft": (1, 0, 0), "lb": (0, 1, 0), "lbf": (1, 1, -2)}  # fmt: skip

_VALUE = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(.*)", re.DOTALL)
_FACTOR = re.compile(r"([^\W\d_²³]+|°|%|1)\s*(?:(?:\^|\*\*)?\s*(-?\d)|([²³]))?\s*")
_LONGEST = 40


class UnknownUnit(ValueError):
    """A unit that is not in the table; carries what was found and a suggestion."""

    def __init__(self, unit: str, suggestion: str = ""):
        super().__init__(unit)
        self.unit, self.suggestion = unit, suggestion


def split(text: str) -> tuple[str, str] | None:
    """Split text into a number and a unit; None if it does not begin with a number.

    Examples
    --------
    >>> from stationary.model.units import split
    >>> split("9.81 m/s^2")
    ('9.81', 'm/s^2')
    """
    match = _VALUE.fullmatch(text)
    return (match[1], match[2].strip()) if match else None


def value(number: str, unit: str) -> float:
    """Return a number with a unit in SI units.

    Examples
    --------
    >>> from stationary.model.units import value
    >>> value("5", "cm"), value("72", "km/h"), value("0.3", "N m/rad")
    (0.05, 20.0, 0.3)
    """
    size, exact = _size(unit)
    if exact is not None and len(number) < _LONGEST and abs(_exponent(number)) < _LONGEST:
        return float(Fraction(number) * exact)
    return float(number) * size


def _exponent(number: str) -> int:
    mantissa, _, power = number.lower().partition("e")
    return int(power[:6] or 0)


def dimension_of(unit: str) -> Dimension:
    """Return the powers of length, mass and time in a unit.

    Examples
    --------
    >>> from stationary.model.units import dimension_of
    >>> [int(power) for power in dimension_of("N/m")]
    [0, 1, -2]
    """
    total = [Fraction(0)] * 3
    for name, power in _factors(unit):
        _factor(name)
        alone = name in _ALONE or name in _WITH_PREFIX
        own = _DIMENSIONS.get(name if alone else name[1:], (0, 0, 0))
        total = [d + power * o for d, o in zip(total, own)]
    return tuple(total)


def _size(unit: str) -> tuple[float, Fraction | None]:
    """Return the size of a unit in SI units, exactly where it is a decimal fraction."""
    size = 1.0
    exact: Fraction | None = Fraction(1)
    for name, power in _factors(unit):
        factor = _factor(name)
        size *= factor**power
        known = Fraction(repr(factor)) if exact is not None else None
        exact = exact * known**power if exact and known and _decimal(factor) else None
    return size, exact


def _factors(unit: str) -> Iterator[tuple[str, int]]:
    """Take a unit apart into names and powers."""
    if len(unit) > _LONGEST:
        raise UnknownUnit(unit[:_LONGEST] + "…")
    below, at = False, 0
    while at < len(unit):
        if unit[at] in "*·⋅ /()":
            # What stands after a stroke is below it: kg m/s^2, N/(m s).
            below = below or unit[at] == "/"
            at += 1
            continue
        match = _FACTOR.match(unit, at)
        if match is None:
            raise UnknownUnit(unit)
        power = int(match[2] or {"²": 2, "³": 3}.get(match[3] or "", 1))
        yield match[1], -power if below else power
        at = match.end()


def _decimal(factor: float) -> bool:
    """Tell whether the shortest decimal fraction that is this number is the unit itself."""
    return len(repr(factor)) < 14


def _factor(name: str) -> float:
    if name in _ALONE:
        return _ALONE[name]
    if name in _WITH_PREFIX:
        return _WITH_PREFIX[name]
    stem = name[1:]
    if name[0] in _PREFIXES and stem in _WITH_PREFIX:
        return (
            float(f"{_WITH_PREFIX[stem]}e{_PREFIXES[name[0]]}")
            if stem != "g"
            else float(f"1e{_PREFIXES[name[0]] - 3}")
        )
    raise UnknownUnit(name, did_you_mean(name, KNOWN).strip())
