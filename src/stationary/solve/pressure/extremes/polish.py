"""The extreme motion itself: Newton's method on the conditions that its pressure satisfies.

The greatest a·v over all pressures is a small smooth problem once it is known which edges carry its
atoms: masses, places along edges, the motion, and one multiplier for each of total mass, centre and
balance. Those multipliers are the dual: with them

    f(x) = λ0 + λ·x + W(x)·v̂(x) ≥ 0   everywhere on the support, and zero at the atoms,

for the rigid motion W, proves that no small change of the pressure goes further.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from dataclasses import field as field_
from functools import lru_cache
from math import atan2, cos, hypot, inf, isfinite, sin

import casadi as ca
import numpy as np

from stationary.lower.engines.casadi import Numeric
from stationary.solve.pressure.duals.lowest import lowest_over
from stationary.solve.pressure.envelope import centre_of, field, lowest_on, slopes
from stationary.solve.pressure.programs.single import Answer
from stationary.solve.pressure.region import Mode
from stationary.solve.pressure.support import REACH, WEIGHT, Rest

_STEPS = 25
_CHANGES = 24
# Conditions on a pressure: total, centre and balance. No extreme has more atoms, but for one that
# comes before another leaves.
_MOST = 6
# Less than this, in weights, is no load, and in sizes of the part no distance.
_IDLE = 1e-9
# Matrices whose largest entry and that of the inverse have a product below this are far from
# singular.
_REGULAR = 1e9
# How close to an edge a rough centre of rotation may be one that wants to leave through it.
_NEXT = 0.05
_KINDS = ("fixed", "edge", "still")


@dataclass(frozen=True)
class Summit:
    """An extreme motion, the pressure that has it, and the dual that names both.

    `kind` says what the dual claims, to be certified; none does where it is empty. `named` is a
    pressure beside that of the dual, under which nothing but one motion is possible, and `own` that
    motion, which is next to this one; `count` how many were compared, and `share` by what part of a
    value another may go further.
    """

    twist: np.ndarray
    points: np.ndarray
    masses: np.ndarray
    affine: np.ndarray = field_(default_factory=lambda: np.zeros(3))
    witness: np.ndarray = field_(default_factory=lambda: np.zeros(3))
    kind: str = ""
    named: tuple[np.ndarray, np.ndarray] | None = None
    own: np.ndarray | None = None
    count: int = 0
    share: float = 0.0
    functional: np.ndarray | None = None


@dataclass(frozen=True)
class Atoms:
    """Where a pressure sits: "edge" (free along it), "fixed" (a corner, a foot) or "still"."""

    kinds: tuple[str, ...]
    edges: np.ndarray
    along: np.ndarray
    angle: np.ndarray
    masses: np.ndarray

    def sorted(self) -> Atoms:
        """Return the same in order of their kinds: fewer conditions to derive."""
        order = sorted(range(len(self.kinds)), key=lambda k: _KINDS.index(self.kinds[k]))
        if order == list(range(len(order))):
            return self
        kinds = tuple(self.kinds[k] for k in order)
        return Atoms(kinds, self.edges[order], self.along[order], self.angle[order],
                     self.masses[order])  # fmt: skip

    def loaded(self, least: float) -> Atoms:
        """Return those that bear more than a share of the weight."""
        atoms = self
        for k in reversed(range(len(self.kinds))):
            if self.masses[k] < least:
                atoms = atoms.without(k)
        return atoms

    def without(self, k: int) -> Atoms:
        """Return the others."""
        keep = np.arange(len(self.kinds)) != k
        kinds = tuple(x for i, x in enumerate(self.kinds) if i != k)
        return Atoms(kinds, self.edges[keep], self.along[keep], self.angle[keep],
                     self.masses[keep])  # fmt: skip

    def joined(self, kind: str, edge: int, along: float, angle: float) -> Atoms:
        """Return these and one more, which bears nothing yet."""
        return Atoms((*self.kinds, kind), np.append(self.edges, edge),
                     np.append(self.along, along), np.append(self.angle, angle),
                     np.append(self.masses, 0.0))  # fmt: skip


@lru_cache(maxsize=128)
def _conditions(kinds: tuple[str, ...], round_: bool, ways: int) -> Numeric:
    """Return the conditions of an extreme and their derivative, for atoms of these kinds.

    Unknown are the motion z, masses, places of what is not fixed, and the multipliers.
    """
    count = len(kinds)
    loose = [k for k, kind in enumerate(kinds) if kind != "fixed"]
    z, m, moved, y = (
        ca.SX.sym(n, k) for n, k in (("z", ways), ("m", count), ("s", len(loose)), ("y", 5))
    )
    place = {k: moved[i] for i, k in enumerate(loose)}
    base, free, force = ca.SX.sym("base", 3), ca.SX.sym("free", 3, 2), ca.SX.sym("force", 3)
    moves = ca.SX.sym("moves", 3, ways)
    aim, A, D = ca.SX.sym("aim", ways), ca.SX.sym("A", 2, count), ca.SX.sym("D", 2, count)
    grip = ca.SX.sym("grip")
    twist = base + ca.mtimes(moves, z)
    total = ca.SX.zeros(5)
    for k, kind in enumerate(kinds):
        if kind == "still":
            x = ca.vertcat(-twist[1], twist[0]) / twist[2]
            e = grip * ca.vertcat(ca.cos(place[k]), ca.sin(place[k]))
        else:
            along = place.get(k, 0)
            if round_ and kind == "edge":
                turn = 2 * ca.pi * along
                x = A[:, k] + D[0, k] * ca.vertcat(ca.cos(turn), ca.sin(turn))
            else:
                x = A[:, k] + along * D[:, k]
            v = ca.vertcat(twist[0] - twist[2] * x[1], twist[1] + twist[2] * x[0])
            e = v / ca.norm_2(v)
        column = [1, x]
        for j in range(2):
            w = free[:, j] - ca.dot(force, free[:, j]) / ca.dot(force, twist) * twist
            column.append((w[0] - w[2] * x[1]) * e[0] + (w[1] + w[2] * x[0]) * e[1])
        total += m[k] * ca.vertcat(*column)
    total -= ca.vertcat(1, 0, 0, 0, 0)
    unknown = ca.vertcat(z, m, moved)
    lagrange = ca.dot(aim, z) - ca.dot(y, total)
    every = ca.vertcat(unknown, y)
    residual = ca.vertcat(ca.gradient(lagrange, unknown), total)
    matrices = (base, moves, free, force, aim, A, D, grip)
    given = ca.vertcat(*(ca.vec(k) for k in matrices))
    slope = ca.densify(ca.jacobian(residual, every))
    # One vector of both, the slope by rows: whoever asks has one array to look at.
    both = ca.vertcat(ca.densify(residual), ca.vec(slope.T))
    return Numeric(ca.Function("conditions", [every, given], [both]))


class Polisher:
    """Turns a rough extreme into the extreme."""

    def __init__(self, rest: Rest, mode: Mode, functional: np.ndarray):
        self.rest = rest
        self.mode = mode
        self.functional = functional
        self.grip = 1.0  # what friction gives on an atom at rest, as a share of its limit

    def summit(self, twist: np.ndarray, atoms: Atoms, line: int = -1) -> Summit | None:
        """Return the extreme near a motion, for a pressure near these atoms; None if there is none.

        Atoms that lose their load leave, those that reach a corner stay there, and where f is
        negative one joins. A centre of rotation that bears load stays on the support: where it
        would leave through an edge (`line`), it goes along that edge.
        """
        y = np.zeros(5)
        seen: set[tuple] = set()
        for _ in range(_CHANGES):
            atoms = atoms.sorted()
            state = atoms.kinds, tuple(atoms.edges), tuple(np.round(atoms.along, 6)), line
            if state in seen:
                return None
            seen.add(state)
            base, moves = self._plane(twist, line)
            if base is None:
                return None
            reached = self._newton(base, moves, atoms, y, twist)
            if reached is None:
                return None
            z, atoms, y, change = reached
            twist = base + moves @ z
            if change is not None:
                kind, k = change
                if kind == "leaves":
                    if atoms.kinds[k] == "still":
                        line = -1
                    atoms = atoms.without(k)
                    if not len(atoms.kinds):
                        return None
                else:
                    atoms = self._at_corner(atoms, k)
                continue
            if "still" in atoms.kinds and self.rest.radius:
                q = centre_of(twist)
                if q is None or not self.rest.contains(q):
                    return None  # Over the rim there is no edge to go along.
            if "still" in atoms.kinds and line < 0:
                line = self._left(twist)
                if line >= 0:
                    y = y * 0
                    continue
            elif line >= 0 and self._left(twist, line) >= 0:
                return None  # The motion about a corner.
            affine, witness = y[:3], self.mode.free @ y[3:]
            witness = self.mode.balance(witness, twist)
            parted = self._parted(twist, witness, affine, atoms)
            if parted is not None:
                atoms, y = parted, y * 0
                continue
            scale = max(np.abs(y).max(), 1e-300)
            lowest, where = lowest_over(self.rest, twist, witness, affine), None
            if lowest < -1e-8 * scale:
                lowest, where = lowest_on(self.rest, twist, witness, affine)
            if lowest >= -1e-8 * scale or where is None:
                points = self._places(twist, atoms)
                self._last = atoms, y, line
                return Summit(twist, points, atoms.masses, affine, witness, "extreme")
            if where[0] == "still" and "still" in atoms.kinds:
                return None
            if len(atoms.kinds) >= _MOST:
                return None
            atoms = self._along(atoms, where) or atoms.joined(*where)
        return None

    def _along(self, atoms: Atoms, where: tuple[str, int, float, float]) -> Atoms | None:
        """Let the load of a corner go along an edge on which one that joined bears nothing.

        Without load a place says nothing about itself, and may be where f is greatest.
        """
        kind, edge, along, _ = where
        if kind != "edge" or self.rest.radius:
            return None
        idle = (atoms.edges == edge) & (np.abs(atoms.masses) < _IDLE)
        idle &= np.array([k == "edge" for k in atoms.kinds])
        if not idle.any():
            return None
        ends = [k for k, name in enumerate(atoms.kinds) if name == "fixed"]
        corners = self.rest.at(np.array([edge, edge]), np.array([0.0, 1.0]))[0]
        for k in ends:
            place = self.rest.at(atoms.edges[[k]], atoms.along[[k]])[0]
            if np.abs(corners - place).max(axis=1).min() < _IDLE:
                kinds = tuple("edge" if i == k else x for i, x in enumerate(atoms.kinds))
                edges, places = atoms.edges.copy(), atoms.along.copy()
                edges[k], places[k] = edge, along
                moved = replace(atoms, kinds=kinds, edges=edges, along=places)
                for i in reversed(np.flatnonzero(idle).tolist()):
                    moved = moved.without(i)
                return moved
        return None

    def firm(self, summit: Summit, loss: float) -> Summit:
        """Give an extreme at which an atom just rests a pressure under which it does so firmly.

        At the extreme itself the force on that atom is all that friction gives, and other motions
        may do as well. The extreme for which it gives a little less has one motion only; it may
        lose a share of the value.
        """
        atoms, y, line = self._last
        if "still" not in atoms.kinds:
            return summit
        value = float(self.functional @ summit.twist)
        base, moves = self._plane(summit.twist, line)
        slack, best = loss, summit
        for _ in range(3):
            self.grip = 1.0 - slack
            reached = self._newton(base, moves, atoms, y, summit.twist)
            self.grip = 1.0
            if reached is None or reached[3] is not None:
                slack /= 10
                continue
            twist = base + moves @ reached[0]
            lost = abs(float(self.functional @ twist) - value) / max(abs(value), 1e-300)
            # Along an edge the value may change by less than the motion.
            moved = np.abs(twist - summit.twist).max() / np.abs(summit.twist).max()
            lost = max(lost, float(moved) / 10)
            if lost <= 1.5 * loss:
                named = self._places(twist, reached[1]), reached[1].masses
                best = replace(summit, named=named, own=twist)
                if lost >= 0.2 * loss or slack >= 1e-3:
                    break
            slack = min(slack * loss / max(lost, 1e-300), 1e-3)
        return best

    def _parted(self, twist, witness, affine, atoms: Atoms) -> Atoms | None:
        """Put the load of an atom where f is greatest, not least, on the ends of its edge."""
        rest = self.rest
        edge = np.flatnonzero([kind == "edge" for kind in atoms.kinds])
        if not len(edge) or rest.radius:
            return None
        _, bend = slopes(rest, twist, witness, -affine, atoms.edges[edge], atoms.along[edge])
        if bend.min() >= -1e-9 * max(np.abs(witness).max(), np.abs(affine).max()):
            return None
        k = int(edge[bend.argmin()])
        number, share, mass = int(atoms.edges[k]), float(atoms.along[k]), float(atoms.masses[k])
        parted = (
            atoms.without(k).joined("fixed", number, 0.0, 0.0).joined("fixed", number, 1.0, 0.0)
        )
        masses = parted.masses.copy()
        masses[-2:] = (1 - share) * mass, share * mass
        return replace(parted, masses=masses)

    def _plane(self, twist: np.ndarray, line: int):
        """Return the motions of the mode, or those about points of one edge."""
        mode = self.mode
        if line < 0:
            return mode.base, mode.free
        rest = self.rest
        (a,), (way,), _ = rest.at(np.array([line]), np.zeros(1))
        normal = np.array([-way[1], way[0]])
        row = np.array([normal[1], -normal[0], -(normal @ a)])
        slope = row @ mode.free
        if np.hypot(*slope) <= 1e-12 * np.hypot(*normal):
            return None, None
        base = twist - mode.free @ slope * ((row @ twist) / (slope @ slope))
        return base, (mode.free @ np.array([-slope[1], slope[0]]) / np.hypot(*slope))[:, None]

    def _left(self, twist: np.ndarray, line: int | None = None) -> int:
        """Return the edge next to a centre of rotation that is off the support, or −1."""
        rest, q = self.rest, centre_of(twist)
        if q is None or rest.radius or rest.feet:
            return -1
        if line is not None:
            (a,), (way,), _ = rest.at(np.array([line]), np.zeros(1))
            share = (q - a) @ way / (way @ way)
            return -1 if -1e-12 <= share <= 1 + 1e-12 else line
        return -1 if rest.contains(q) else int(self._far(q).argmin())

    def _far(self, q: np.ndarray) -> np.ndarray:
        """Return how far each edge is from a point."""
        a, way, _ = self.rest.lines
        share = np.clip(((q - a) * way).sum(axis=1) / (way**2).sum(axis=1), 0, 1)
        off = q - a - share[:, None] * way
        return np.hypot(off[:, 0], off[:, 1])

    def edges_beside(self, twist: np.ndarray) -> list[int]:
        """Return the edges that a centre of rotation is next to, the nearest first; two at most."""
        q = centre_of(twist)
        if q is None or self.rest.radius or self.rest.feet:
            return []
        far = self._far(q)
        return [int(k) for k in np.argsort(far)[:2] if far[k] < _NEXT * REACH]

    def _at_corner(self, atoms: Atoms, k: int) -> Atoms:
        kinds = list(atoms.kinds)
        kinds[k] = "fixed"
        along = atoms.along.copy()
        along[k] = round(min(max(along[k], 0.0), 1.0))
        return replace(atoms, kinds=tuple(kinds), along=along)

    def _geometry(self, atoms: Atoms) -> list[float]:
        """Return where atoms are, or their edges start, and how these go on, each as x, y."""
        rest, starts, ways = self.rest, [], []
        for kind, edge, along in zip(atoms.kinds, atoms.edges.tolist(), atoms.along.tolist()):
            x, y, u, v = 0.0, 0.0, 0.0, 0.0
            if kind != "still" and rest.radius:
                (x, y), u = rest.middle, rest.radius
            elif kind != "still":
                x, y, u, v, _ = rest.edges[edge]
            if kind == "fixed":
                x, y, u, v = x + along * u, y + along * v, 0.0, 0.0
            starts += [x, y]
            ways += [u, v]
        return starts + ways

    def _newton(self, base, moves, atoms: Atoms, y, twist):
        """Solve the conditions for these atoms; stop at the first that wants to change its kind."""
        rest, mode = self.rest, self.mode
        count, ways = len(atoms.kinds), moves.shape[1]
        function = _conditions(atoms.kinds, bool(rest.radius), ways)
        aim = self.functional @ moves
        force = mode.force if mode.force is not None else np.zeros(3)
        # Matrices by columns, as the graph has them.
        arrays = base, moves.T.ravel(), mode.free.T.ravel(), force, aim
        given = np.array([*(x for k in arrays for x in k.tolist()), *self._geometry(atoms),
                          self.grip])  # fmt: skip
        resting = np.array([k == "still" for k in atoms.kinds])
        loose = np.array([k != "fixed" for k in atoms.kinds])
        place = np.where(resting, atoms.angle, atoms.along)
        first, known = atoms.masses, bool(np.any(y))
        # Moves are orthonormal.
        u = np.concatenate([moves.T @ (twist - base), first, place[loose], y])
        # How far a step goes at most: masses, and places.
        most = np.full(count, 0.25 if not rest.radius else 0.1)
        most[resting] = 0.5
        most = np.concatenate([np.full(count, 0.3), most[loose]])
        held, edges = slice(ways, ways + count), np.flatnonzero(~resting[loose]) + ways + count
        worst = missed = np.inf
        for turn in range(_STEPS):
            (both,) = function(u, given)
            if not isfinite(both.sum()):
                return None
            F, J = both[: len(u)], both[len(u) :].reshape(len(u), len(u))
            if not known:
                # Multipliers that fit the rest best.
                u[-5:] = np.linalg.lstsq(J[:-5, -5:], -F[:-5], rcond=1e-12)[0]
                known = True
                continue
            # Multipliers may be larger than the weight; the pressure itself is not.
            off = np.abs(F)
            worst, missed = float(off.max()), float(off[-5:].max())
            size = max(WEIGHT, float(np.abs(u[-5:]).max()))
            if worst <= 1e-13 * size and missed <= 1e-13 * WEIGHT:
                break
            # Multipliers and what they are about, each in its own size.
            both[: len(u) - 5] /= size
            J[:-5] /= size
            J[:, -5:] *= size
            step = _solved(J, -F)
            step[-5:] *= size
            room = 0.3 * float(np.abs(base + moves @ u[:ways]).max())
            far = float(np.abs(moves @ step[:ways]).max()) / max(room, 1e-300)
            u += step / max(1.0, far, float((np.abs(step[ways:-5]) / most).max()))
            if turn >= 2 and count > 1 and u[held].min() < -0.02:
                break
            if not rest.radius and len(edges) and np.abs(u[edges] - 0.5).max() > 0.52:
                break
        z, m, y = u[:ways], u[held], u[-5:]
        place[loose] = u[ways + count : -5]
        atoms = replace(atoms, along=np.where(resting, atoms.along, place),
                        angle=np.where(resting, place, atoms.angle), masses=m)  # fmt: skip
        if count > 1 and m.min() < -1e-12:
            # The first to lose its load on the way.
            had = np.maximum(first, 1e-12)
            k = int(np.where(m < -1e-12, had / (had - np.minimum(m, 0.0)), np.inf).argmin())
            return z, replace(atoms, masses=np.maximum(m, 0.0)), y * 0, ("leaves", k)
        if not rest.radius:
            off = np.where(loose & ~resting, np.maximum(-place, place - 1), -1.0)
            if off.max() > 0:
                return z, atoms, y * 0, ("corner", int(off.argmax()))
        if worst > 1e-9 * max(WEIGHT, np.abs(y).max()) or missed > 1e-11 * WEIGHT:
            return None
        return z, atoms, y, None

    def _places(self, twist: np.ndarray, atoms: Atoms) -> np.ndarray:
        points = np.zeros((len(atoms.kinds), 2))
        for k, kind in enumerate(atoms.kinds):
            if kind == "still":
                points[k] = centre_of(twist)
            else:
                points[k] = self.rest.at(atoms.edges[[k]], atoms.along[[k]])[0][0]
        return points


def _solved(J: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve a system; where it is as good as singular, the shortest that comes closest."""
    try:
        inverse = np.linalg.inv(J)
    except np.linalg.LinAlgError:
        inverse = None
    if inverse is None or not np.abs(J).max() * np.abs(inverse).max() < _REGULAR:
        return np.linalg.lstsq(J, right, rcond=1e-13)[0]
    return inverse @ right


