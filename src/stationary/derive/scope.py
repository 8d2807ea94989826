"""For which forces the principle of minimum power holds, and for which it does not.

Minimum power agrees with the balance of forces if Σᵢ vᵢ ∂Fᵢ/∂vⱼ = 0 for every force F: then the
slope of the power −F·v is −F itself. The test is linear, so that it decides force by force.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from functools import lru_cache
from itertools import combinations
from typing import Any, cast

import sympy as sp

from stationary.errors import spelled
from stationary.model.arrays import Array
from stationary.model.each import Each
from stationary.model.symbols import Coordinate, Velocity
from stationary.model.system import System, require
from stationary.model.terms import Contact, Drag, Friction


class Kind(Enum):
    """Of what kind a force is; its value is what is said before its name."""

    POTENTIAL = "the potential energy"
    WORK = "the work"
    LOAD = "load"
    FRICTION = "friction"
    DRAG = "drag"
    DISSIPATION = "the dissipation"
    KINETIC = "the kinetic energy"
    CONSTRAINT = "constraint"
    CONTACT = "contact"


@dataclass(frozen=True)
class Scope:
    """Whether minimum power finds the motion of a system, and why, force by force.

    True or false by itself; ``reasons`` names every force, ``failing`` those it does not cover.
    """

    reasons: dict[str, str]
    failing: tuple[str, ...]
    #: Of what kind every force is.
    kinds: dict[str, Kind] = field(repr=False)

    def failing_among(self, *kinds: Kind) -> list[str]:
        """Return the forces of some kinds that it does not cover."""
        return [name for name in self.failing if self.kinds[name] in kinds]

    def __bool__(self) -> bool:
        return not self.failing

    def __repr__(self) -> str:
        head = "minimum power holds" if self else "minimum power does not hold"
        lines = [f"  {'no ' if k in self.failing else 'yes'}  {k}: {why}"
                 for k, why in self.reasons.items()]  # fmt: skip
        return "\n".join([head, *lines])


@spelled
def minimum_power_holds(system: System) -> Scope:
    """Tell whether the principle of minimum power finds the motion of a system.

    Decides, symbolically, for every force F whether Σᵢ vᵢ ∂Fᵢ/∂vⱼ = 0.

    Parameters
    ----------
    system : System

    Returns
    -------
    Scope
        Truthy or not; ``scope.reasons`` names each force and why.

    Examples
    --------
    >>> x = st.coordinates("x")
    >>> print(st.minimum_power_holds(st.System(friction=[st.Drag(2.0, 1, on=x, name="oil")])))
    minimum power does not hold
      no   drag 'oil': grows with the power 1 of the speed: the slope of its power is 2 times it, \
