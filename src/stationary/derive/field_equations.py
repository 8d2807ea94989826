"""Stationary action of a density, to read: field equations and all boundary conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import sympy as sp

from stationary.derive.explain_fields import explanation
from stationary.derive.field_terms import (
    Condition,
    Work,
    integral,
    leads_with_minus,
    positive,
    products,
    tidied,
)
from stationary.derive.lagrange import Equations
from stationary.derive.lagrange import equations as lagrange
from stationary.derive.readable import (
    Explanation,
    Written,
    aligned,
    in_decimals,
    plain,
    terms,
    total,
    write_sum,
)
from stationary.derive.virtual_work import force, refuse
from stationary.errors import StatementError, spelled, unknown
from stationary.model.continuum import Continuum, Interval, replaced
from stationary.model.fields import Field, PointValue, default_of, fields_in
from stationary.model.symbols import Coordinate, Parameter, Velocity, along_time, t
from stationary.model.system import System
from stationary.model.terms import Load


@spelled
@dataclass(frozen=True, repr=False)
class FieldEquations:
    """The Euler–Lagrange equations of a continuum, with all its boundary conditions, to read.

    Attributes
    ----------
    continuum : Continuum
    work : tuple of Work
        Of every field, what does virtual work along its variation.
    conditions : tuple of Condition
        Conditions at points, point by point.
    part_equations : tuple of Eq
        Equations of the coordinates of ordinary parts.

    Examples
    --------
    >>> X = st.positions("X")
    >>> rho, A, E, L, f = st.parameters("rho A E L f")
    >>> u = st.field("u", over=(X, 0, L))
    >>> bar = st.Continuum(
    ...     kinetic=rho * A * u.dot**2 / 2, potential=E * A * u.diff(X) ** 2 / 2,
    ...     loads=[st.Load(f, on=u.at(L))], fixed={u.at(0): 0},
    ... )
    >>> st.equations(bar)
    Field equations
      u: A*rho*u.ddot = A*E*u''
    at points
      u(0) = 0
      A*E*u'(L) = f
    """

    continuum: Continuum
    work: tuple[Work, ...]
    conditions: tuple[Condition, ...]
    part_equations: tuple[sp.Eq, ...]
    parts: Equations | None

    @property
    def fields(self) -> tuple[Field, ...]:
        """The fields, in the order of the equations."""
        return self.continuum.fields

    @cached_property
    def field_equations(self) -> tuple[sp.Eq, ...]:
        """One equation per field: inertia on the left, forces on the right."""
        return tuple(self._equation(w) for w in self.work)

    def _equation(self, w: Work) -> sp.Eq:
        left, right = (tidied(w.inside(e)) for e in (w.inertia, w.forces))
        if left == 0:
            left, right = positive(right), sp.S.Zero
        return sp.Eq(left, right, evaluate=False)

    def __getitem__(self, key: Any) -> sp.Eq:
        """Return the equation of a field, the condition at a point, or a coordinate's equation."""
        equations = {w.field: e for w, e in zip(self.work, self.field_equations)}
        equations |= {c.point: c.equation for c in self.conditions}
        equations |= dict(zip(self.continuum.coordinates, self.part_equations))
        if key not in equations:
            raise StatementError(
                unknown("field, point or coordinate", str(key), map(str, equations))
            )
        return equations[key]

    @property
    def boundary_conditions(self) -> tuple[sp.Eq, ...]:
        """The conditions at ends and at other points, essential and natural."""
        return tuple(c.equation for c in self.conditions)

    @property
    def essential(self) -> tuple[sp.Eq, ...]:
        """The conditions that were stated."""
        return tuple(c.equation for c in self.conditions if c.essential)

    @property
    def natural(self) -> tuple[sp.Eq, ...]:
        """The conditions that follow from the principle."""
        return tuple(c.equation for c in self.conditions if not c.essential)

    @cached_property
    def residuals(self) -> tuple[sp.Expr, ...]:
        """Left minus right side of every field equation."""
        return tuple(eq.lhs - eq.rhs for eq in self.field_equations)

    # -- solutions --------------------------------------------------------------------------------

    def insert(self, solution: Mapping[Field, Any]) -> tuple[sp.Expr, ...]:
        """Return what is left of the field equations for given functions of position and time.

        Parameters
        ----------
        solution : dict
            For every field an expression of its position and `t`.
        """
        swap: dict[sp.Basic, sp.Basic] = {}
        for residual in self.residuals:
            for f in fields_in(residual):
                if f.whole not in solution:
                    raise StatementError(
                        f"no function is given for the field '{f.stem}'.",
                        f"Found {', '.join(map(str, solution)) or 'none'}.",
                        "Give one for every field, as in {u: g(X - c*t)}.",
                    )
                e = sp.S(solution[f.whole])
                swap[f] = e.diff(f.position, f.order).diff(t, f.rate)
        return tuple(sp.simplify(r.xreplace(swap).doit()) for r in self.residuals)

    def solved_by(self, solution: Mapping[Field, Any]) -> bool:
        """Tell whether given functions of position and time solve the field equations."""
        return all(e == 0 for e in self.insert(solution))

    @cached_property
    def wave_speed(self) -> sp.Expr | None:
        """The speed c of ü = c² u″, where the only field equation is one with constants."""
        if len(self.work) != 1:
            return None
        (f,) = self.fields
        e = sp.expand(self.residuals[0])
        here, there = e.coeff(f.ddot), e.coeff(f.diff(f.position, 2))
        rest = sp.expand(e - here * f.ddot - there * f.diff(f.position, 2))
        if rest != 0 or here == 0 or there == 0:
            return None
        square = sp.cancel(-there / here)
        if any(not isinstance(s, Parameter) for s in square.free_symbols):
            return None
        return sp.sqrt(square)

    @cached_property
    def travelling_waves(self) -> tuple[sp.Expr, ...]:
        """Waves g(X ∓ c t) of any shape, each inserted into the equation and found to solve it."""
        c = self.wave_speed
        if c is None:
            return ()
        (u,) = self.fields
        shapes = (sp.Function("f")(u.position - c * t), sp.Function("g")(u.position + c * t))
        return tuple(e for e in shapes if self.solved_by({u: e}))

    # -- how it reads -----------------------------------------------------------------------------

    def written(self, w: Work, write: Callable[[Any], str] = sp.latex) -> str:
        """Write the equation of a field, derivatives of products left as they are."""
        X = w.field.position
        left = write_sum(terms(tidied(w.inside(w.inertia))), write)
        shown: list[Any] = []
        for k, e in enumerate(w.forces):
            e = tidied((-1) ** k * e)
            done = tidied(e.diff(X, k))
            if k == 0 or not products(e, X) or len(sp.Add.make_args(done)) < 2:
                shown += terms(done)
            else:
                minus = not e.is_Add and e.could_extract_minus_sign()
                inside = write(-e if minus else e)
                around = f"({inside})" if write is plain else rf"\left({inside}\right)"
                shown.append((sp.Integer(-1 if minus else 1), Written(around + "'" * k)))
        right = write_sum(shown, write)
        return f"{right} = 0" if left == "0" else f"{left} = {right}"

    def __str__(self) -> str:
        name = self.continuum.name
        lines = ["Field equations" + (f" of {name}" if name else "")]
        width = max(len(f.name) for f in self.fields) + 1
        lines += [f"  {w.field.name + ':':<{width}} {self.written(w, plain)}" for w in self.work]
        lines += ["at points"] * bool(self.conditions)
        lines += [f"  {plain(eq.lhs)} = {plain(eq.rhs)}" for eq in self.boundary_conditions]
        if self.part_equations:
            lines.append("of parts")
            lines += [f"  {plain(eq.lhs)} = {plain(eq.rhs)}" for eq in self.part_equations]
        if self.parts is not None and self.parts.lam:
            held = (*self.parts.system.constraints, *self.parts.system.pfaffian)
            lines += ["under", *(f"  {term}" for term in held)]
        return "\n".join(lines)

    __repr__ = __str__

    def latex(self) -> str:
        """Return field equations, conditions and equations of parts as aligned LaTeX."""
        rows = [self.written(w).replace(" = ", " &= ", 1) for w in self.work]
        pairs = (*self.boundary_conditions, *self.part_equations)
        rows += [f"{sp.latex(eq.lhs)} &= {sp.latex(eq.rhs)}" for eq in pairs]
        return aligned(rows)

    def _repr_latex_(self) -> str:
        return f"$${self.latex()}$$"

    def explain(self) -> Explanation:
        """Return the derivation, step by step, as Markdown with LaTeX."""
        return explanation(self)


