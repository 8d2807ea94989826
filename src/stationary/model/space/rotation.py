"""Orientations with three freedoms and no singular position.

An orientation is a unit quaternion: four coordinates whose constraint every system that uses them
holds by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp
from scipy.spatial.transform import Rotation as Turned

from stationary.errors import StatementError, spelled
from stationary.model.built_once import Shared, Speed
from stationary.model.kinematics import unit_quaternion
from stationary.model.numbers import numbers_of
from stationary.model.space.vectors import Matrix, apply, is_rotation, transposed, triple
from stationary.model.symbols import Acceleration, Coordinate, Velocity
from stationary.model.terms import Constraint, Vector

# A quaternion given to this many digits is meant to have length one.
_UNIT = 1e-6


class Entry(Coordinate):
    """An entry of the quaternion of an orientation."""

    @property
    def dot(self) -> Velocity:
        """The velocity."""
        return EntryRate(self.name + ".dot")

    @property
    def ddot(self) -> Acceleration:
        """The acceleration."""
        return EntryAcceleration(self.name + ".ddot")

    @property
    def rotation(self) -> Orientation:
        """The orientation that it belongs to."""
        return Orientation(self.name[:-2])


class EntryRate(Velocity):
    """The velocity of an entry of a quaternion."""

    @property
    def of(self) -> Entry:
        """The entry."""
        return Entry(self.name.removesuffix(".dot"))


class EntryAcceleration(Acceleration):
    """The acceleration of an entry of a quaternion."""

    @property
    def of(self) -> Entry:
        """The entry."""
        return Entry(self.name.removesuffix(".ddot"))


class Omega(tuple):
    """The angular velocity of an orientation, in the axes of the body: three expressions."""

    rotation: Orientation

    def __new__(cls, rotation: Orientation, entries: Iterable[sp.Expr]):
        """Keep whose it is."""
        omega = super().__new__(cls, entries)
        omega.rotation = rotation
        return omega

    def __reduce__(self) -> tuple:
        return Omega, (self.rotation, tuple(self))

    @property
    def name(self) -> str:
        """What it is called in `start` and in results."""
        return f"{self.rotation.name}.omega"


class Orientation:
    """An orientation of a body: ``R @ v`` takes what is written in its axes to those of space.

    Attributes
    ----------
    name : str
    entries : tuple of Coordinate
        The quaternion (w, x, y, z) = (cos α/2, n sin α/2) of a turn by α about n.
    matrix : tuple of tuple
        The rotation matrix, row by row.
    omega : tuple
        The angular velocity in the axes of the body.
    """

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return self.name

    def __hash__(self) -> int:
        return hash(("Orientation", self.name))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Orientation) and self.name == other.name

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """The quaternion, its real entry first."""
        return tuple(Entry(f"{self.name}_{axis}") for axis in "wxyz")

    @cached_property
    def matrix(self) -> Matrix:
        """The rotation matrix, row by row."""
        w, x, y, z = self.entries
        rows = (
            (1 - 2 * (y**2 + z**2), 2 * (x * y - w * z), 2 * (x * z + w * y)),
            (2 * (x * y + w * z), 1 - 2 * (x**2 + z**2), 2 * (y * z - w * x)),
            (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x**2 + y**2)),
        )
        return tuple(tuple(Shared(e) for e in row) for row in rows)  # pyright: ignore[reportReturnType]

    @cached_property
    def omega(self) -> Omega:
        """The angular velocity in the axes of the body."""
        w, x, y, z = self.entries
        turned = (
            -x * w.dot + w * x.dot + z * y.dot - y * z.dot,
            -y * w.dot - z * x.dot + w * y.dot + x * z.dot,
            -z * w.dot + y * x.dot - x * y.dot + w * z.dot,
        )
        return Omega(self, (2 * Speed(e) for e in turned))

    @property
    def constraint(self) -> Constraint:
        """What keeps the quaternion at length one."""
        return unit_quaternion(self.entries, self.name)

    def __matmul__(self, vector: Any) -> Vector:
        """Return the components in space of a vector that is given in the axes of the body."""
        return tuple(Shared(e) for e in apply(self.matrix, triple(vector, "what is turned")))

    def back(self, vector: Any) -> Vector:
        """Return the components in the axes of the body of a vector that is given in space."""
        turned = apply(transposed(self.matrix), triple(vector, "what is turned back"))
        return tuple(Shared(e) for e in turned)

    # -- numbers ----------------------------------------------------------------------------------

    def quaternion(self, value: Any) -> np.ndarray:
        """Take an orientation: a quaternion, its real entry first, a matrix, SciPy's rotation."""
        if isinstance(value, Turned):
            quaternion = value.as_quat(scalar_first=True)
            if quaternion.shape == (4,):
                return quaternion
            value = f"{len(quaternion)} rotations"
        entries = numbers_of(value)
        if entries.shape == (3, 3) and np.all(np.isfinite(entries)) and is_rotation(entries):
            return Turned.from_matrix(entries).as_quat(scalar_first=True)
        if entries.shape == (4,) and np.all(np.isfinite(entries)):
            size = float(np.linalg.norm(entries))
            if abs(size - 1) <= _UNIT:
                return entries / size
            shown = np.array2string(entries / size if size else entries, separator=", ")
            raise StatementError(
                f"the quaternion of '{self.name}' is not a unit.",
                f"Found length {size:.6g}, expected 1.",
                f"Give {shown}, if that is what is meant." if size else "Give (1, 0, 0, 0).",
            )
        raise StatementError(
            f"start of '{self.name}' is no orientation.",
            f"Found {str(value)[:60]!r}; expected a quaternion (w, x, y, z), a rotation matrix "
            "or one of SciPy's rotations.",
            "Leave it out for an orientation that is not turned.",
        )

    def rates(self, quaternion: np.ndarray, omega: Any) -> np.ndarray:
        """Return the rates of the quaternion under an angular velocity in the axes of the body."""
        turn = numbers_of(omega)
        if turn.shape != (3,) or not np.all(np.isfinite(turn)):
            raise StatementError(
                f"start of '{self.name}.omega' is no angular velocity.",
                f"Found {str(omega)[:60]!r}, expected three finite numbers.",
                "Give (wx, wy, wz) in the axes of the body, in rad/s.",
            )
        w, v = quaternion[0], quaternion[1:]
        return np.append(-v @ turn, w * turn + np.cross(v, turn)) / 2