so that the principle is wrong by the factor n + 1
    """
    require(system)
    return _scope(system)


@lru_cache(maxsize=128)
def _scope(system: System) -> Scope:
    reasons: dict[str, str] = {}
    kinds: dict[str, Kind] = {}
    failing: list[str] = []

    def note(kind: Kind, term: Any, verdict: tuple[bool, str]) -> None:
        name = kind.value if term is None else f"{kind.value} '{term.name}'"
        reasons[name], kinds[name] = verdict[1], kind
        if not verdict[0]:
            failing.append(name)

    if not system.potential.is_zero:
        note(Kind.POTENTIAL, None, (True, _INDEPENDENT))
    if not system.work.is_zero:
        note(Kind.WORK, None, (True, _INDEPENDENT))
    for load in map(_one, system.loads):
        note(Kind.LOAD, load, _decide(load.force, load.on))
    for term in map(_one, system.friction):
        if isinstance(term, Friction):
            note(Kind.FRICTION, term, _decide_friction(term))
        else:
            note(Kind.DRAG, term, _decide_drag(term))
    if not system.dissipation.is_zero:
        note(Kind.DISSIPATION, None, _decide_dissipation(system.dissipation))
    linear = _gyroscopic(system)
    if linear is not None:
        note(Kind.KINETIC, None, linear)
    for term in map(_one, (*system.constraints, *system.pfaffian)):
        note(Kind.CONSTRAINT, term, (True, "a force of constraint"))
    for contact in map(_one, system.contacts):
        note(Kind.CONTACT, contact, _decide_contact(contact))
    return Scope(reasons, tuple(failing), kinds)


def as_power(system: System) -> System:
    """Return the system whose dissipation potential is the power of all forces (equation 1).

    Its least dissipation is the least power of the given one, also where that is not the motion.
    """
    kept = {f.name: getattr(system, f.name) for f in fields(system)}
    power = _euler(
        system.dissipation.xreplace({e: sp.S.Zero for e in system.dissipation.atoms(Each)})
    )
    for e in system.dissipation.atoms(Each):
        rates = [s for s, c in e.table.columns.items() if isinstance(c, Array) and c.order == 1]
        power += system.dissipation.coeff(e) * e.apply(lambda x, rates=rates: _euler(x, rates))
    loads = []
    for load in system.loads:
        if load.table is not None or not _velocities(load.force):
            loads.append(load)
            continue
        moved = {s for on in load.on for s in on.free_symbols if isinstance(s, Coordinate)}
        rates = [sp.Add(*(on.diff(c) * c.dot for c in moved)) for on in load.on]
        power -= sp.simplify(sp.Add(*(f * rate for f, rate in zip(load.force, rates))))
    friction = [_weighed(term) for term in system.friction]
    return System(**{
        **kept, "kinetic": sp.S.Zero, "dissipation": power, "loads": tuple(loads),
        "friction": tuple(friction),
    })  # fmt: skip


def _euler(e: sp.Expr, rates: Sequence[Any] = ()) -> sp.Expr:
    """Return Σ v ∂e/∂v: the power of the force whose potential e is."""
    return sp.Add(*(v * e.diff(v) for v in (*_velocities([e]), *rates)))


def _weighed(entry: Any) -> Any:
    if not isinstance(entry, Drag):
        return entry
    return replace(entry, eta=entry.eta * (entry.power + 1))


_INDEPENDENT = "independent of velocity"
_PARALLEL = "parallel to the velocity and of a size that does not depend on it"
_DIRECTED = "the slope of its power, and of a size that depends on the direction only"
_SKEW = (
    "of a size that does not grow with the speed, but not against the velocity: the slope of its "
    "power is another force"
)
_PERPENDICULAR = (
    "perpendicular to the velocity: it takes no power, so that the minimum cannot see it"
)


def _one(entry: Any) -> Any:
    """Return a term, or the first row of a repeated one: all rows are alike."""
    return entry.row(0)


def _velocities(expressions: Sequence[sp.Expr]) -> list[Velocity]:
    velocities = {s for e in expressions for s in e.free_symbols if isinstance(s, Velocity)}
    return sorted(velocities, key=str)


def _decide(force: Sequence[sp.Expr], on: Sequence[sp.Expr]) -> tuple[bool, str]:
    """Decide for a force on what moves."""
    if not _velocities(force):
        return True, _INDEPENDENT
    places = sorted(
        {s for e in on for s in e.free_symbols if isinstance(s, Coordinate)}
        | {v.of for v in _velocities(force)},
        key=str,
    )
    F = [sp.Add(*(f * x.diff(c) for f, x in zip(force, on))) for c in places]
    return _decide_generalized(F, [c.dot for c in places])


def _decide_generalized(F: list[sp.Expr], v: list[Any]) -> tuple[bool, str]:
    # Velocities are real, and the sign of any one of them is left open.
    plain = {w: sp.Symbol(f"v{i}", real=True) for i, w in enumerate(v)}
    F, w = [_signed(f.xreplace(plain)) for f in F], list(plain.values())
    test = [sp.simplify(_smooth(sp.Add(*(x * f.diff(y) for x, f in zip(w, F))))) for y in w]
    if all(e.is_zero or e == 0 for e in test):
        across = (f * y - g * x for (f, x), (g, y) in combinations(list(zip(F, w)), 2))
        return True, _PARALLEL if all(sp.simplify(e) == 0 for e in across) else _DIRECTED
    if sp.simplify(sp.Add(*(f * x for f, x in zip(F, w)))) == 0:
        return False, _PERPENDICULAR
    order = _degree(F, w)
    if order is None:
        return False, "depends on the velocity in a way that the minimum of the power does not see"
    return False, _SKEW if order == 0 else _grows(order)


def _signed(e: sp.Expr) -> sp.Expr:
    """Write |u| as u·sign(u), so that a speed over its size is known to be constant."""
    return cast(sp.Expr, e.replace(sp.Abs, lambda u: u * sp.sign(u)))


def _smooth(e: Any) -> Any:
    """Leave out what a jump adds at one velocity: equation 6 is about motion, not about rest."""
    return e.replace(sp.DiracDelta, lambda *_: sp.S.Zero)


def _grows(power: Any) -> str:
    shown = sp.sstr(sp.nsimplify(power) if power.is_number else power, full_prec=False)
    times = sp.sstr(sp.nsimplify(power + 1) if power.is_number else power + 1, full_prec=False)
    return (
        f"grows with the power {shown} of the speed: the slope of its power is {times} times it, "
        "so that the principle is wrong by the factor n + 1"
    )


def _degree(F: list[sp.Expr], w: list[sp.Symbol]) -> sp.Expr | None:
    """Return n if every force is homogeneous of degree n: s times the speed, sⁿ times the force."""
    s = sp.Symbol("s", positive=True)
    orders = set()
    for f in F:
        if f.is_zero:
            continue
        times = sp.simplify(f.xreplace({x: s * x for x in w}) / f)
        order = sp.simplify(s * times.diff(s) / times)
        if order.has(s, *w):
            return None
        orders.add(order)
    return orders.pop() if len(orders) == 1 else None


def _decide_friction(term: Friction) -> tuple[bool, str]:
    if _velocities([term.limit]):
        return False, "depends on the velocity by its limit"
    return True, f"Coulomb friction: {_PARALLEL}"


def _decide_drag(term: Drag) -> tuple[bool, str]:
    if _velocities([term.eta, term.power]):
        return False, "depends on the velocity by its coefficient"
    if term.power.is_zero:
        return True, f"power 0 is Coulomb friction: {_PARALLEL}"
    return False, _grows(term.power)


def _decide_dissipation(D: sp.Expr) -> tuple[bool, str]:
    samples = [D.xreplace({e: sp.S.Zero for e in D.atoms(Each)})]
    samples += [e.expressions[0].xreplace(e.table.row(0)) for e in D.atoms(Each)]
    verdict = (True, _PARALLEL)
    for sample in samples:
        v = _velocities([sample])
        if v:
            verdict = _decide_generalized([-sample.diff(w) for w in v], v)
            if not verdict[0]:
                return verdict
    return verdict


def _gyroscopic(system: System) -> tuple[bool, str] | None:
    """Terms of T linear in the velocities are no inertia: they push across the motion."""
    if any(system.kinetic.atoms(Each)):
        return None
    T = system.kinetic
    v = _velocities([T])
    at_rest = {w: sp.S.Zero for w in v}
    momenta = {w.of: T.diff(w).xreplace(at_rest) for w in v}
    for c, p in momenta.items():
        for d, other in momenta.items():
            if sp.simplify(p.diff(d) - other.diff(c)) != 0:
                return False, f"its terms linear in the velocities push {_PERPENDICULAR}"
    return None


def _decide_contact(contact: Contact) -> tuple[bool, str]:
    if contact.slip is None or contact.friction.is_zero:
        return True, "a force of constraint that only pushes"
    return False, (
        "its friction is as large as what presses it, which depends on the motion; the normal "
        "force is found by itself"
    )
