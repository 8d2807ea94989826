"""A system as elements: each a small expression graph, and the rows to which it applies.

What is stated plainly is one element with one row; what `each` states is one element with a table.
Derivatives are taken once per element, on its own few coordinates, by automatic differentiation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
import sympy as sp

from stationary.derive.chains import Chain, chain_of
from stationary.derive.christoffel import inertial_force
from stationary.derive.from_sympy import Translator
from stationary.model.arrays import Array
from stationary.model.contents import contents, sudden
from stationary.model.each import Slot, Table
from stationary.model.layout import Layout, Rows
from stationary.model.symbols import Coordinate, Velocity, rate, t
from stationary.model.terms import Contact, Drag, Friction, Load, split_sums


@dataclass
class Statement:
    """What one element contributes: energies and terms over the symbols of its table."""

    table: Table | None = None
    kinetic: sp.Expr = sp.S.Zero
    potential: sp.Expr = sp.S.Zero
    work: sp.Expr = sp.S.Zero
    dissipation: sp.Expr = sp.S.Zero
    loads: list[Load] = field(default_factory=list)
    slips: list[tuple[Rows, Friction | Drag]] = field(default_factory=list)
    constraints: list[tuple[Rows, tuple[sp.Expr, ...]]] = field(default_factory=list)
    pfaffian: list[tuple[Rows, tuple[sp.Expr, ...]]] = field(default_factory=list)
    contacts: list[tuple[Rows, tuple[sp.Expr, ...]]] = field(default_factory=list)
    #: Contacts with friction, and the rates against which it acts.
    rubs: list[tuple[Rows, Contact]] = field(default_factory=list)
    restitutions: list[sp.Expr] = field(default_factory=list)

    @property
    def drags(self) -> list[Drag]:
        """Friction that is a smooth function of the velocity."""
        return [term for _, term in self.slips if isinstance(term, Drag)]

    def expressions(self) -> Iterator[sp.Expr]:
        """Every expression of the element."""
        yield from (self.kinetic, self.potential, self.work, self.dissipation)
        for term in (*self.loads, *(s for _, s in self.slips), *(c for _, c in self.rubs)):
            yield from term.expressions()
        for _, rows in (*self.constraints, *self.pfaffian, *self.contacts):
            yield from rows
        yield from self.restitutions


def statements(layout: Layout) -> list[Statement]:
    """Split a system into what is stated once and what repeats, tables that agree together."""
    system = layout.system
    plain = Statement()
    by_table: dict[Table | None, Statement] = {None: plain}
    for kind in ("kinetic", "potential", "work", "dissipation"):
        e = getattr(system, kind)
        rest, sums = split_sums(e)
        for scale, repeated in sums:
            element = by_table.setdefault(repeated.table, Statement(repeated.table))
            setattr(element, kind, getattr(element, kind) + scale * repeated.expressions[0])
        setattr(plain, kind, rest)

    def share(entry: Any) -> tuple[Statement, Any]:
        """Return the element to which a term belongs, and the term itself."""
        return by_table.setdefault(entry.table, Statement(entry.table)), entry

    for entry in system.loads:
        element, load = share(entry)
        element.loads.append(load)
    for rows, entry in zip(layout.slips, (*system.friction, *layout.rubbing)):
        element, inner = share(entry)
        place: list[Any] = element.rubs if isinstance(inner, Contact) else element.slips
        place.append((rows, inner))
    for rows, entry in zip(layout.rows, (*system.constraints, *system.pfaffian)):
        element, inner = share(entry)
        if rows.holonomic:
            element.constraints.append((rows, inner.R))
        else:
            element.pfaffian.append((rows, inner.expr))
    for rows, entry in zip(layout.gaps, system.contacts):
        element, inner = share(entry)
        element.contacts.append((rows, (inner.gap,)))
        element.restitutions.append(inner.restitution)
    return list(by_table.values())


class Element:
    """One element lowered to a graph over its own coordinates.

    Attributes
    ----------
    rows : int
    index : ndarray of int, shape (coordinates of the element, rows)
        Which entries of q the element's coordinates are, row by row.
    data : ndarray, shape (columns, rows)
        Numbers that differ from row to row.
    """

    def __init__(self, statement: Statement, layout: Layout):
        self._columns: list[np.ndarray] = []
        self._places: dict[bytes, int] = {}
        system = layout.system
        self.rows = statement.table.rows if statement.table else 1
        self.t = ca.SX.sym("t")
        self.p = ca.SX.sym("p", len(system.parameters))
        self.u = ca.SX.sym("u", len(system.inputs))
        self._symbols: dict[sp.Symbol, Any] = {t: self.t}
        self._symbols |= {s: self.p[i] for i, s in enumerate(system.parameters)}
        self._symbols |= {s: self.u[i] for i, s in enumerate(system.inputs)}

        symbols = set().union(*(contents(e).symbols for e in statement.expressions()))
        self.sudden = t in symbols and any(sudden(e) for e in statement.expressions())
        local, numbers = self._local(symbols, statement.table, layout)
        self.index = np.array(self._columns, dtype=int).reshape(len(self._columns), self.rows)
        self.data = np.array(list(numbers.values()), dtype=float).reshape(len(numbers), self.rows)
        self.z = ca.SX.sym("z", len(self._columns))
        self.w = ca.SX.sym("w", len(self._columns))
        self.d = ca.SX.sym("d", len(numbers))
        self._symbols |= {s: (self.w if order else self.z)[k] for s, (k, order) in local.items()}
        self._symbols |= {s: self.d[k] for k, s in enumerate(numbers)}
        self._kinetic = statement.kinetic
        self._lower(statement)

    def _local(self, symbols: set, table: Table | None, layout: Layout):
        """Give the element's own coordinates a place, and list the numbers of its table."""
        local: dict[sp.Symbol, tuple[int, int]] = {}
        numbers: dict[sp.Symbol, np.ndarray] = {}
        for s in sorted(symbols, key=lambda s: (layout_key(s, layout), str(s))):
            if isinstance(s, Slot):
                assert table is not None
                column = table.columns[s]
                if isinstance(column, Array):
                    local[s] = self._number(layout.place(column)), column.order
                else:
                    numbers[s] = column
            elif isinstance(s, (Coordinate, Velocity)):
                coordinate = s.of if isinstance(s, Velocity) else s
                column = np.full(self.rows, int(layout.place(coordinate)))
                local[s] = self._number(column), int(isinstance(s, Velocity))
        return local, numbers

    def _number(self, column: np.ndarray) -> int:
        key = np.ascontiguousarray(column, dtype=np.int64).tobytes()
        if key not in self._places:
            self._places[key] = len(self._columns)
            self._columns.append(column)
        return self._places[key]

    def _lower(self, statement: Statement) -> None:
        lower = Translator(self._symbols)
        scalar = ca.SX.ones(1)
        self.T, self.U, self.W = (
            scalar * lower(e) for e in (statement.kinetic, statement.potential, statement.work)
        )
        #: The dissipation function, drag aside.
        self.D = D = scalar * lower(statement.dissipation)
        for drag in statement.drags:
            velocity = self.rate(ca.vertcat(*map(lower, drag.on)))
            order = lower(drag.power) + 1
            D = D + lower(drag.eta) * ca.power(ca.sumsqr(velocity), order / 2) / order
        force = ca.SX(self.z.numel(), 1)
        #: What each load pushes with, by name.
        self.supplied: dict[str | None, Any] = {}
        #: Σ force · on: the potential of the loads, where their forces are constant.
        self.load_work = ca.SX(1, 1)
        for load in statement.loads:
            self.load_work += sum(lower(f * on) for f, on in zip(load.force, load.on))
            pushed = ca.jtimes(
                ca.vertcat(*map(lower, load.on)), self.z, ca.vertcat(*map(lower, load.force)), True
            )
            force += pushed
            self.supplied[load.name] = self.supplied.get(load.name, 0) + pushed
        self.momentum = ca.gradient(self.T, self.w)
        #: R(q, t) of the constraints, and zero for Pfaffian rows, which have no R.
        held = ca.vertcat(*(lower(e) for _, rows in statement.constraints for e in rows))
        rolled = ca.vertcat(*(lower(e) for _, rows in statement.pfaffian for e in rows))
        held, rolled = (ca.SX(x) if x.numel() else ca.SX(0, 1) for x in (held, rolled))
        self.R = ca.vertcat(held, ca.SX(rolled.numel(), 1))
        self.Rdot = ca.vertcat(self.rate(held), rolled)
        self.A = ca.vertcat(ca.jacobian(held, self.z), ca.jacobian(rolled, self.w))
        #: What drives the rows: Ṙ = A w + drive.
        self.drive = ca.vertcat(
            ca.jacobian(held, self.t), ca.substitute(rolled, self.w, ca.SX.zeros(self.w.numel()))
        )
        #: Which rows of A these are, shape (rows of the element, rows of the table).
        self.row_index = self._places_of([*statement.constraints, *statement.pfaffian])
        self.gap = ca.SX(ca.vertcat(*(lower(e) for _, rows in statement.contacts for e in rows)))
        self.gap_index = self._places_of(statement.contacts)
        self.restitution = ca.SX(ca.vertcat(*(lower(e) for e in statement.restitutions)))
        #: Multipliers of these rows and of these contacts, for what bends with them.
        self.lam, self.mu = ca.SX.sym("lam", self.R.numel()), ca.SX.sym("mu", self.gap.numel())
        self._lower_slips(statement, lower)
        self.loaded = force
        #: What loads, W and dissipation push with: the forces that no energy of U accounts for.
        self.applied = force + ca.gradient(self.W, self.z) - ca.gradient(D, self.w)

    def _lower_slips(self, statement: Statement, lower: Translator) -> None:
        """Lower what dry friction and drag act against; size and power once for every rate."""
        slip, size, power, rest = [], [], [], []
        for _, term in statement.slips:
            drag = isinstance(term, Drag)
            slip += map(lower, term.on)
            size += [lower(term.eta if drag else term.limit)] * len(term.on)
            power += [lower(term.power if drag else sp.S.Zero)] * len(term.on)
            static = None if drag else term.static
            rest += [size[-1] if static is None else lower(static)] * len(term.on)
        for _, contact in statement.rubs:
            slip += map(lower, contact.slip)
            size += [lower(contact.friction)] * len(contact.slip)
            power += [0.0] * len(contact.slip)
            rest += [size[-1]] * len(contact.slip)
        self.slip, self.slip_size, self.slip_power, self.slip_rest = (
            ca.SX(ca.vertcat(*x)) if x else ca.SX(0, 1) for x in (slip, size, power, rest)
        )
        self.slip_index = self._places_of([*statement.slips, *statement.rubs])
        self._lower_speeds(statement)
        #: What resists these rates, for what bends with it.
        self.y = ca.SX.sym("y", self.slip.numel())

    def _lower_speeds(self, statement: Statement) -> None:
        """Lower sizes of friction in motion: |v| is smooth where the sense of v is known."""
        #: The sense of each rate, +1 or −1, and the sizes with it.
        self.sense = ca.SX.sym("sense", self.slip.numel())
        place, moving = 0, ca.SX(self.slip_size)
        for _, term in statement.slips:
            if isinstance(term, Friction) and len(term.on) == 1 and term.limit.has(sp.Abs):
                velocity = sp.expand(rate(term.on[0]))
                speeds = [a for a in term.limit.atoms(sp.Abs)
                          if sp.expand(a.args[0]) in (velocity, sp.expand(-velocity))]  # fmt: skip
                if speeds:
                    mark = sp.Dummy("speed")
                    known = {**self._symbols}
                    known[mark] = self.sense[place] * self.rate(self.slip[place])
                    marked = term.limit.xreplace({a: mark for a in speeds})
                    moving[place] = Translator(known)(marked)
            place += len(term.on)
        self.slip_moving = moving

    def _places_of(self, terms: list) -> np.ndarray:
        places = [rows.places.reshape(self.rows, -1) for rows, _ in terms]
        return np.hstack(places).T if places else np.zeros((0, self.rows), dtype=np.int64)

    def row_of(self, places: list[int]) -> int:
        """Return the row of the element that keeps a quaternion, given by its entries."""
        filled = ca.DM(self.A.sparsity(), 1.0).full()
        return int(np.flatnonzero(filled[:, places].all(axis=1))[0])

    def rate(self, e: Any) -> Any:
        """Differentiate with respect to time along the motion."""
        return ca.jtimes(e, self.z, self.w) + ca.jacobian(e, self.t)

    # -- what the assembled system is made of ---------------------------------------------------

    @property
    def mass(self) -> ca.SX:
        """∂²T/∂w²."""
        if self.chain is not None:
            return self.chain.mass()
        return ca.jacobian(self.momentum, self.w, {"symmetric": True})

    @cached_property
    def accelerated(self) -> ca.SX:
        """M⁻¹ force, found along the chain."""
        assert self.chain is not None
        return self.chain.solve(self.force)

    @cached_property
    def chain(self) -> Chain | None:
        """How bodies pass their motion on, where the statement says so."""
        return chain_of(self._kinetic, self._symbols, self.w)

    @property
    def force(self) -> ca.SX:
        """What is left of the equation of motion when the acceleration is zero: M a = force."""
        return ca.gradient(self.T - self.U, self.z) - self.rate(self.momentum) + self.applied

    @property
    def short_force(self) -> ca.SX:
        """The same in few operations, which take longer to find."""
        if self.chain is not None:
            return self.force
        inertial = inertial_force(self.T, self.t, self.z, self.w)
        return inertial - ca.gradient(self.U, self.z) + self.applied

    @property
    def gamma(self) -> ca.SX:
        """What is left of R̈ when the acceleration is zero: R̈ = A a + gamma."""
        return self.rate(self.Rdot)

    @property
    def energies(self) -> ca.SX:
        """T, U, the energy w·∂T/∂w − T + U, and the power that feeds it."""
        energy = ca.dot(self.w, self.momentum) - self.T + self.U
        power = ca.dot(self.w, self.applied) - ca.gradient(self.T - self.U, self.t)
        return ca.vertcat(self.T, self.U, energy, power)

    @property
    def pushes(self) -> ca.SX:
        """Forces that need no velocity: of U, W and loads."""
        return self.loaded + ca.gradient(self.W - self.U, self.z)

    @property
    def internal(self) -> ca.SX:
        """U − W."""
        return self.U - self.W

    @cached_property
    def arguments(self) -> list[ca.SX]:
        """The symbols that the graph of the element depends on."""
        return [self.t, self.z, self.w, self.u, self.p, self.d]


def layout_key(s: sp.Symbol, layout: Layout) -> int:
    """Sort key: the element's coordinates in the order of q, so that its matrices stay banded."""
    if isinstance(s, (Coordinate, Velocity)):
        return int(layout.place(s.of if isinstance(s, Velocity) else s))
    return -1