def atoms_of(rest: Rest, answer: Answer, near: float) -> Atoms:
    """Return the atoms of a rough pressure, those that are neighbours as one."""
    kinds: list[str] = []
    rows: list[list[float]] = []
    places: list[tuple[float, float]] = []
    columns = zip(answer.masses, *answer.points, *answer.ways, answer.edges, answer.along)
    for mass, x, y, u, v, edge, along in sorted(columns, key=lambda c: -c[0]):
        if mass < 1e-9:
            continue
        if edge < 0:
            same = [row for row, kind in zip(rows, kinds) if kind == "still"]
            if same:
                row = same[0]
                u, v = row[3] * cos(row[2]) + mass * u, row[3] * sin(row[2]) + mass * v
                row[2], row[3] = atan2(v, u), row[3] + mass
                continue
            kinds.append("still")
            rows.append([-1, 0.0, atan2(v, u), mass])
            places.append((inf, inf))
            continue
        close = [
            row for row, (a, b) in zip(rows, places) if not rest.feet and hypot(a - x, b - y) < near
        ]
        if close:
            close[0][3] += mass
            continue
        corner = rest.feet or (not rest.radius and along in (0.0, 1.0))
        kinds.append("fixed" if corner else "edge")
        rows.append([edge, along, 0.0, mass])
        places.append((x, y))
    table = np.array(rows)
    return Atoms(tuple(kinds), table[:, 0].astype(int), table[:, 1], table[:, 2], table[:, 3])


