"""What if a parameter moves: branches of equilibria followed by pseudo-arclength."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import svd

from stationary.errors import StatementError, did_you_mean, say
from stationary.lower.kernel import graph_of
from stationary.model.layout import name_of
from stationary.model.system import System
from stationary.result.diagram import Branch, Diagram, Special
from stationary.result.equilibrium import Equilibrium
from stationary.result.status import Status
from stationary.solve.curve import FIRST, AbstractCurve, turned, without
from stationary.solve.gate import passed
from stationary.solve.growth import frozen_at
from stationary.solve.inertia import require_system
from stationary.solve.linear import tangent_basis
from stationary.solve.progress import Progress
from stationary.solve.statics import refuse_contacts, statics

# The longest and the shortest step, in the scaled variables.
_LONGEST, _SHORTEST = 4e-2, 1e-9

# A step may turn the tangent by at most this (cosine): more, and it may have left its branch.
_TURN = 0.94

# Beyond this distance from the start steps grow with it, and there a branch has left for infinity.
_WIDE, _AWAY = 4.0, 1e3

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
        Values of inputs; those of the equilibrium, if the start is one.
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
    require_system(system)
    # Of equal statements one holds the order of parameters in p.
    system = graph_of(system).layout.system
    name = _parameter_name(system, parameter)
    refuse_contacts(system, "continuation")
    low, high = _span(span)
    if isinstance(start, Equilibrium):
        inputs = start.inputs | {name_of(key): value for key, value in (inputs or {}).items()}
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
    t = start.t if isinstance(start, Equilibrium) else 0.0
    return statics(system, start=guess, params=values, inputs=inputs, kind="any", t=t)


@dataclass
class _Path(AbstractCurve):
    """The curve, followed from point to point, with what happens on the way."""

    # -- following --------------------------------------------------------------------------------

    def diagram(self) -> Diagram:
        """Follow all branches that can be reached."""
        z = self.start / self.scale
        self.free = np.empty((0, len(z)))
        tangent = self.tangent(z, None)
        progress = Progress(f"continuation over {self.name}")
        waiting = [(z, tangent), (z, -tangent)]
        halves: list[Branch] = []
        self.free = self._families(z, tangent)
        if self._singular(z, tangent):
            self._branch_point(z, tangent, waiting)
        elif abs(tangent[-1]) < 1e-9:
            self._note("fold", z)
        try:
            while waiting and len(self.branches) < _MOST_BRANCHES:
                point, direction = waiting.pop(0)
                if len(halves) >= 2 and self._known(point, direction):
                    continue
                branch, found = self.follow(point, direction, progress)
                halves.append(branch)
                waiting += found
                if len(halves) == 1 and branch.status == "closed":
                    # The other way round is the same branch again.
                    waiting.pop(0)
                    halves.append(branch)
                if len(halves) == 2:
                    self.branches[:] = [self._told(_joined(halves[0], halves[1]))]
                elif len(halves) > 2 and len(branch) > 1:
                    self.branches.append(self._told(branch, begins=True))
        except KeyboardInterrupt:
            pass
        finally:
            progress.close()
        if not self.branches:
            self.branches = [self._told(half) for half in halves]
        special = sorted(self.special, key=lambda s: (s.parameter, tuple(s.q)))
        frozen = self.first.frozen and frozen_at(self.first.t, self.first.frozen, None)
        return Diagram(self.system, self.name, self.branches, special, self.params, frozen)

    def follow(self, z: np.ndarray, tangent: np.ndarray, progress: Progress):
        """Follow one branch in one direction; return it and the branches that start from it."""
        low, high = (edge / self.scale[-1] for edge in self.span)
        self.free = np.empty((0, len(z)))
        self.free = self._families(z, tangent)
        step = FIRST
        trail, counts, found = [z], [self.growing(z)], []
        tangents = [tangent]
        status = Status("points", "reached the bound on points")
        home = z.copy()
        while len(trail) < self.most_points:
            if (far := self._far(z)) is not None:
                status = far
                break
            if time.monotonic() > self.deadline:
                status = Status("time", "reached the bound on time")
                break
            made = self.correct(z + step * tangent, tangent)
            if made is None or not self._smooth(z, made[0], tangent, step):
                step /= 2
                if step < _SHORTEST:
                    status = Status("stalled", "the curve could not be followed any further")
                    break
                continue
            new, corrections = made
            ahead = self.tangent(new, tangent)
            if ahead @ tangent < _TURN and step > 1e-6:
                step /= 2
                continue
            edge = self._beyond(new)
            if edge is not None:
                last = self._onto(z, new, edge)
                if last is not None:
                    self._between(trail[-1], last, tangents[-1], counts[-1], found)
                    trail.append(last)
                    counts.append(self.growing(last))
                    tangents.append(self.tangent(last, tangent))
                which = "lower" if edge == low else "upper"
                at = self.span[which == "upper"]
                status = Status(
                    "span", f"reached {self.name} = {at:.6g}, the {which} limit of the span"
                )
                break
            self._between(z, new, tangent, counts[-1], found)
            z, tangent = new, ahead
            trail.append(z)
            tangents.append(tangent)
            counts.append(self.growing(z))
            progress.show(float(np.clip(z[-1], low, high) - low))
            begin = turned(home, z, self.periods)
            near = _distance(np.array(trail[-2:]), begin) < 0.3 * step
            if len(trail) > 12 and near and tangent @ tangents[0] > 0.7:
                further = np.abs(begin - home).max() > 0
                more = ", whole turns further" if further else ""
                status = Status("closed", "came back to where it started" + more)
                trail[-1], counts[-1] = begin, counts[0]
                break
            if corrections <= _GOOD_CORRECTIONS:
                # Far out a branch is as smooth as it is far.
                reach = float(np.abs(z - home)[:-1].max(initial=0.0))
                step = min(1.5 * step, _LONGEST * max(1.0, reach / _WIDE))
            elif corrections > 5:
                step /= 1.5
        points = np.array(trail) * self.scale
        # Exactly, where a limit of the span or the start of the branch is meant.
        for edge in self.span:
            points[np.abs(points[:, -1] - edge) <= 4e-16 * max(abs(edge), self.scale[-1]), -1] = (
                edge
            )
        branch = Branch(
            layout=self.search.layout,
            name=self.name,
            params=self.params,
            parameter=points[:, -1],
            q=points[:, : self.n],
            lam=points[:, self.n : -1],
            unstable=np.array([c[0] if self.first.stable is not None else -1 for c in counts]),
            status=status,
        )
        known = {"t": self.search.t, "u": self.search.inputs}
        return passed(branch, "continuation", throw=False, **known), found

    def _told(self, branch: Branch, begins: bool = False) -> Branch:
        """Say of a branch where it begins, and which part of the span it does not reach."""
        word, words = str(branch.status), [branch.status.message]
        if begins:
            start = next((s for s in self.special if s.parameter == branch.parameter[0]), None)
            kind = f"the {start.kind} at " if start else ""
            words.insert(0, f"began at {kind}{self.name} = {branch.parameter[0]:.6g}")
        folds = [s.parameter for s in self.special if s.kind == "fold"]
        slack = 1e-3 * self.scale[-1]
        lowest, highest = float(branch.parameter.min()), float(branch.parameter.max())
        # A fold lies a little beyond the points on both sides of it.
        lowest = min([x for x in folds if lowest - slack < x <= lowest], default=lowest)
        highest = max([x for x in folds if highest <= x < highest + slack], default=highest)
        low, high = self.span
        if lowest > low:
            words.append(f"no point of it has {self.name} below {lowest:.6g}")
        if highest < high:
            words.append(f"no point of it has {self.name} above {highest:.6g}")
        return replace(branch, status=Status(word, "; ".join(words)))

    def _smooth(self, old: np.ndarray, new: np.ndarray, tangent: np.ndarray, step: float) -> bool:
        """Tell whether a step stayed on its curve: it moved as far as it should, and forward."""
        move = new - old
        length = np.linalg.norm(move)
        return bool(0.5 * step < length < 2 * step and move @ tangent > 0.9 * length)

    def _far(self, z: np.ndarray) -> Status | None:
        """Tell whether a branch has left for infinity, inside the span."""
        away = np.abs(z - self.start / self.scale)[: self.n] * (self.periods[: self.n] == 0)
        if not len(away) or away.max() < _AWAY:
            return None
        worst = int(np.argmax(away))
        name, value = self.search.layout.name(worst), z[worst] * self.scale[worst]
        return Status("away", f"'{name}' went far away, to {value:.3g}")

    def _beyond(self, z: np.ndarray) -> float | None:
        low, high = (edge / self.scale[-1] for edge in self.span)
        return low if z[-1] < low - 1e-15 else high if z[-1] > high + 1e-15 else None

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
        after = self.growing(new)
        crossed = self.crossing(old, tangent) * self.crossing(new, tangent) < 0
        if crossed:
            root = _root(lambda s: self.crossing(at(s), tangent), length)
            if root is not None:
                self._branch_point(at(root), tangent, found)
        elif tangent[-1] * ahead[-1] < 0:
            root = _root(lambda s: self.tangent(at(s), tangent)[-1], length)
            if root is not None:
                self._note("fold", at(root))
        elif abs(after[0] - before[0]) > 1 and (index := self._passed(old, new)) is not None:
            # Two modes at once: the determinant touches zero and does not change its sign.
            root = _root(lambda s: self.stiffnesses(at(s))[index], length)
            if root is not None:
                self._branch_point(at(root), tangent, found)
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

    def stiffnesses(self, w: np.ndarray) -> np.ndarray:
        """Return the eigenvalues of the stiffness on the tangent space, in ascending order."""
        _, J = self._raw(w * self.scale)
        Z = tangent_basis(J[self.n :, : self.n])
        K = Z.T @ J[: self.n, : self.n] @ Z
        return np.linalg.eigvalsh((K + K.T) / 2)

    def _passed(self, old: np.ndarray, new: np.ndarray) -> int | None:
        """Return which stiffness goes through zero, if an even number of them does."""
        before, after = self.stiffnesses(old), self.stiffnesses(new)
        size = max(np.abs(before).max(initial=0.0), 1e-300)
        changed = np.flatnonzero((before * after < 0) & (np.abs(before) > 1e-9 * size))
        return int(changed[0]) if len(changed) >= 2 and len(changed) % 2 == 0 else None

    def _singular(self, z: np.ndarray, tangent: np.ndarray) -> bool:
        """Tell whether branches cross here."""
        _, J = self.values(z)
        sizes = np.linalg.svd(self.bordered(J, tangent), compute_uv=False)
        return bool(sizes[-1] < 1e-9 * sizes[0])

    def _branch_point(self, z: np.ndarray, tangent: np.ndarray, found: list) -> None:
        """Note a crossing, and put the branches that leave it on the list."""
        z = self._polished(z)
        _, J = self.values(z)
        left, sizes, rows = svd(np.vstack([J, self.free]))
        # The null space of J: one direction is the branch itself, the others leave it.
        small = np.append(sizes, np.zeros(len(rows) - len(sizes))) < 1e-6 * sizes[0]
        small[-2:] = True
        plane = rows[small]
        crossing = self._crossing(z, J, plane, tangent) if len(plane) == 2 else None
        if crossing is not None:
            along, ways = crossing[0], [crossing[1]]
        else:
            along = plane.T @ (plane @ tangent)
            along /= np.linalg.norm(along)
            ways = without(plane, along)
        kinds = [abs(way[-1]) < 1e-4 or abs(along[-1]) < 1e-4 for way in ways]
        if not self._note("pitchfork" if all(kinds) else "branch", z):
            return
        for way in ways:
            found += [(z, way), (z, -way)]

    def _polished(self, z: np.ndarray) -> np.ndarray:
        """Gauss–Newton on F = 0, Jᵀψ = 0, ψ·ψ = 1: at a crossing J has lost a rank."""
        best = z
        _, J = self.values(z)
        psi = svd(J.T)[2][-1]
        for _ in range(8):
            F, J = self.values(z)
            bend = np.empty((len(z), len(z)))
            for j in range(len(z)):
                e = np.zeros(len(z))
                e[j] = 1e-5
                bend[:, j] = (self.values(z + e)[1] - self.values(z - e)[1]).T @ psi / 2e-5
            top = np.hstack([J, np.zeros((len(J), len(J)))])
            K = np.vstack([top, np.hstack([bend, J.T]), np.append(np.zeros(len(z)), 2 * psi)])
            known = np.concatenate([F, J.T @ psi, [psi @ psi - 1]])
            move = -np.linalg.lstsq(K, known, rcond=1e-10)[0]
            z, psi = z + move[: len(z)], psi + move[len(z) :]
            if np.abs(move).max() <= 1e-13 * max(1.0, np.abs(z).max()):
                break
        near = np.abs(z - best).max() < _LONGEST and np.abs(self.values(z)[0]).max() < 1e-9
        return z if near else best

    def _crossing(self, z, J, plane: np.ndarray, tangent: np.ndarray):
        """Return the tangents of the two branches that cross, that of this one first.

        They are the roots of ψ·F″[t, t] = 0 in the plane of null directions.
        """
        free = len(self.free)
        psi = svd(J.T)[2][len(J) - 1 - free]
        step = 1e-4
        bends = []
        for way in plane:
            (_, up), (_, down) = self.values(z + step * way), self.values(z - step * way)
            bends.append(plane @ ((up - down).T @ psi) / (2 * step))
        (low, high), axes = np.linalg.eigh((np.array(bends) + np.array(bends).T) / 2)
        if not low < -1e-7 * abs(high) or not high > 1e-7 * abs(low):
            return None
        first, second = (
            plane.T @ (np.sqrt(high) * axes[:, 0] + sign * np.sqrt(-low) * axes[:, 1])
            for sign in (1, -1)
        )
        ways = [way / np.linalg.norm(way) for way in (first, second)]
        ways.sort(key=lambda way: -abs(way @ tangent))
        return ways

    def _note(self, kind: str, z: np.ndarray, frequency: float | None = None) -> bool:
        for known in self.special:
            near = abs(known.parameter / self.scale[-1] - z[-1]) < 1e-6
            apart = np.abs(known.q / self.scale[: self.n] - z[: self.n]).max(initial=0.0)
            if near and apart < 1e-4:
                return False
        z = z * self.scale
        layout = self.search.layout
        self.special.append(Special(kind, float(z[-1]), z[: self.n].copy(), layout, frequency))
        return True

    def _known(self, z: np.ndarray, direction: np.ndarray) -> bool:
        """Tell whether the branch that starts here has been followed already."""
        probe = self.correct(z + 5 * FIRST * direction, direction)
        if probe is None:
            return True
        # Coordinates and the parameter; multipliers follow from them.
        some = np.append(np.arange(self.n), len(z) - 1)
        for branch in self.branches:
            points = np.column_stack([branch.q, branch.parameter]) / self.scale[some]
            target = turned(probe[0][some], points, self.periods[some])
            if _distance(points, target) < 0.5 * FIRST:
                return True
        return False


def _distance(points: np.ndarray, target: np.ndarray) -> float:
    """Return the distance of a point from a polygon; it may be given anew for every corner."""
    if len(points) < 2:
        return float(np.linalg.norm(points - target, axis=1).min(initial=np.inf))
    start, leg = points[:-1], np.diff(points, axis=0)
    target = np.broadcast_to(target, points.shape)[:-1]
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
    if "closed" in (one.status, other.status):
        return one if one.status == "closed" else other
    message = "; ".join(dict.fromkeys([other.status.message, one.status.message]))
    if message == one.status.message:
        message += ", both ways"
    # The end that is not at a limit of the span is the one to look at.
    status = Status(str(other.status if one.status == "span" else one.status), message)
    if len(other) < 2:
        return replace(one, status=status)

    def both(name):
        return np.concatenate([getattr(other, name)[::-1], getattr(one, name)[1:]])

    arrays = {name: both(name) for name in ("parameter", "q", "lam", "unstable")}
    return replace(one, status=status, **arrays)