def field_equations(continuum: Continuum) -> FieldEquations:
    """Derive field equations and boundary conditions from the stationary action of a density.

    Parameters
    ----------
    continuum : Continuum

    Returns
    -------
    FieldEquations

    Raises
    ------
    DerivationError
        For dry friction and contacts in parts, whose forces are no expressions of the state.
    """
    exact, back = in_fractions(continuum)
    work = tuple(_work(exact, f) for f in exact.fields)
    parts = _parts(exact)
    conditions, rows = _Points(exact, work, parts).collected()
    shown = [_back(c, back) for c in conditions]
    return FieldEquations(
        continuum=continuum,
        work=tuple(
            Work(w.field, *(tuple(map(back, e)) for e in (w.momenta, w.inertia, w.forces)))
            for w in work
        ),
        conditions=tuple(shown),
        part_equations=tuple(sp.Eq(back(a), back(b), evaluate=False) for a, b in rows),
        parts=parts,
    )


def at_rest(continuum: Continuum) -> Continuum:
    """Return the same continuum with nothing moving: what is left of T acts as a potential."""

    def stopped(e: sp.Expr) -> sp.Expr:
        moving = (s for s in e.atoms(sp.Symbol) if isinstance(s, Velocity) or getattr(s, "rate", 0))
        return e.xreplace(dict.fromkeys(moving, sp.S.Zero))

    return replaced(
        continuum,
        kinetic=stopped(continuum.kinetic),
        dissipation=sp.S.Zero,
        loads=tuple(load.apply(stopped) for load in continuum.loads),
        parts=tuple(System(**part.apply(stopped)) for part in continuum.parts),
    )