def placed(rest: Rest, summit: Summit) -> Atoms:
    """Return where on the border of a polygon the atoms of a pressure are, or that they rest."""
    a, way, _ = rest.lines
    arm = summit.points[:, None] - a
    share = np.clip((arm * way).sum(axis=2) / (way**2).sum(axis=1), 0, 1)
    edges = np.linalg.norm(arm - share[..., None] * way, axis=2).argmin(axis=1)
    along = np.take_along_axis(share, edges[:, None], 1)[:, 0]
    v = field(summit.twist, summit.points)
    resting = np.hypot(v[:, 0], v[:, 1]) <= _IDLE * np.abs(summit.twist).max()
    corner = np.minimum(along, 1 - along) < _IDLE
    kinds = np.where(resting, "still", np.where(corner, "fixed", "edge")).tolist()
    edges, along = np.where(resting, -1, edges), np.where(corner, np.round(along), along)
    return Atoms(tuple(kinds), edges, along, np.zeros(len(along)), summit.masses)


def joined(
    points: np.ndarray, masses: np.ndarray, close: float = 1e-12
) -> tuple[np.ndarray, np.ndarray]:
    """Return atoms that share a place as one, and those without load not at all."""
    places: list[np.ndarray] = []
    loads: list[float] = []
    for x, m in zip(points[masses > 0], masses[masses > 0]):
        near = [k for k, y in enumerate(places) if np.abs(x - y).max() <= close * REACH]
        if near:
            loads[near[0]] += float(m)
        else:
            places.append(x)
            loads.append(float(m))
    return np.array(places), np.array(loads)
