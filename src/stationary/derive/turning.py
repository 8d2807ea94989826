"""The equations of bodies in space as Euler wrote them: by angular velocities, not quaternions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sympy as sp

from stationary.derive.readable import Explanation, block, tidy
from stationary.derive.virtual_work import conditions
from stationary.model.checks import is_unit
from stationary.model.space.rotation import Entry, Orientation, orientations
from stationary.model.symbols import t

if TYPE_CHECKING:
    from stationary.derive.lagrange import Equations

# More coordinates than this are not told by hand.
_MOST = 9


class _Turn:
    """One orientation: its quaternion, angular velocity and matrix, as symbols."""

    def __init__(self, rotation: Orientation, alone: bool):
        mark = "" if alone else rf"^{{{rotation.name}}}"
        self.rotation, self.q = rotation, rotation.entries
        self.omega = [sp.Symbol(rf"\omega_{a}{mark}", real=True) for a in "xyz"]
        self.rates = [sp.Symbol(rf"\dot{{\omega}}_{a}{mark}", real=True) for a in "xyz"]
        name = rotation.name
        self.matrix = [[sp.Symbol(f"{name}_{{{i}{j}}}", real=True) for j in "xyz"] for i in "xyz"]
        w, x, y, z = self.q
        # Columns: how the quaternion moves with a turn about an axis of the body.
        columns = ((-x, w, z, -y), (-y, -z, w, x), (-z, y, -x, w))
        self.columns = [[e / 2 for e in column] for column in columns]

    def in_rates(self, e: sp.Expr) -> sp.Expr:
        """Put the angular velocity in the place of the rates of the quaternion."""
        moved = [sum(w * c[i] for w, c in zip(self.omega, self.columns)) for i in range(4)]
        return self.reduced(e.xreplace({q.dot: v for q, v in zip(self.q, moved)}))

    def reduced(self, e: sp.Expr) -> sp.Expr:
        """Use that the quaternion has length one."""
        w, x, y, z = self.q
        if not e.has(*self.q):
            return e
        poly = sp.Poly(sp.expand(e), w)
        found = sp.S.Zero
        for (power,), coefficient in poly.terms():
            found += coefficient * (1 - x**2 - y**2 - z**2) ** (power // 2) * w ** (power % 2)
        return sp.expand(found)

    def varied(self, e: sp.Expr, k: int) -> sp.Expr:
        """Return the change with a turn about axis k of the body."""
        slopes = sum(sp.diff(e, q) * c for q, c in zip(self.q, self.columns[k]))
        return self.reduced(sp.expand(slopes))

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


def by_angular_velocity(eq: Equations) -> Explanation | None:
    """Return the derivation by angular velocities; None where nothing turns, or too much does."""
    rotations = orientations(c for c in eq.coordinates if isinstance(c, Entry))
    if not rotations or len(eq.coordinates) > _MOST or eq.system.friction:
        return None
    try:
        return _told(eq, [_Turn(r, len(rotations) == 1) for r in rotations])
    except sp.PolynomialError:
        # Roots and quotients of quaternions are no entries of a rotation matrix.
        return None


def _told(eq: Equations, turns: list[_Turn]) -> Explanation:
    system = eq.system
    plain = [c for c in eq.coordinates if not isinstance(c, Entry)]

    def rates(e: Any) -> sp.Expr:
        e = sp.S(e)
        for turn in turns:
            e = turn.in_rates(e)
        return e

    def shown(e: sp.Expr) -> str:
        for turn in turns:
            e = turn.by_matrix(turn.reduced(e))
        return sp.latex(tidy(e))

    T, U, W, D = (
        rates(sp.nsimplify(getattr(system, kind), rational=True))
        for kind in ("kinetic", "potential", "work", "dissipation")
    )

    def along_time(e: sp.Expr) -> sp.Expr:
        total = sp.diff(e, t) + sum(sp.diff(e, c) * c.dot + sp.diff(e, c.dot) * c.ddot
                                    for c in plain)  # fmt: skip
        for turn in turns:
            total += sum(sp.diff(e, w) * r for w, r in zip(turn.omega, turn.rates))
            total += sum(turn.varied(e, k) * w for k, w in enumerate(turn.omega))
        return total

    held = [(lam, term, rates(e)) for lam, (term, e) in zip(eq.lam, conditions(system))
            if not is_unit(term)]  # fmt: skip

    def pushed(vary: Any, speed: sp.Expr) -> sp.Expr:
        """Return what acts along a freedom, given how expressions change along it."""
        total = vary(T - U + W) - sp.diff(D, speed)
        for load in system.loads:
            total += sum(rates(f) * vary(rates(on)) for f, on in zip(load.force, load.on))
        for lam, term, e in held:
            total += lam * (sp.diff(e, speed) if e.has(speed) else vary(e))
        return total

    name = f" of {system.name}" if system.name else ""
    lines = [f"# Equations of motion{name}"]
    for turn in turns:
        words = turn.rotation.name
        omega = ", ".join(map(sp.latex, turn.omega))
        lines.append(
            f"The orientation ${words}$ takes the axes of the body to those of space; "
            f"$\\omega = ({omega})$ is its angular velocity in the axes of the body: "
            f"$\\dot {words} = {words}\\,[\\omega]_\\times$."
        )
    energies = [f"T &= {shown(T)}"] + ([f"U &= {shown(U)}"] if U != 0 else [])
    energies += [f"W &= {shown(W)}"] if W != 0 else []
    energies += [f"D &= {shown(D)}"] if D != 0 else []
    energies += [f"{sp.latex(sp.Symbol(str(term.name)))} &: {shown(e)} = 0" for _, term, e in held]
    lines += ["## 1. Energies", block(*energies)]
    momenta, rows = [], []
    for turn in turns:
        pi = [sp.expand(sp.diff(T, w)) for w in turn.omega]
        momenta += [f"{sp.latex(sp.Symbol(f'pi_{a}'))} &= \\frac{{\\partial T}}{{\\partial "
                    f"{sp.latex(w)}}} = {shown(e)}"
                    for a, w, e in zip("xyz", turn.omega, pi)]  # fmt: skip
        x, y, z = turn.omega
        carried = (y * pi[2] - z * pi[1], z * pi[0] - x * pi[2], x * pi[1] - y * pi[0])
        for k in range(3):
            left = along_time(pi[k]) + carried[k]
            right = pushed(lambda e, turn=turn, k=k: turn.varied(e, k), turn.omega[k])
            rows.append(f"{shown(sp.expand(left))} &= {shown(sp.expand(right))}")
    for c in plain:
        p = sp.expand(sp.diff(T, c.dot))
        momenta.append(f"p_{{{sp.latex(c)}}} &= {shown(p)}")
        right = pushed(lambda e, c=c: sp.diff(e, c), c.dot)
        rows.append(f"{shown(along_time(p))} &= {shown(sp.expand(right))}")
    lines += ["## 2. Momenta", block(*momenta)]
    law = r"$$\dot\pi + \omega \times \pi = \frac{\delta (T - U)}{\delta \theta} + Q$$"
    lines += [
        "## 3. Equations of motion",
        "The momentum is carried round with the body, and changed by what resists a small turn "
        r"$\delta\theta$ of it:",
        law,
        block(*rows),
    ]
    return Explanation("\n\n".join(lines))