def _back(c: Condition, back: Callable) -> Condition:
    value = None if c.value is None else back(c.value)
    return Condition(c.point, back(c.inner), back(c.outer), value, c.turned)


def in_fractions(continuum: Continuum) -> tuple[Continuum, Callable[[Any], sp.Expr]]:
    """Return the continuum with decimals as fractions, and what writes them as decimals again."""
    everything = [e for _, e in continuum.everything()]
    if not any(e.has(sp.Float) for e in everything):
        return continuum, lambda e: e

    def exact(e: sp.Expr) -> sp.Expr:
        # Fields and points are atoms: the ends of their intervals stay as they are.
        return sp.nsimplify(e, rational=True) if e.has(sp.Float) else e

    return replaced(
        continuum,
        **{k: exact(getattr(continuum, k)) for k in ("kinetic", "potential", "work")},
        dissipation=exact(continuum.dissipation),
        loads=tuple(load.apply(exact) for load in continuum.loads),
        fixed=tuple((key, exact(value)) for key, value in continuum.fixed),
        parts=tuple(System(**part.apply(exact)) for part in continuum.parts),
    ), in_decimals


# -- along the intervals ------------------------------------------------------------------


def _work(continuum: Continuum, f: Field) -> Work:
    """Return what does work along δu, δu′ and δu″."""
    density = continuum.densities[f.over]
    L = density["kinetic"] - density["potential"] + density["work"]
    momenta, inertia, forces = [], [], []
    for k in range(3):
        jet = Field(f.stem, f.over, k)
        p = L.diff(jet.dot)
        pull = L.diff(jet) - density["dissipation"].diff(jet.dot)
        pull += sum((q * on.diff(jet) for q, on in _distributed(continuum, f.over)), sp.S.Zero)
        momenta.append(tidied(p))
        inertia.append(tidied(along_time(p)))
        forces.append(tidied(pull))
    return Work(f, tuple(momenta), tuple(inertia), tuple(forces))


