"""What if a parameter moves: branches of equilibria followed by pseudo-arclength."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
from scipy.linalg import svd

from stationary.errors import StatementError, did_you_mean, say
from stationary.model.layout import name_of
from stationary.model.system import System
from stationary.result.diagram import Branch, Diagram, Special
from stationary.result.equilibrium import Equilibrium
from stationary.result.status import Status
from stationary.solve.progress import Progress
from stationary.solve.saddle import tangent_basis
from stationary.solve.search import Search, search_of
from stationary.solve.statics import statics

# The first step, the longest and the shortest, as fractions of the span.
_FIRST, _LONGEST, _SHORTEST = 1e-3, 2e-2, 1e-9

# Newton's steps inside a corrector, and the count that leaves the step as it is.
_MOST_CORRECTIONS, _GOOD_CORRECTIONS = 8, 3

# Bounds on the work: points on a branch, branches, seconds.
_MOST_POINTS, _MOST_BRANCHES = 5000, 24


def continuation(
    system: System,
    *,
    parameter: Any,
    span: tuple[float, float],
    start: Equilibrium | Mapping[Any, Any] | None = None,
    params: Mapping[Any, float] | None = None,
    inputs: Mapping[Any, Any] | None = None,
    points: int = _MOST_POINTS,
    seconds: float = 600.0,
) -> Diagram:
    """Follow equilibria as a parameter moves, through folds and onto side branches.

    Solves g(q) = Aᵀλ, R(q) = 0 along the arclength of the curve (q, λ, parameter). Folds, branch
    points and Hopf points are located, and branches that cross are followed as well.

    Parameters
    ----------
    system : System
    parameter : Parameter or str
    span : pair of float
        The interval of the parameter.
    start : Equilibrium or dict, optional
        Where the first branch starts; a dict is a guess, solved at its own value of the parameter
        or at the beginning of the span.
    params : dict, optional
        Values of the other parameters, and of this one at the start.
    inputs : dict, optional
        Values of inputs.
    points : int
        Most points on one branch.
    seconds : float
        Most time for all.

    Returns
    -------
    Diagram

    References
    ----------
    H. B. Keller, Numerical solution of bifurcation and nonlinear eigenvalue problems (1977).

    Examples
    --------
    >>> theta, P = st.coordinates("theta"), st.parameters(P=0.1)
    >>> column = st.System(potential=theta**2 / 2 + P * st.cos(theta))
    >>> diagram = st.continuation(column, parameter=P, span=(0, 2))
    >>> [point.kind for point in diagram.special], round(diagram.special[0].parameter, 10)
    (['pitchfork'], 1.0)
    """
    name = _parameter_name(system, parameter)
    low, high = _span(span)
    first = _first(system, name, (low, high), start, params, inputs)
    path = _Path(system, name, (low, high), first, inputs, points, time.monotonic() + seconds)
    return path.diagram()


def _parameter_name(system: System, parameter: Any) -> str:
    name, known = name_of(parameter), [p.name for p in system.parameters]
    if name not in known:
        raise StatementError(
            say(
                f"'{name}' is not a parameter of this system.",
                f"Parameters: {', '.join(known) or 'none'}.{did_you_mean(name, known)}",
                "Name one that occurs in the statement.",
            )
        )
    return name


def _span(span: Any) -> tuple[float, float]:
    try:
        low, high = sorted(float(x) for x in span)
    except (TypeError, ValueError):
        low = high = np.nan
    if not low < high or not np.isfinite(high - low):
        raise StatementError(
            say(
                "span is not an interval of the parameter.",
                f"Found {span!r}.",
                "Give two different numbers, as in span=(0, 10).",
            )
        )
    return low, high


def _first(system, name, span, start, params, inputs) -> Equilibrium:
    """Return the equilibrium at which the first branch starts."""
    values = {name_of(k): v for k, v in (params or {}).items()}
    if isinstance(start, Equilibrium):
        place = [p.name for p in system.parameters].index(name)
        known = dict(zip((p.name for p in system.parameters), start.params.tolist()))
        values = known | values
        at = values.get(name, float(start.params[place]))
        guess: Mapping[Any, Any] = start.as_start()
    else:
        default = next(p.default for p in system.parameters if p.name == name)
        at = values.get(name, span[0] if default is None else default)
        guess = start or {}
    if not span[0] <= at <= span[1]:
        raise StatementError(
            say(
                f"span does not contain the start: '{name}' is {at:g} there.",
                f"Found span=({span[0]:g}, {span[1]:g}).",
                f"Widen the span, or start at another value with params={{'{name}': …}}.",
            )
        )
    values[name] = at
    return statics(system, start=guess, params=values, inputs=inputs, kind="any")


@dataclass
class _Path:
    """The curve F(z) = 0 over z = (q, λ, μ), where μ is the parameter."""

    system: System
    name: str
    span: tuple[float, float]
    first: Equilibrium
    inputs: Any
    most_points: int
    deadline: float
    branches: list[Branch] = field(default_factory=list)
    special: list[Special] = field(default_factory=list)

    @cached_property
    def search(self) -> Search:
        values = {p.name: v for p, v in zip(self.system.parameters, self.first.params.tolist())}
        return search_of(self.system, values, self.inputs, self.first.t, "any")

    @cached_property
    def place(self) -> int:
        return [p.name for p in self.system.parameters].index(self.name)

    @property
    def n(self) -> int:
        return self.system.size

    @cached_property
    def active(self) -> np.ndarray:
        return np.arange(self.search.balance.rows)

    # -- the equations along the curve ------------------------------------------------------------

    @cached_property
    def _functions(self) -> ca.Function:
        """F and its Jacobian over (q, λ, μ); exact derivatives."""
        balance, m = self.search.balance, len(self.active)
        kind: Any = ca.SX if balance.graph.scalar else ca.MX
        z = kind.sym("z", self.n + m + 1)
        u = kind.sym("u", len(self.system.inputs))
        q, lam, mu = z[: self.n], z[self.n : self.n + m], z[-1]
        p = kind(ca.DM(self.first.params))
        p[self.place] = mu
        g, *_ = balance.forces(self.first.t, q, u, p)
        c, A = balance.limits(self.first.t, q, u, p)
        rows = self.active.tolist()
        pull = ca.mtimes(A[rows, :].T, lam) if rows else 0
        F = ca.vertcat(g - pull, *([c[rows]] if rows else []))
        return ca.Function("path", [z, u], [F, ca.jacobian(F, z)])

    def values(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return F and ∂F/∂z."""
        F, J = self._functions(z, self.search.inputs(z[: self.n]))
        return np.asarray(F).ravel(), np.asarray(J)

    def correct(self, z: np.ndarray, tangent: np.ndarray) -> tuple[np.ndarray, int] | None:
        """Newton's method onto the curve, in the plane across the tangent."""
        anchor = z.copy()
        for count in range(_MOST_CORRECTIONS):
            F, J = self.values(z)
            if not np.all(np.isfinite(F)):
                return None
            # Border with the tangent: at a fold ∂F/∂(q, λ) is singular, the bordered matrix is not.
            K = np.vstack([J, tangent])
            known = np.append(F, tangent @ (z - anchor))
            try:
                move = np.linalg.solve(K, -known)
            except np.linalg.LinAlgError:
                return None
            z = z + move
            if np.abs(move).max() <= 1e-13 * max(1.0, np.abs(z).max()):
                return z, count + 1
        F, _ = self.values(z)
        good = np.abs(F).max() <= 1e-10 * max(1.0, np.abs(z).max())
        return (z, _MOST_CORRECTIONS) if good else None

    def tangent(self, z: np.ndarray, before: np.ndarray | None) -> np.ndarray:
        """Return the unit tangent of the curve, in the direction of the one before."""
        _, J = self.values(z)
        if before is None:
            made = svd(J)[2][-1]
            return made if made[-1] >= 0 else -made
        K = np.vstack([J, before])
        try:
            made = np.linalg.solve(K, np.append(np.zeros(len(J)), 1.0))
        except np.linalg.LinAlgError:
            made = svd(J)[2][-1]
        made = made / np.linalg.norm(made)
        return made if made @ before >= 0 else -made

    # -- what the points tell ---------------------------------------------------------------------

    def growing(self, z: np.ndarray) -> tuple[int, float, float]:
        """Return the number of growing modes, and rate and frequency of the fastest that swings."""
        rates = self._rates(z)
        scale = max(np.abs(rates).max(initial=0.0), 1e-300)
        unstable = int(np.sum(np.real(rates) > 1e-7 * scale))
        swinging = rates[np.abs(np.imag(rates)) > 1e-7 * scale]
        if not len(swinging):
            return unstable, -np.inf, 0.0
        top = swinging[np.argmax(np.real(swinging))]
        return unstable, float(top.real), float(abs(top.imag))

    def _rates(self, z: np.ndarray) -> np.ndarray:
        """Return growth rates: of the motion if inertia is stated, else of overdamped motion."""
        q, lam = z[: self.n], z[self.n : -1]
        search = self._at(z[-1])
        rows = search.limits(q)[1][self.active].toarray()
        H = (search.tangent(q) - search.curvature(q, search.full(lam, self.active))).toarray()
        Z = tangent_basis(rows)
        K = Z.T @ H @ Z
        if not len(K):
            return np.zeros(0)
        M, D = self._inertia(q, search)
        M, D = Z.T @ M @ Z, Z.T @ D @ Z
        if np.linalg.matrix_rank(M, tol=1e-12 * max(1.0, np.abs(M).max())) < len(M):
            return np.linalg.eigvals(-K).astype(complex)
        k = len(K)
        first = np.hstack([np.zeros((k, k)), np.eye(k)])
        second = np.linalg.solve(M, np.hstack([-K, -D]))
        return np.linalg.eigvals(np.vstack([first, second]))

    @cached_property
    def _inertias(self) -> ca.Function:
        graph = self.search.balance.graph
        kind: Any = ca.SX if graph.scalar else ca.MX
        sizes = [f.numel() for f in graph.whole.arguments]
        t, q, v, u, p = (kind.sym(name, size) for name, size in zip("tqvup", sizes))
        M, force = graph.dynamics(t, q, v, u, p)
        return ca.Function("inertias", [t, q, v, u, p], [M, -ca.jacobian(force, v)])

    def _inertia(self, q: np.ndarray, search: Search) -> tuple[np.ndarray, np.ndarray]:
        zero = np.zeros(self.n)
        M, D = self._inertias(search.t, q, zero, search.inputs(q), search.params)
        return np.asarray(M), np.asarray(D)

    def _at(self, mu: float) -> Search:
        values = self.first.params.copy()
        values[self.place] = mu
        made = Search(self.system, values, self.search.signature, self.search.slots, self.first.t)
        made.kind = "any"
        return made

    def crossing(self, z: np.ndarray, tangent: np.ndarray) -> float:
        """Return a number that changes sign where another branch crosses: det of the border."""
        _, J = self.values(z)
        sign, size = np.linalg.slogdet(np.vstack([J, tangent]))
        # The root keeps the zero and the sign, and tames the size.
        return float(sign * np.exp(np.clip(size / len(tangent), -200, 200)))

    # -- following --------------------------------------------------------------------------------

    def diagram(self) -> Diagram:
        """Follow all branches that can be reached."""
        z = np.concatenate(
            [self.first.q, self.first.lam[self.active], [self.first.params[self.place]]]
        )
        tangent = self.tangent(z, None)
        progress = Progress(f"continuation over {self.name}")
        waiting = [(z, tangent), (z, -tangent)]
        halves: list[Branch] = []
        try:
            while waiting and len(self.branches) < _MOST_BRANCHES:
                point, direction = waiting.pop(0)
                if len(halves) >= 2 and self._known(point, direction):
                    continue
                branch, found = self.follow(point, direction, progress)
                halves.append(branch)
                waiting += found
                if len(halves) == 2:
                    self.branches[:] = [_joined(halves[0], halves[1])]
                elif len(halves) > 2 and len(branch) > 1:
                    self.branches.append(branch)
        except KeyboardInterrupt:
            pass
        finally:
            progress.close()
        if not self.branches:
            self.branches = halves
        special = sorted(self.special, key=lambda s: (s.parameter, tuple(s.q)))
        return Diagram(self.system, self.name, self.branches, special)

    def follow(self, z: np.ndarray, tangent: np.ndarray, progress: Progress):
        """Follow one branch in one direction; return it and the branches that start from it."""
        width = self.span[1] - self.span[0]
        step = _FIRST * width
        trail, counts, found = [z], [self.growing(z)], []
        tangents = [tangent]
        status = Status("points", "reached the bound on points")
        home, away = z.copy(), False
        while len(trail) < self.most_points:
            if time.monotonic() > self.deadline:
                status = Status("time", "reached the bound on time")
                break
            made = self.correct(z + step * tangent, tangent)
            if made is None or not self._smooth(z, made[0], tangent, step):
                step /= 2
                if step < _SHORTEST * width:
                    status = Status("stalled", "the curve could not be followed any further")
                    break
                continue
            new, corrections = made
            ahead = self.tangent(new, tangent)
            edge = self._beyond(new)
            if edge is not None:
                last = self._onto(z, new, edge)
                if last is not None:
                    self._between(trail[-1], last, tangents[-1], counts[-1], found)
                    trail.append(last)
                    counts.append(self.growing(last))
                    tangents.append(self.tangent(last, tangent))
                status = Status("span", "reached a limit of the span")
                break
            self._between(z, new, tangent, counts[-1], found)
            z, tangent = new, ahead
            trail.append(z)
            tangents.append(tangent)
            counts.append(self.growing(z))
            progress.show((np.clip(z[-1], *self.span) - self.span[0]) / width)
            away = away or np.linalg.norm(z - home) > 5 * _LONGEST * width
            if away and np.linalg.norm(z - home) < 1.5 * step:
                status = Status("closed", "came back to where it started")
                trail.append(home)
                counts.append(counts[0])
                break
            if corrections <= _GOOD_CORRECTIONS:
                step = min(1.5 * step, _LONGEST * width)
            elif corrections > 5:
                step /= 1.5
        points = np.array(trail)
        branch = Branch(
            layout=self.search.layout,
            parameter=points[:, -1],
            q=points[:, : self.n],
            lam=points[:, self.n : -1],
            unstable=np.array([c[0] for c in counts]),
            status=status,
        )
        return branch, found

    def _smooth(self, old: np.ndarray, new: np.ndarray, tangent: np.ndarray, step: float) -> bool:
        """Tell whether a step stayed on its curve: it moved as far as it should, and forward."""
        move = new - old
        length = np.linalg.norm(move)
        return bool(0.5 * step < length < 2 * step and move @ tangent > 0.9 * length)

    def _beyond(self, z: np.ndarray) -> float | None:
        low, high = self.span
        return low if z[-1] < low else high if z[-1] > high else None

    def _onto(self, old: np.ndarray, new: np.ndarray, edge: float) -> np.ndarray | None:
        """Return the point of the curve at a limit of the span."""
        share = (edge - old[-1]) / (new[-1] - old[-1])
        guess = old + share * (new - old)
        guess[-1] = edge
        straight = np.zeros(len(guess))
        straight[-1] = 1.0
        made = self.correct(guess, straight)
        return None if made is None else made[0]

    # -- special points ---------------------------------------------------------------------------

    def _between(self, old, new, tangent, before, found: list) -> None:
        """Locate folds, branch points and Hopf points between two points of a branch."""
        length = float(tangent @ (new - old))
        if length <= 0:
            return

        def at(s: float) -> np.ndarray:
            share = s / length
            made = self.correct(old + share * (new - old), tangent)
            return old + share * (new - old) if made is None else made[0]

        ahead = self.tangent(new, tangent)
        crossed = self.crossing(old, tangent) * self.crossing(new, tangent) < 0
        if crossed:
            root = _root(lambda s: self.crossing(at(s), tangent), length)
            if root is not None:
                self._branch_point(at(root), tangent, found)
        elif tangent[-1] * ahead[-1] < 0:
            root = _root(lambda s: self.tangent(at(s), tangent)[-1], length)
            if root is not None:
                self._note("fold", at(root))
        after = self.growing(new)
        swinging = min(before[2], after[2]) > 1e-3 * max(before[2], after[2], 1e-300)
        if abs(after[0] - before[0]) == 2 and swinging and not crossed:
            if min(abs(before[1]), abs(after[1])) > 1e-9 * max(before[2], after[2]):
                root = _root(lambda s: self.growing(at(s))[1], length)
            else:
                # Without damping two frequencies meet before they leave the axis.
                count = before[0]
                root = _root(lambda s: 1.0 if self.growing(at(s))[0] == count else -1.0, length)
            if root is not None:
                point = at(root)
                self._note("hopf", point, self.growing(point)[2])

    def _branch_point(self, z: np.ndarray, tangent: np.ndarray, found: list) -> None:
        """Note a crossing, and put the branches that leave it on the list."""
        _, J = self.values(z)
        _, sizes, rows = svd(J)
        plane = rows[len(sizes) - 1 :]
        along = plane.T @ (plane @ tangent)
        along /= np.linalg.norm(along)
        across = [row - (row @ along) * along for row in plane]
        across = max(across, key=np.linalg.norm)
        across /= np.linalg.norm(across)
        kind = "pitchfork" if abs(across[-1]) < 1e-4 or abs(along[-1]) < 1e-4 else "branch"
        if not self._note(kind, z):
            return
        found += [(z, across), (z, -across)]

    def _note(self, kind: str, z: np.ndarray, frequency: float | None = None) -> bool:
        width = self.span[1] - self.span[0]
        for known in self.special:
            near = abs(known.parameter - z[-1]) < 1e-6 * width
            if near and np.abs(known.q - z[: self.n]).max(initial=0.0) < 1e-4:
                return False
        layout = self.search.layout
        self.special.append(Special(kind, float(z[-1]), z[: self.n].copy(), layout, frequency))
        return True

    def _known(self, z: np.ndarray, direction: np.ndarray) -> bool:
        """Tell whether the branch that starts here has been followed already."""
        width = self.span[1] - self.span[0]
        probe = self.correct(z + 5 * _FIRST * width * direction, direction)
        if probe is None:
            return True
        for branch in self.branches:
            points = np.column_stack([branch.q, branch.parameter])
            target = np.append(probe[0][: self.n], probe[0][-1])
            if _distance(points, target) < 0.5 * _FIRST * width:
                return True
        return False


