"""What varies: grids, paired lists, runs stated one by one, and samples of ranges."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from stationary.errors import StatementError, did_you_mean, spelled, unknown
from stationary.model.layout import name_of, number
from stationary.model.numbers import pair_of
from stationary.result.views import AbstractTravels

#: Kinds of designs that `samples` makes.
KINDS = ("sobol", "latin", "random", "grid", "halton")

#: What the one axis of samples and of runs stated one by one is called.
SAMPLE = "sample"


@dataclass(frozen=True, eq=False)
class Axis(AbstractTravels):
    """One direction of a design: what it is called, and the names that vary together along it."""

    name: str
    columns: tuple[tuple[str, Any], ...]

    def __len__(self) -> int:
        return len(self.columns[0][1])

    @property
    def plain(self) -> bool:
        """Whether the axis is that of one name with one number per value."""
        return len(self.columns) == 1 and _numbers(self.columns[0][1])


@spelled
@dataclass(frozen=True, eq=False, repr=False)
class Design(AbstractTravels):
    """The runs of a sweep: every combination of what stands along its axes.

    ``design["k"]`` are the values of one name along its axis.

    Attributes
    ----------
    axes : tuple of Axis
    kind : str
        "grid", "sobol", "latin", "random", "halton" or "listed".
    seed : int or None

    Examples
    --------
    >>> design = st.samples({"k": (1, 2), "F": (0, 10)}, count=4, kind="grid")
    >>> design["k"], design["F"]
    (array([1., 1., 2., 2.]), array([ 0., 10.,  0., 10.]))
    """

    axes: tuple[Axis, ...]
    kind: str = "grid"
    seed: int | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values along every axis."""
        return tuple(len(axis) for axis in self.axes)

    def __len__(self) -> int:
        return math.prod(self.shape)

    @cached_property
    def columns(self) -> dict[str, tuple[int, Any]]:
        """Every name that varies: its axis and its values along it."""
        return {
            name: (k, values) for k, axis in enumerate(self.axes) for name, values in axis.columns
        }

    @property
    def names(self) -> tuple[str, ...]:
        """The names that vary."""
        return tuple(self.columns)

    def __getitem__(self, name: Any) -> Any:
        key = name_of(name)
        if key not in self.columns:
            raise StatementError(
                f"'{key}' does not vary.",
                f"What varies: {', '.join(self.names)}.{did_you_mean(key, self.names)}",
            )
        return self.columns[key][1]

    def places(self, runs: Any) -> tuple[np.ndarray, ...]:
        """Return where runs, counted from zero, stand along every axis."""
        return tuple(np.atleast_1d(x) for x in np.unravel_index(runs, self.shape))

    def values(self, run: int) -> Iterator[tuple[str, Any]]:
        """Yield every name that varies, with its value in one run."""
        place = np.unravel_index(run, self.shape)
        for name, (k, values) in self.columns.items():
            yield name, values[int(place[k])]

    def along(self, name: str, runs: np.ndarray) -> np.ndarray:
        """Return the numbers of one name in several runs."""
        k, values = self.columns[name]
        return np.asarray(values, dtype=float)[self.places(runs)[k]]

    def __repr__(self) -> str:
        axes = " × ".join(f"{axis.name}: {len(axis)}" for axis in self.axes)
        seed = "" if self.seed is None else f", seed {self.seed}"
        return f"Design of {len(self)} runs, {self.kind} ({axes}{seed})"


def _numbers(values: Any) -> bool:
    return isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "fiu"


def _listed(name: str, values: Any) -> Any:
    """Take the values of one name: an array where they are numbers, else a list."""
    if isinstance(values, np.ma.MaskedArray) and values.dtype.kind in "biuf":
        values = np.ma.filled(values.astype(float), np.nan)
    if isinstance(values, (str, bytes, Mapping)) or not hasattr(values, "__len__"):
        values = list(values) if _iterates(values) else None
    if isinstance(values, np.ndarray) and values.ndim == 0:
        values = None
    if values is None or len(values) == 0:
        raise StatementError(
            f"the axis '{name}' has no values.",
            "Expected a list or an array with one entry per value, one or more.",
            f"Write over={{'{name}': np.linspace(0, 1, 11)}}.",
        )
    kept = values if isinstance(values, np.ndarray) else list(values)
    try:
        array = np.asarray(kept)
    except ValueError:
        return kept  # Rows of different lengths: samples of an input, say.
    # Tuples are single things: (times, values) of an input, a span.
    tuples = not isinstance(values, np.ndarray) and any(isinstance(v, tuple) for v in kept)
    if array.dtype.kind in "biuf" and not tuples:
        return array.astype(float)
    return kept