def _distributed(continuum: Continuum, over: Interval) -> list[tuple[sp.Expr, sp.Expr]]:
    """Return forces and what they work on, of the loads along one interval."""
    pairs = []
    for load in continuum.distributed:
        if any(f.over == over for on in load.on for f in fields_in(on)):
            pairs += zip(force(load), load.on)
    return pairs


# -- at points ------------------------------------------------------------------


def _parts(continuum: Continuum) -> Equations | None:
    """Return Lagrange's equations of the parts and of the loads at points."""
    part = continuum.part + System(loads=[Load(x.force, x.on) for x in continuum.concentrated])
    return lagrange(part) if part.size else None


class _Points:
    """What does virtual work at points, collected by variation."""

    def __init__(self, continuum: Continuum, work: Iterable[Work], parts: Equations | None):
        self.continuum = continuum
        self.work = {w.field: w for w in work}
        self.places = {f: self._places(f) for f in continuum.fields}
        #: Forces of the continuum and of parts along the variation of every point and coordinate.
        self.inner: dict[Any, sp.Expr] = {}
        self.outer: dict[Any, sp.Expr] = {}
        for f, places in self.places.items():
            for place in places:
                self._ends(f, place)
        #: The left sides of Lagrange's equations of parts.
        self.left: dict[Any, sp.Expr] = {}
        if parts is not None:
            for i, c in enumerate(parts.coordinates):
                self.outer[c] = -parts.residuals[i]
                self.left[c] = total(parts._left(i))
        self._coordinates()

    def _places(self, f: Field) -> list[sp.Expr]:
        """Return both ends, and between them the points at which something happens.

        Where slopes of another field jump, so do those of this one that pull together with them.
        """
        orders = self.continuum.orders
        pulls = (self.work[f].at_end(order) for order in range(orders[f]))
        jump = (g for e in pulls for g in fields_in(e) if g.order >= orders[g.whole])
        stems = {f.stem, *(g.stem for g in jump)}
        named = [p.place for p in self.continuum.points if p.over == f.over and p.stem in stems]
        named += jumps(self.continuum, f.over)
        inner = [e for e in dict.fromkeys(named) if e not in f.ends]
        inner.sort(key=lambda e: (default_of(e) if default_of(e) is not None else 0.0, str(e)))
        return [f.ends[0], *inner, f.ends[1]]

    def _ends(self, f: Field, place: sp.Expr) -> None:
        """Note the forces of the continuum at a point, from one side or from both."""
        first, last = f.ends
        for order in range(self.continuum.orders[f]):
            e = self.work[f].at_end(order)
            if place == last:
                total = _there(e, place)
            elif place == first:
                total = -_there(e, place)
            else:
                total = _there(e, place, "-", f.ends) - _there(e, place, "+", f.ends)
            self.inner[Field(f.stem, f.over, order).at(place)] = total

    def _coordinates(self) -> None:
        """Note the forces that densities exert on coordinates of ordinary parts."""
        for over, density in self.continuum.densities.items():
            L = density["kinetic"] - density["potential"] + density["work"]
            for c in self.continuum.coordinates:
                if not isinstance(c, Coordinate):
                    refuse(
                        f"the array '{c.name}' is too large to be read with a continuum.",
                        "Found an array of coordinates among its parts.",
                        "Use st.discretize to run it.",
                    )
                pull = L.diff(c) - along_time(L.diff(c.dot)) - density["dissipation"].diff(c.dot)
                pull += sum(
                    (q * on.diff(c) for q, on in _distributed(self.continuum, over)), sp.S.Zero
                )
                self.inner.setdefault(c, sp.S.Zero)
                self.inner[c] += integral(tidied(pull), over)

    def collected(self) -> tuple[list[Condition], list[tuple[sp.Expr, sp.Expr]]]:
        """Return the conditions at points, and both sides of the equations of parts."""
        fixed = dict(self.continuum.fixed)
        self._transfer(fixed)
        conditions = []
        for f, places in self.places.items():
            for place in places:
                for order in range(self.continuum.orders[f]):
                    c = Field(f.stem, f.over, order).at(place)
                    if c in fixed:
                        conditions.append(Condition(c, value=fixed[c]))
                    else:
                        inner = tidied(-self.inner.get(c, sp.S.Zero))
                        outer = tidied(self.outer.get(c, sp.S.Zero))
                        turned = leads_with_minus(inner)
                        if turned:
                            inner, outer = tidied(-inner), tidied(-outer)
                        if (inner, outer) != (0, 0):
                            conditions.append(Condition(c, inner, outer, None, turned))
        rows = []
        for c in self.continuum.coordinates:
            left = self.left.get(c, sp.S.Zero)
            right = self.outer.get(c, sp.S.Zero) + self.inner.get(c, sp.S.Zero) + left
            rows.append((left, tidied(right)) if left != 0 else (tidied(right), sp.S.Zero))
        return conditions, rows

    def _transfer(self, fixed: dict[PointValue, sp.Expr]) -> None:
        """Hand the forces at points that are tied on to what they are tied to."""
        waiting = dict(fixed)
        while waiting:
            # A point takes its share from those that are tied to it before it hands it on.
            key = next(k for k in waiting if not any(k in v.free_symbols for v in waiting.values()))
            value = waiting.pop(key)
            for c in value.free_symbols:
                if isinstance(c, Coordinate):
                    slope = value.diff(c)
                    for forces in (self.inner, self.outer):
                        share = slope * forces.get(key, sp.S.Zero)
                        forces[c] = forces.get(c, sp.S.Zero) + share


