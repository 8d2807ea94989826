"""Arrays of coordinates: a thousand symbols under one name, indexed as in NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any, overload

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from stationary.errors import StatementError, say, spelled
from stationary.model.symbols import Coordinate, declared, declared_together


@spelled
@dataclass(frozen=True, eq=False)
class Array(NDArrayOperatorsMixin):
    """An array of coordinates (or, after ``.dot``, of their velocities), or a view of one.

    Attributes
    ----------
    name : str
        Name of the whole array.
    base : tuple of int
        Shape of the whole array.
    index : ndarray of int
        Which entries of the flattened whole this view shows, in the view's shape.
    order : int
        0 for coordinates, 1 for velocities.

    Examples
    --------
    >>> r = st.coordinates("r", shape=(4, 2))
    >>> r[1:].shape, r[2, 1], r.dot[0, 0]
    ((3, 2), r[2,1], r[0,0].dot)
    >>> st.norm(r[1] - r[0])
    sqrt((-r[0,0] + r[1,0])**2 + (-r[0,1] + r[1,1])**2)
    """

    name: str
    base: tuple[int, ...]
    index: np.ndarray
    order: int

    # SymPy's operators leave the work to the operand of higher priority.
    _op_priority = 1e3

    def __array_ufunc__(self, ufunc, method, *operands, **options):
        written = (np.asarray(x) if isinstance(x, Array) else x for x in operands)
        return getattr(ufunc, method)(*written, **options)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the view."""
        return self.index.shape

    @property
    def size(self) -> int:
        """Number of entries of the view."""
        return self.index.size

    @property
    def dot(self) -> Array:
        """The velocities of these coordinates."""
        return Array(self.name, self.base, self.index, self.order + 1)

    @property
    def whole(self) -> Array:
        """The array of coordinates that this is a view of."""
        return Array(self.name, self.base, np.arange(int(np.prod(self.base))).reshape(self.base), 0)

    def __getitem__(self, key: Any) -> Any:
        try:
            picked = self.index[key]
        except IndexError as error:
            raise IndexError(
                say(
                    f"'{self.name}' has no entry [{str(key)[:40]}].",
                    f"Found the shape {self.shape}: {error}.",
                    "Count from zero, with one index for each axis.",
                )
            ) from None
        if np.ndim(picked):
            return Array(self.name, self.base, np.asarray(picked), self.order)
        return self.symbol(int(picked))

    def symbol(self, at: int):
        """Return the symbol of the entry at this flat position of the whole array."""
        place = ",".join(str(int(i)) for i in np.unravel_index(at, self.base))
        coordinate = Coordinate(f"{self.name}[{place}]")
        return (coordinate, coordinate.dot, coordinate.ddot)[self.order]

    def __len__(self) -> int:
        return len(self.index)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        symbols = np.empty(self.index.size, dtype=object)
        symbols[:] = [self.symbol(int(flat)) for flat in self.index.ravel()]
        return symbols.reshape(self.index.shape)

    def _key(self) -> tuple:
        return (self.name, self.base, self.order, self.index.shape, self.index.tobytes())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Array) and self._key() == other._key()

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        dots = ("", ".dot", ".ddot")[self.order]
        if self.index.size == np.prod(self.base) and self.shape == self.base:
            return f"{self.name}{dots}"
        return f"{self.name}[…]{dots} of shape {self.shape}"


# An array of more coordinates fills the memory before anything is asked about it.
_MOST = 10**7


@overload
def coordinates(names: str, *, shape: None = None) -> Coordinate: ...
@overload
def coordinates(names: str, *, shape: int | tuple[int, ...]) -> Array: ...
@spelled
def coordinates(names: str, *, shape: int | tuple[int, ...] | None = None) -> Any:
    """Declare generalized coordinates.

    Parameters
    ----------
    names : str
        Names separated by spaces or commas. One name gives one symbol, several a tuple.
    shape : int or tuple of int, optional
        Make one array of coordinates of this shape instead; see `each`.

    Returns
    -------
    Coordinate, tuple of Coordinate, or Array
        In a system they stand in the order of this call, those of several calls by name. A name
        that comes before that of its predecessor, as theta behind x, carries its place: to SymPy
        it is another symbol than theta declared alone. Systems and results know both by name.

    Examples
    --------
    >>> x, theta = st.coordinates("x theta")
    >>> theta.dot
    theta.dot
    >>> r = st.coordinates("r", shape=(1000, 2))
    >>> r[3, 0], r[1:].shape
    (r[3,0], (999, 2))
    """
    symbols = declared(names, Coordinate)
    if shape is None:
        return declared_together(symbols) if isinstance(symbols, tuple) else symbols
    if isinstance(symbols, tuple):
        raise StatementError(
            "an array of coordinates has one name.",
            f"Found {len(symbols)} names: {names!r}.",
            "Declare each array in a call of its own.",
        )
    shape = tuple(np.atleast_1d(np.asarray(shape, dtype=object)).tolist())
    whole = all(type(n) is int or isinstance(n, np.integer) for n in shape)
    if not shape or not whole or min(shape) < 1:
        raise StatementError(
            f"the shape of '{names}' is empty.",
            f"Found {shape}, expected positive whole numbers.",
            "Give the number of rows first, as in shape=(1000, 2).",
        )
    if prod(shape) > _MOST:
        raise StatementError(
            f"'{names}' has more coordinates than are taken.",
            f"Found {' × '.join(map(str, shape))[:60]}, expected at most {_MOST} together.",
            "State less at once.",
        )
    return Array(symbols.name, shape, np.arange(int(np.prod(shape))).reshape(shape), 0)