def _iterates(values: Any) -> bool:
    return (
        isinstance(values, (range, Iterator))
        or hasattr(values, "__iter__")
        and not isinstance(values, (str, bytes, Mapping))
    )


def _joint_axis(names: tuple[str, ...], values: Any) -> Axis:
    """Take as many lists as names, which vary together."""
    rows = list(values) if _iterates(values) else []
    title = ", ".join(names)
    several = [np.ndim(row) > 0 or isinstance(row, (list, tuple)) for row in rows]
    if len(rows) != len(names) and rows and all(several) and {len(r) for r in rows} == {len(names)}:
        rows = list(zip(*rows))
    if len(rows) != len(names) or not all(np.ndim(r) > 0 or isinstance(r, list) for r in rows):
        raise StatementError(
            f"the names {title} vary together and have no lists that pair.",
            f"Found {len(rows)} entries, expected {len(names)} lists, one for each name.",
            f"Write over={{({title}): (values of {names[0]}, values of {names[1]})}}.",
        )
    columns = tuple(
        (name, _listed(name, row if isinstance(row, np.ndarray) else list(row)))
        for name, row in zip(names, rows)
    )
    lengths = {name: len(column) for name, column in columns}
    if len(set(lengths.values())) > 1:
        said = ", ".join(f"{n} of {name}" for name, n in lengths.items())
        raise StatementError(
            f"the lists of {title} do not pair.",
            f"Found {said} values, expected equally many.",
            "Give lists of one length; names with keys of their own make a grid.",
        )
    return Axis(title, columns)


def as_design(over: Any) -> Design:
    """Take what varies as a user writes it."""
    if isinstance(over, Design):
        return over
    if isinstance(over, Sequence) and over and all(isinstance(run, Mapping) for run in over):
        return _one_by_one(over)
    if not isinstance(over, Mapping) or not over:
        raise StatementError(
            "over does not say what varies.",
            f"Found {type(over).__name__}: {str(over)[:60]}.",
            "Write over={name: values}, one entry for each axis of a grid; a list of dicts, "
            "one for each run; or st.samples(…).",
        )
    axes = []
    for key, values in over.items():
        if isinstance(key, tuple):
            axes.append(_joint_axis(tuple(name_of(k) for k in key), values))
        else:
            name = name_of(key)
            axes.append(Axis(name, ((name, _listed(name, values)),)))
    names = [name for axis in axes for name, _ in axis.columns]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise StatementError(
            f"'{twice[0]}' varies along two axes.",
            f"Found it among {', '.join(names)}.",
            "Leave one of them out.",
        )
    return Design(tuple(axes))


def _one_by_one(runs: Sequence[Mapping]) -> Design:
    """Take runs stated one by one; each names the same things."""
    named = [{name_of(key): value for key, value in run.items()} for run in runs]
    first = named[0]
    for i, run in enumerate(named):
        if run.keys() != first.keys():
            odd = sorted(run.keys() ^ first.keys())[0]
            raise StatementError(
                f"the runs stated one by one do not pair: '{odd}' is not in all of them.",
                f"Found {', '.join(run)} in run {i}, expected {', '.join(first)}.",
                "Give every run the same names.",
            )
    if not first:
        raise StatementError(
            "over does not say what varies.", "Found runs without names.", "Name something."
        )
    columns = tuple((name, _listed(name, [run[name] for run in named])) for name in first)
    return Design((Axis(SAMPLE, columns),), "listed")


@dataclass(frozen=True)
class Normal:
    """A range without ends: values around a mean."""

    mean: float
    deviation: float

    def ppf(self, shares: np.ndarray) -> np.ndarray:
        """Return the values below which these shares lie."""
        from scipy.special import ndtri

        return self.mean + self.deviation * ndtri(shares)


@spelled
def normal(mean: float, deviation: float) -> Normal:
    """Return a range of values around a mean, for `samples`.

    Parameters
    ----------
    mean, deviation : float
        Mean and standard deviation of a normal distribution.

    Examples
    --------
    >>> design = st.samples({"k": st.normal(5.0, 0.1)}, count=4096, seed=1)
    >>> design["k"].mean().round(3), design["k"].std().round(3)
    (np.float64(5.0), np.float64(0.1))
    """
    mean, deviation = number(mean, "the mean"), number(deviation, "the deviation")
    if deviation <= 0:
        raise StatementError(
            "the deviation is not positive.", f"Found {deviation:g}.", "Give a positive one."
        )
    return Normal(mean, deviation)