def jumps(continuum: Continuum, over: Interval) -> list[sp.Expr]:
    """Return the places at which a piecewise coefficient changes its form."""
    X, first, last = over
    density = [*continuum.densities[over].values()]
    density += [e for pair in _distributed(continuum, over) for e in pair]
    places: dict[sp.Expr, None] = {}
    for e in density:
        for piece in e.atoms(sp.Piecewise):
            for relation in set().union(*(c.atoms(sp.Rel) for _, c in piece.args)):
                gap = sp.expand(relation.lhs - relation.rhs)
                slope = gap.coeff(X)
                place = sp.cancel(-gap.subs(X, 0) / slope) if slope != 0 else None
                known = place is not None and all(
                    isinstance(s, Parameter) for s in place.free_symbols
                )
                if not (known and sp.expand(gap - slope * (X - place)) == 0):
                    continue
                value, low, high = (default_of(x) for x in (place, first, last))
                inside = value is None or (
                    (low is None or value > low) and (high is None or value < high)
                )
                if inside and place not in (first, last):
                    places[place] = None
    return list(places)


def _there(e: sp.Expr, place: sp.Expr, side: str = "", ends: tuple = ()) -> sp.Expr:
    """Return an expression of fields at a point; or beside it, between the ends of an interval."""
    swap: dict[sp.Basic, sp.Basic] = {}
    for f in fields_in(e):
        value = PointValue(f.stem, f.over, place, f.order, side)
        swap[f] = (value, value.dot, value.ddot)[f.rate]
        swap[f.position] = place
    swap |= {s: place for s in e.atoms(sp.Symbol) if type(s).__name__ == "Position"}
    if side and e.has(sp.Piecewise):
        e = e.replace(sp.Piecewise, lambda *args: _branch(sp.Piecewise(*args), place, side, ends))
    return e.xreplace(swap)


def _branch(piece: sp.Basic, place: sp.Expr, side: str, ends: tuple) -> sp.Expr:
    """Return the branch of a piecewise expression on one side of a point."""
    at = default_of(place)
    if at is None or not isinstance(piece, sp.Piecewise):
        return piece  # pyright: ignore[reportReturnType]
    low, high = (default_of(end) for end in ends)
    length = abs(at) or 1.0 if low is None or high is None else high - low
    near = at + (1 if side == "+" else -1) * 1e-9 * length
    for value, condition in piece.args:
        known = {s: s.default for s in condition.free_symbols if isinstance(s, Parameter)}
        known |= {s: near for s in condition.free_symbols if s not in known}
        if condition.subs(known) == sp.true:
            return value
    return piece


# -- forms ------------------------------------------------------------------
