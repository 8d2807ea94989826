"""Vectors and matrices of expressions in space, and what users may give for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp
from sympy.core.add import _addsort
from sympy.core.mul import _mulsort

from stationary.errors import StatementError
from stationary.model.built_once import Shared
from stationary.model.contents import contents
from stationary.model.numbers import numbers_of
from stationary.model.symbols import Coordinate, Parameter, Velocity, t
from stationary.model.terms import Vector, expression, vector

Matrix = tuple[Vector, Vector, Vector]

#: The axes of a frame, by name.
AXES = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1)}
IDENTITY: Matrix = tuple(tuple(map(sp.Integer, AXES[a])) for a in "xyz")  # pyright: ignore[reportAssignmentType]
ZERO: Vector = (sp.S.Zero,) * 3

# Rows of a rotation matrix that are given in this many digits are at right angles.
_RIGHT = 1e-9


def plain(e: Any) -> sp.Expr:
    """Return an expression in which whole numbers are exact: then zeros and ones drop out."""
    e = sp.S(e)
    return sp.Integer(int(e)) if e.is_Float and e == int(e) else e


def triple(value: Any, what: str) -> Vector:
    """Take three expressions."""
    entries = vector(value, what)
    if len(entries) != 3:
        raise StatementError(
            f"{what} has three entries.", f"Found {len(entries)}.", "Give (x, y, z)."
        )
    return tuple(map(plain, entries))


def place(value: Any, what: str) -> Vector:
    """Take a point of space, or of the plane z = 0."""
    entries = vector(value, what)
    if len(entries) not in (2, 3):
        raise StatementError(
            f"{what} has two or three entries.",
            f"Found {len(entries)}.",
            "Give (x, y, z), or (x, y) in the plane.",
        )
    return (*map(plain, entries), *[sp.S.Zero] * (3 - len(entries)))


def direction(value: Any, what: str) -> Vector:
    """Take "x", "y", "z" or a vector; return it with length one."""
    if isinstance(value, str):
        if value not in AXES:
            raise StatementError(
                f"{what} is not known.",
                f"Found '{value}', expected 'x', 'y', 'z' or a vector.",
                "Give a name or (ax, ay, az).",
            )
        return tuple(map(sp.Integer, AXES[value]))
    entries = triple(value, what)
    moving = [s for e in entries for s in contents(e).symbols if moves(s)]
    if moving:
        raise StatementError(
            f"{what} moves.",
            f"Found '{moving[0]}' in it, expected numbers and parameters.",
            "Turn the frame first, and then about a fixed axis of it.",
        )
    size = sp.sqrt(sp.Add(*(e**2 for e in entries)))
    if size.is_zero or size == 0:
        raise StatementError(
            f"{what} has length zero.",
            f"Found ({', '.join(map(str, entries))}), expected a direction.",
            "Give a vector that points somewhere, as (0, 0, 1).",
        )
    return tuple(plain(e / size) for e in entries)


def moves(s: sp.Symbol) -> bool:
    """Tell whether a symbol changes with time."""
    return isinstance(s, (Coordinate, Velocity)) or s == t


def known(e: sp.Expr) -> float | None:
    """Return the value of an expression of numbers and of parameters with defaults."""
    defaults = {s: s.default for s in e.free_symbols if isinstance(s, Parameter)}
    if None in defaults.values() or e.free_symbols - set(defaults):
        return None
    return float(e.xreplace(defaults))  # pyright: ignore[reportArgumentType]


def is_rotation(matrix: np.ndarray) -> bool:
    """Tell whether a matrix of numbers turns."""
    right = np.abs(matrix @ matrix.T - np.eye(3)).max() <= _RIGHT
    return bool(right and np.linalg.det(matrix) > 0)


def turning(value: Any, what: str) -> Matrix:
    """Take a constant rotation: a matrix, or one of SciPy's rotations."""
    matrix = value.as_matrix() if hasattr(value, "as_matrix") else value
    entries = numbers_of(matrix)
    if entries.shape != (3, 3) or not np.all(np.isfinite(entries)) or not is_rotation(entries):
        raise StatementError(
            f"{what} is no rotation.",
            f"Found {str(value)[:60]!r}; expected orthogonal rows of length one that make "
            "a right-handed frame.",
            "Give a 3 × 3 rotation matrix, a rotation of SciPy's, or an axis and an angle.",
        )
    return tuple(tuple(plain(righted(sp.Float(x))) for x in row) for row in entries)  # pyright: ignore[reportReturnType]