def body_rates(quaternion: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """Return angular velocities in the axes of the body from quaternions and their rates."""
    w, v = quaternion[..., :1], quaternion[..., 1:]
    return 2 * (w * rates[..., 1:] - v * rates[..., :1] - np.cross(v, rates[..., 1:]))


@spelled
def rotation(name: str) -> Orientation:
    """Declare an orientation: three freedoms, none of them singular anywhere.

    Parameters
    ----------
    name : str

    Returns
    -------
    Orientation
        ``R.omega`` is the angular velocity in the axes of the body, ``R @ v`` takes a vector from
        there to space, and a frame is turned by it: ``frame.turn(R)``. In `start` it takes a
        quaternion (w, x, y, z), a rotation matrix or one of SciPy's rotations, and ``R.omega``
        three numbers; ``motion[R]`` is a `scipy.spatial.transform.Rotation`.

    Examples
    --------
    >>> R = st.rotation("R")
    >>> top = st.body(1.0, inertia=(0.1, 0.1, 0.05), frame=st.Frame().turn(R))
    >>> motion = st.simulate(top, span=(0, 1), start={R.omega: (0.0, 0.0, 2.0)})
    >>> motion[R][-1].as_rotvec().round(9) + 0.0
    array([0., 0., 2.])
    """
    if not isinstance(name, str) or not re.fullmatch(r"[^\W\d]\w*", name) or name == "t":
        raise StatementError(
            f"{str(name)[:60]!r} cannot name a rotation.",
            "Names are letters, digits and underscores; 't' is time.",
            "Give one name, as in st.rotation('R').",
        )
    return Orientation(name)


def orientations(symbols: Iterable[sp.Symbol]) -> list[Orientation]:
    """Return the orientations whose entries, or rates of them, are among symbols."""
    rotations = set()
    for s in symbols:
        entry = s.of if isinstance(s, EntryRate) else s
        if isinstance(entry, Entry):
            rotations.add(entry.rotation)
    return sorted(rotations, key=lambda r: r.name)