def _distance(points: np.ndarray, target: np.ndarray) -> float:
    """Return the distance of a point from a polygon."""
    if len(points) < 2:
        return float(np.linalg.norm(points - target, axis=1).min(initial=np.inf))
    start, leg = points[:-1], np.diff(points, axis=0)
    length = np.maximum((leg**2).sum(axis=1), 1e-300)
    share = np.clip(((target - start) * leg).sum(axis=1) / length, 0, 1)
    return float(np.linalg.norm(start + share[:, None] * leg - target, axis=1).min())


def _root(f: Callable[[float], float], length: float) -> float | None:
    """Return where a test function passes through zero along a step."""
    low, high = f(0.0), f(length)
    if low == 0.0:
        return 0.0
    if not low * high < 0:
        return None
    # Imported where it is used: SciPy's optimizers take longer to load than this package.
    from scipy.optimize import brentq

    return float(brentq(f, 0.0, length, xtol=1e-14 * max(1.0, length), rtol=8.9e-16))


def _joined(one: Branch, other: Branch) -> Branch:
    """Join the two halves of the branch on which the start lies."""
    if other.status == "closed" or len(other) < 2:
        return one
    if one.status == "closed":
        return one

    def both(name):
        return np.concatenate([getattr(other, name)[::-1], getattr(one, name)[1:]])

    message = f"{other.status.message}; {one.status.message}"
    return Branch(
        layout=one.layout, parameter=both("parameter"), q=both("q"), lam=both("lam"),
        unstable=both("unstable"), status=Status(str(one.status), message),
    )  # fmt: skip