@spelled
def samples(
    ranges: Mapping[Any, Any], *, count: int, kind: str = "sobol", seed: int | None = None
) -> Design:
    """Spread runs over ranges of several names.

    Parameters
    ----------
    ranges : dict
        For every name ``(low, high)``, within which values are spread evenly, `normal`, or a
        distribution of `scipy.stats`.
    count : int
        Number of runs. A grid needs as many as there are points: 10 000 for 100 × 100.
    kind : str
        "sobol" and "halton" (points that leave no gaps, scrambled), "latin" (a Latin hypercube),
        "random" or "grid".
    seed : int, optional
        The same seed gives the same samples; left out, one is drawn and noted in ``design.seed``.

    Returns
    -------
    Design

    References
    ----------
    A. B. Owen, Scrambling Sobol' and Niederreiter–Xing points, J. Complexity 14 (1998) 466.

    Examples
    --------
    >>> design = st.samples({"k": (1, 2), "F": (0, 10)}, count=8, kind="latin", seed=1)
    >>> len(design), sorted((design["F"] // 1.25).astype(int).tolist())
    (8, [0, 1, 2, 3, 4, 5, 6, 7])
    """
    if not isinstance(ranges, Mapping) or not ranges:
        raise StatementError(
            "the samples have no ranges.",
            f"Found {type(ranges).__name__}: {str(ranges)[:60]}.",
            "Write st.samples({k: (1, 2), F: (0, 10)}, count=1000).",
        )
    if not isinstance(count, (int, np.integer)) or isinstance(count, bool) or count < 1:
        raise StatementError(
            "count is not a number of samples.",
            f"Found {count!r}, expected a whole number, 1 or more.",
            "Write count=1000.",
        )
    names = [name_of(key) for key in ranges]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise StatementError(
            f"'{twice[0]}' has two ranges.",
            f"Found it among {', '.join(names)}, by name and by symbol.",
            "Leave one of them out.",
        )
    named = {name_of(key): _range(name_of(key), r) for key, r in ranges.items()}
    seed = _seed(seed) if kind != "grid" else None
    shares = _shares(kind, int(count), len(named), seed)
    columns = tuple(
        (name, inverse(shares[:, k])) for k, (name, inverse) in enumerate(named.items())
    )
    return Design((Axis(SAMPLE, columns),), kind, seed)


def _seed(seed: Any) -> int:
    if seed is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if not isinstance(seed, (int, np.integer)) or isinstance(seed, bool) or seed < 0:
        raise StatementError(
            "seed is not a whole number.", f"Found {seed!r}.", "Write seed=1, or leave it out."
        )
    return int(seed)


def _range(name: str, given: Any) -> Any:
    """Return the function that turns shares between 0 and 1 into values of a range."""
    if hasattr(given, "ppf"):
        # The ends of a range without ends are no values.
        return lambda shares: np.asarray(given.ppf(np.clip(shares, 1e-15, 1 - 1e-15)), dtype=float)
    low, high = pair_of(given)
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise StatementError(
            f"the range of '{name}' is not one.",
            f"Found {str(given)[:60]}, expected (low, high), low before high.",
            "Give two finite numbers, st.normal(mean, deviation), or a distribution of SciPy.",
        )
    return lambda shares: low + (high - low) * shares


def _shares(kind: str, count: int, names: int, seed: int | None) -> np.ndarray:
    from scipy.stats import qmc

    if kind == "grid":
        side = round(count ** (1 / names))
        if side**names != count:
            near = [max(1, side - 1) ** names, side**names, (side + 1) ** names]
            raise StatementError(
                f"{count} samples of {names} names are no grid.",
                f"Expected the power {names} of a whole number, as {near[0]}, {near[1]} or "
                f"{near[2]}.",
                'Choose one, or kind="sobol".',
            )
        line = np.linspace(0, 1, side) if side > 1 else np.array([0.5])
        return np.stack(np.meshgrid(*[line] * names, indexing="ij"), -1).reshape(-1, names)
    random = np.random.default_rng(seed)
    if kind == "random":
        return random.random((count, names))
    makers = {"sobol": qmc.Sobol, "latin": qmc.LatinHypercube, "halton": qmc.Halton}
    if kind not in makers:
        raise StatementError(unknown("the kind of samples", kind, KINDS))
    with warnings.catch_warnings():
        # Any number of points is allowed; powers of two of them are balanced best.
        warnings.simplefilter("ignore", UserWarning)
        return makers[kind](names, rng=random).random(count)
