"""The equations of bodies in space as Euler wrote them: by angular velocities, not quaternions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import sympy as sp

from stationary.derive.readable import (
    Explanation,
    block,
    in_fractions,
    plain,
    slope,
    tidy,
    title,
    upright,
)
from stationary.derive.virtual_work import conditions
from stationary.model.built_once import opened
from stationary.model.checks import is_unit
from stationary.model.space.rotation import Entry, Orientation, orientations
from stationary.model.symbols import Coordinate, t
from stationary.model.terms import Constraint

if TYPE_CHECKING:
    from stationary.derive.lagrange import Equations

# More coordinates than this are not told by hand.
_MOST = 9

# Sums of more products of entries of a matrix than this are not looked through.
_LONG = 60


class _Turn:
    """One orientation: its quaternion, angular velocity and matrix, as symbols."""

    def __init__(self, rotation: Orientation, alone: bool):
        mark = "" if alone else rf"^{{{rotation.name}}}"
        self.rotation, self.q = rotation, rotation.entries
        self.omega = [sp.Symbol(rf"\omega_{a}{mark}", real=True) for a in "xyz"]
        self.rates = [sp.Symbol(rf"\dot{{\omega}}_{a}{mark}", real=True) for a in "xyz"]
        name = rotation.name
        self.matrix = [[sp.Symbol(f"{name}_{{{i}{j}}}", real=True) for j in "xyz"] for i in "xyz"]
        self.entries = [e for row in self.matrix for e in row]
        w, x, y, z = self.q
        # Columns: how the quaternion moves with a turn about an axis of the body.
        columns = ((-x, w, z, -y), (-y, -z, w, x), (-z, y, -x, w))
        self.columns = [[e / 2 for e in column] for column in columns]
        # What is written by the matrix and the angular velocity of the rotation stays so.
        entries = [e for row in zip(rotation.matrix, self.matrix) for e in zip(*row)]
        self.known = dict(entries) | {e / 2: w / 2 for e, w in zip(rotation.omega, self.omega)}
        # Turned about an axis of the body by δ, the other two of its axes move by each other.
        self.slopes = [
            {a: s * b for row in self.matrix
             for a, b, s in ((row[i], row[j], 1), (row[j], row[i], -1))}
            for i, j in ((1, 2), (2, 0), (0, 1))
        ]  # fmt: skip

    def in_rates(self, e: sp.Expr) -> sp.Expr:
        """Put the angular velocity in the place of the rates of the quaternion."""
        e = opened(e.xreplace(self.known))
        moved = [sum(w * c[i] for w, c in zip(self.omega, self.columns)) for i in range(4)]
        return self.reduced(e.xreplace({q.dot: v for q, v in zip(self.q, moved)}))

    def reduced(self, e: sp.Expr) -> sp.Expr:
        """Use that the quaternion has length one."""
        w, x, y, z = self.q
        if not e.has(*self.q):
            return e
        poly = sp.Poly(sp.expand(e), w)
        remainder = sp.S.Zero
        for (power,), coefficient in poly.terms():
            remainder += coefficient * (1 - x**2 - y**2 - z**2) ** (power // 2) * w ** (power % 2)
        return sp.expand(remainder)

    def varied(self, e: sp.Expr, k: int) -> sp.Expr:
        """Return the change with a turn about axis k of the body."""
        slopes = sum(sp.diff(e, q) * c for q, c in zip(self.q, self.columns[k]))
        turned = sum(sp.diff(e, entry) * slope for entry, slope in self.slopes[k].items())
        return self.reduced(sp.expand(slopes)) + turned

    def by_matrix(self, e: sp.Expr) -> sp.Expr:
        """Write what is quadratic in the quaternion by the entries of the rotation matrix."""
        if not e.has(*self.q):
            return e
        w, x, y, z = self.q
        (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = self.matrix
        quadratic = {
            (2, 0, 0, 0): (1 + xx + yy + zz) / 4, (0, 2, 0, 0): (1 + xx - yy - zz) / 4,
            (0, 0, 2, 0): (1 - xx + yy - zz) / 4, (0, 0, 0, 2): (1 - xx - yy + zz) / 4,
            (0, 1, 1, 0): (xy + yx) / 4, (0, 1, 0, 1): (xz + zx) / 4, (0, 0, 1, 1): (yz + zy) / 4,
            (1, 0, 0, 1): (yx - xy) / 4, (1, 0, 1, 0): (xz - zx) / 4, (1, 1, 0, 0): (zy - yz) / 4,
            (0, 0, 0, 0): sp.S.One,
        }  # fmt: skip
        terms = sp.Poly(sp.expand(e), w, x, y, z).terms()
        if any(powers not in quadratic for powers, _ in terms):
            return e
        return sp.Add(*(sp.expand(c * quadratic[powers]) for powers, c in terms))

    def shortened(self, e: sp.Expr) -> sp.Expr:
        """Use that the matrix is one of a rotation: R Rᵀ = 1, and axes are products of axes."""
        whole = {p: sp.Dummy(real=True) for p in e.atoms(sp.Pow)
                 if not (p.exp.is_Integer and p.exp.is_positive)}  # fmt: skip
        groups: dict[sp.Expr, sp.Expr] = {}
        for term in sp.Add.make_args(sp.expand(e.xreplace(whole))):
            front, turned = term.as_independent(*self.entries, as_Add=False)
            number, front = front.as_coeff_Mul()
            groups[front] = groups.get(front, sp.S.Zero) + number * turned
        shorter = sp.Add(*(front * self._shortened(sum_) for front, sum_ in groups.items()))
        return shorter.xreplace({dummy: power for power, dummy in whole.items()})

    def _shortened(self, e: sp.Expr) -> sp.Expr:
        degrees = [sum(m) for m in sp.Poly(e, *self.entries).monoms()]
        if not 1 < max(degrees) < 4 or len(degrees) > _LONG:
            return e
        back = {symbol: entry for entry, symbol in self.known.items() if entry.has(*self.q)}
        turned = self.by_matrix(self.reduced(e.xreplace(back)))
        short = not turned.has(*self.q) and sp.count_ops(turned) < sp.count_ops(e)
        return turned if short else e


class Turned:
    """Equations of motion by angular velocities, one for each freedom.

    Attributes
    ----------
    rows : list of tuple
        Of every freedom its name and both sides of its equation.
    held : list of tuple
        Of every constraint that was stated its multiplier, itself, and what vanishes.
    """

    def __init__(self, eq: Equations, turns: list[_Turn]):
        system, self._back = in_fractions(eq.system)
        self.system = system
        self.turns, self.plain = turns, [c for c in eq.coordinates if not isinstance(c, Entry)]
        self.T, self.U, self.W, self.D = (
            self._rates(getattr(system, kind))
            for kind in ("kinetic", "potential", "work", "dissipation")
        )
        self.held = [
            (lam, term, self._rates(e))
            for lam, (term, e) in zip(eq.lam, conditions(system))
            if not is_unit(term)
        ]
        self.momenta: list[tuple[sp.Expr, sp.Expr]] = []
        self.rows: list[tuple[str, sp.Expr, sp.Expr]] = []
        for turn in turns:
            pi = [sp.expand(sp.diff(self.T, w)) for w in turn.omega]
            self.momenta += zip(turn.omega, pi)
            x, y, z = turn.omega
            carried = (y * pi[2] - z * pi[1], z * pi[0] - x * pi[2], x * pi[1] - y * pi[0])
            for k, axis in enumerate("xyz"):
                left = self._along_time(pi[k]) + carried[k]
                right = self._pushed(lambda e, turn=turn, k=k: turn.varied(e, k), turn.omega[k])
                self.rows.append(
                    (f"{turn.rotation.name}.{axis}", *map(self.settled, (left, right)))
                )
        for c in self.plain:
            p = sp.expand(sp.diff(self.T, c.dot))
            self.momenta.append((c, p))
            right = self._pushed(lambda e, c=c: sp.diff(e, c), c.dot)
            self.rows.append((c.name, *map(self.settled, (self._along_time(p), right))))

    def _rates(self, e: Any) -> sp.Expr:
        return _in_rates(self.turns, e)

    def settled(self, e: sp.Expr) -> sp.Expr:
        """Write by matrices and in good order."""
        return self._back(_settled(self.turns, e))

    def _along_time(self, e: sp.Expr) -> sp.Expr:
        total = sp.diff(e, t) + sum(sp.diff(e, c) * c.dot + sp.diff(e, c.dot) * c.ddot
                                    for c in self.plain)  # fmt: skip
        for turn in self.turns:
            total += sum(sp.diff(e, w) * r for w, r in zip(turn.omega, turn.rates))
            total += sum(turn.varied(e, k) * w for k, w in enumerate(turn.omega))
        return total

    def _pushed(self, vary: Any, speed: sp.Expr) -> sp.Expr:
        """Return what acts along a freedom, given how expressions change along it."""
        total = vary(self.T - self.U + self.W) - sp.diff(self.D, speed)
        for load in self.system.loads:
            total += sum(self._rates(f) * vary(self._rates(on))
                         for f, on in zip(load.force, load.on))  # fmt: skip
        for lam, term, e in self.held:
            total += lam * (vary(e) if isinstance(term, Constraint) else sp.diff(e, speed))
        return total

    def latex(self) -> list[str]:
        """Return the equations in LaTeX, and what is held."""
        held = [f"{sp.latex(self.settled(e))} &= 0" for _, _, e in self.held]
        return [f"{sp.latex(left)} &= {sp.latex(right)}" for _, left, right in self.rows] + held

    def __str__(self) -> str:
        """Write the equations as text, angular velocities and matrices by name."""
        typed = _typed(self.turns)
        width = max(len(name) for name, _, _ in self.rows) + 1
        lines = ["Equations of motion" + (f" of {self.system.name}" if self.system.name else "")]
        for name, *sides in self.rows:
            both = " = ".join(plain(side.xreplace(typed)) for side in sides)
            lines.append(f"  {name + ':':<{width}} {both}")
        if self.held:
            lines.append("under")
            lines += [
                f"  {term.name}: {plain(self.settled(e).xreplace(typed))} = 0"
                for _, term, e in self.held
            ]
        names = ", ".join(turn.rotation.name for turn in self.turns)
        several = len(self.turns) != 1
        lines.append(
            f"with the entries of the rotation {'matrices' if several else 'matrix'} {names} and "
            f"{'their' if several else 'its'} angular velocity in the axes of the body"
        )
        return "\n".join(lines)


def _in_rates(turns: list[_Turn], e: Any) -> sp.Expr:
    e = sp.S(e)
    for turn in turns:
        e = turn.in_rates(e)
    return e


def _settled(turns: list[_Turn], e: sp.Expr) -> sp.Expr:
    e = sp.expand(e)
    for turn in turns:
        e = turn.shortened(turn.by_matrix(turn.reduced(e)))
    return tidy(e)


def _typed(turns: list[_Turn]) -> dict[sp.Basic, sp.Basic]:
    """Return angular velocities and matrices by the names that text has for them."""
    typed: dict[sp.Basic, sp.Basic] = {}
    for turn in turns:
        name = turn.rotation.name
        for axis, w, rate, row in zip("xyz", turn.omega, turn.rates, turn.matrix):
            typed[w] = sp.Symbol(f"{name}.omega.{axis}")
            typed[rate] = sp.Symbol(f"{name}.omega.{axis}.dot")
            typed |= {e: sp.Symbol(f"{name}.{axis}{b}") for b, e in zip("xyz", row)}
    return typed


def _turns(coordinates: Iterable[Coordinate]) -> list[_Turn]:
    """Return the orientations among few coordinates; none where nothing turns, or too much does."""
    every = list(coordinates)
    rotations = orientations(c for c in every if isinstance(c, Entry))
    few = len(every) <= _MOST
    return [_Turn(r, len(rotations) == 1) for r in rotations] if few else []


def in_angular_velocities(e: sp.Expr, coordinates: Iterable[Coordinate]) -> sp.Expr:
    """Write what is quadratic in quaternions and their rates by angular velocities and matrices."""
    turns = _turns(coordinates)
    try:
        return _settled(turns, _in_rates(turns, e)).xreplace(_typed(turns)) if turns else e
    except sp.PolynomialError:
        return e


def turned(eq: Equations) -> Turned | None:
    """Return the equations by angular velocities; None where nothing turns, or too much does."""
    turns = _turns(eq.coordinates)
    if not turns or eq.system.friction:
        return None
    try:
        return Turned(eq, turns)
    except sp.PolynomialError:
        # Roots and quotients of quaternions are no entries of a rotation matrix.
        return None


def by_angular_velocity(eq: Equations) -> Explanation | None:
    """Return the derivation by angular velocities; None where nothing turns, or too much does."""
    board = eq.turned
    if board is None:
        return None

    def shown(e: sp.Expr) -> str:
        return sp.latex(board.settled(e))

    lines = [title("Equations of motion", eq.system.name)]
    for turn in board.turns:
        words = turn.rotation.name
        omega = ", ".join(map(sp.latex, turn.omega))
        lines.append(
            f"The orientation ${words}$ takes the axes of the body to those of space; "
            f"$\\omega = ({omega})$ is its angular velocity in the axes of the body: "
            f"$\\dot {words} = {words}\\,[\\omega]_\\times$."
        )
    several = (("T", board.T), ("U", board.U), ("W", board.W), ("D", board.D))
    energies = [f"{kind} &= {shown(e)}" for kind, e in several if e != 0 or kind == "T"]
    energies += [f"{upright(str(term.name))} &: {shown(e)} = 0"
                 for _, term, e in board.held]  # fmt: skip
    lines += ["## 1. Energies", block(*energies)]
    count, momenta = 3 * len(board.turns), []
    for k, (of, p) in enumerate(board.momenta):
        turn = f"\\pi_{{{'xyz'[k % 3]}}} &= {slope('T', of)} = "
        momenta.append((turn if k < count else f"p_{{{sp.latex(of)}}} &= ") + shown(p))
    lines += ["## 2. Momenta", block(*momenta)]
    law = r"$$\dot\pi + \omega \times \pi = \frac{\delta (T - U)}{\delta \theta} + Q$$"
    rows = board.latex()[: len(board.rows)]
    lines += [
        "## 3. Equations of motion",
        "The momentum is carried round with the body, and changed by what resists a small turn "
        r"$\delta\theta$ of it:",
        law,
        block(*rows),
    ]
    return Explanation("\n\n".join(lines))