def righted(e: sp.Expr) -> sp.Expr:
    """Return a sine or cosine; that of right angles is whole, whatever the last digit of π is."""
    if not e.is_Float:
        return e
    whole = round(float(e))
    return sp.Integer(whole) if abs(float(e) - whole) < 4 * np.finfo(float).eps else e


# -- algebra --------------------------------------------------------------------------------------


def dot(a: Any, b: Any) -> sp.Expr:
    """Return a·b."""
    return total(times(x, y) for x, y in zip(a, b))


def cross(a: Any, b: Any) -> Vector:
    """Return a × b."""
    return tuple(
        total((times(a[i], b[j]), times(-1, times(a[j], b[i]))))
        for i, j in ((1, 2), (2, 0), (0, 1))
    )


def times(x: Any, y: Any) -> sp.Expr:
    """Return x y, as SymPy would write it; what is shared is not looked into."""
    x, y = sp.S(x), sp.S(y)
    if x is sp.S.Zero or y is sp.S.Zero:
        return sp.S.Zero
    if x is sp.S.One or y is sp.S.One:
        return y if x is sp.S.One else x
    if not (_long(x) or _long(y)):
        return x * y
    factors = [e for f in (x, y) for e in (f.args if f.is_Mul else (f,))]
    numbers = [e for e in factors if e.is_Number]
    rest = [e for e in factors if not e.is_Number]
    if len(set(rest)) < len(rest) or any(e.is_Pow for e in rest):
        return x * y
    number = sp.Mul(*numbers)
    _mulsort(rest)
    if number is not sp.S.One:
        rest.insert(0, number)
    return rest[0] if len(rest) == 1 else sp.Mul._from_args(rest, is_commutative=True)


def total(terms: Any) -> sp.Expr:
    """Return a sum, as SymPy would write it; what is shared is not looked into."""
    summands = [e for t in terms if t is not sp.S.Zero for e in (t.args if t.is_Add else (t,))]
    rests = [e.as_coeff_Mul()[1] for e in summands]
    if len(summands) < 2 or not any(map(_long, summands)) or len(set(rests)) < len(rests):
        return sp.Add(*summands)
    numbers = [e for e in summands if e.is_Number]
    summands = [e for e in summands if not e.is_Number]
    _addsort(summands)
    return sp.Add._from_args([*numbers, *summands], is_commutative=True)


def _long(e: sp.Expr) -> bool:
    return isinstance(e, Shared) or (e.is_Mul and any(isinstance(a, Shared) for a in e.args))


def add(a: Any, b: Any) -> Vector:
    """Return a + b."""
    return tuple(total((sp.S(x), sp.S(y))) for x, y in zip(a, b))


def minus(a: Any, b: Any) -> Vector:
    """Return a − b."""
    return tuple(total((sp.S(x), times(-1, y))) for x, y in zip(a, b))


def scale(k: Any, a: Any) -> Vector:
    """Return k a."""
    return tuple(times(k, x) for x in a)


def apply(matrix: Any, a: Any) -> Vector:
    """Return the matrix times a."""
    return tuple(dot(row, a) for row in matrix)


def transposed(matrix: Any) -> Matrix:
    """Return the transpose."""
    return tuple(zip(*matrix))  # pyright: ignore[reportReturnType]


def product(a: Any, b: Any) -> Matrix:
    """Return a b, entries shared."""
    return tuple(tuple(Shared(dot(row, column)) for column in zip(*b)) for row in a)  # pyright: ignore[reportReturnType]


def across(axis: Vector) -> tuple[Vector, Vector]:
    """Return two directions that make a right-handed frame with a given one as the last."""
    sizes = [abs(known(e) or 0.0) for e in axis]
    first = [sp.S.Zero] * 3
    # The axis of the frame that is most nearly at a right angle begins.
    first[sizes.index(min(sizes))] = sp.S.One
    ahead = minus(first, scale(dot(first, axis), axis))
    size = sp.sqrt(dot(ahead, ahead))
    one = tuple(plain(e / size) for e in ahead)
    return one, tuple(plain(e) for e in cross(axis, one))


def angle_of(value: Any, what: str) -> sp.Expr:
    """Take an angle."""
    return plain(expression(value, what))
