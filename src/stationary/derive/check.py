"""Checking a statement: M must be a mass matrix, G a gradient; what the motion conserves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import sympy as sp

from stationary.derive.check_by_numbers import findings_by_numbers
from stationary.derive.constraints import (
    definite_where_held,
    held_too,
    integrability,
    redundant,
)
from stationary.derive.effort import TooLong, bounded, is_long
from stationary.derive.findings import Dry, Finding, Report, listed, redundancy
from stationary.derive.graph import Graph
from stationary.derive.lagrange import Equations, equations
from stationary.derive.readable import in_fractions, plain, tidy
from stationary.derive.sampling import compiled, random_state, sampled, states_of, vanish, vanishes
from stationary.derive.turning import in_angular_velocities
from stationary.derive.virtual_work import (
    generalized_forces,
    linear_and_constant,
    quadratic_form,
    readable,
    virtual_work,
)
from stationary.errors import spelled
from stationary.model.layout import Layout
from stationary.model.symbols import Coordinate, Input, Parameter, Velocity, rate, t
from stationary.model.system import System, require
from stationary.model.terms import Drag

Back = Callable[[sp.Expr], sp.Expr]

#: Operations of an expression that is written into a line.
MOST_SHOWN = 150

# Relative difference of two ways to compute a force, both of them right.
_SAME = 1e-9

#: Most coupled coordinates whose minors of M are decided exactly.
MOST_MINORS = 3


@spelled
def check(system: System) -> Report:
    """Check the mass matrix of a system and find what its motion conserves.

    Everything is decided exactly where SymPy can, with parameters taken as positive, and at
    random states where it cannot; each finding says which. A statement whose equations are too
    long to be read is looked at by the numbers of its graph alone, without ``"skew"``,
    ``"equations"`` and ``"holonomic"``.

    Parameters
    ----------
    system : System

    Returns
    -------
    Report
        Findings ``"symmetric"``, ``"positive definite"``, ``"skew"`` (Ṁ − 2C), ``"gradient"``,
        ``"equations"``, ``"cyclic"``, ``"energy"``, and for constrained systems ``"redundant"``,
        ``"freedom"`` (degrees of freedom in velocity and in configuration) and ``"holonomic"``
        (which rows on velocities are conditions on coordinates, by Frobenius' theorem).

    Examples
    --------
    >>> r, phi, (m, k) = *st.coordinates("r phi"), st.parameters("m k")
    >>> planet = st.System(kinetic=m * (r.dot**2 + r**2 * phi.dot**2) / 2, potential=-k / r)
    >>> report = st.check(planet)
    >>> report.passed
    True
    >>> report["skew"].how
    'exact'
    >>> list(report["cyclic"].value)
    [phi]
    """
    require(system)
    # Dry friction and contacts are named and not written out, however many rows they have.
    losses = Dry(tuple(f for f in system.friction if not isinstance(f, Drag)), system.contacts)
    drags = tuple(f for f in system.friction if isinstance(f, Drag))
    smooth = replace(system, friction=drags, contacts=())
    try:
        whole, back = in_fractions(readable(smooth))
        eq = equations(whole)
    except TooLong:
        return Report(system.name, tuple(findings_by_numbers(smooth, losses)), exhaustive=False)
    steps: list[Callable[[], list[Finding]]] = [
        lambda: [_symmetric(eq)],
        lambda: [_held_too(eq, _positive_definite(eq))],
        lambda: [_skew(eq)],
        lambda: [_gradient(eq)],
        lambda: [_equations(eq)],
        lambda: [_cyclic(eq, whole, losses, back)],
        lambda: [_energy(eq, whole, losses, back)],
        lambda: _constraints(eq) if eq.lam else [],
    ]
    findings, exhaustive = [], eq.simplified
    for step in steps:
        with bounded() as effort:
            findings += step()
        exhaustive = exhaustive and not effort.stopped
    return Report(system.name, tuple(findings), exhaustive)


def _shown(e: sp.Expr, otherwise: str) -> str:
    """Write an expression, or what it is called if nobody would read it."""
    return otherwise if is_long((e,), MOST_SHOWN) else plain(e)


# -- the mass matrix ------------------------------------------------------------------------------


def _symmetric(eq: Equations) -> Finding:
    passed, how = vanish(eq.M - eq.M.T)
    return Finding("symmetric", passed, "M = Mᵀ" if passed else "M differs from Mᵀ", how)


def _positive_definite(eq: Equations) -> Finding:
    name = "positive definite"
    massless = [c.name for c, row in zip(eq.coordinates, eq.M.tolist()) if not any(row)]
    if massless:
        if eq.system.kinetic.is_zero:
            text = "no kinetic energy is stated: it can rest and slide, not move"
            return Finding(name, False, text, required=False)
        which = ", ".join(f"'{c}'" for c in massless)
        text = f"M is singular: no kinetic energy involves the velocity of {which}"
        return Finding(name, False, text)
    blocks = eq.M.connected_components()
    if not Layout(eq.system).kinematics.plain:
        return _sampled_eigenvalues(eq)
    if max(map(len, blocks), default=0) > MOST_MINORS:
        return _sampled_eigenvalues(eq)
    # Sylvester: a block is positive definite if all its leading minors are positive.
    zeros = []
    for b in blocks:
        minors = [tidy(eq.M.extract(b[:k], b[:k]).det()) for k in range(1, len(b) + 1)]
        signs = [_sign(minor) for minor in minors]
        if vanishes(minors[-1]):
            which = ", ".join(f"'{eq.coordinates[i]}'" for i in b)
            return Finding(name, False, f"M is singular: T does not see every motion of {which}")
        if "not positive" in signs:
            minor = _shown(minors[signs.index("not positive")], "that is not positive")
            return Finding(name, False, f"M has the leading minor {minor}, for positive parameters")
        if "unknown" in signs:
            return _sampled_eigenvalues(eq)
        # Where the last minor is positive and M the limit of positive matrices, so are the others.
        zeros += [plain(minors[-1])] if signs[-1] == "not negative" else []
    where = f", except where {' or '.join(zeros)} vanishes" if zeros else ""
    return Finding(name, True, f"M is positive definite for positive parameters{where}")


def _held_too(eq: Equations, alone: Finding) -> Finding:
    if alone or not alone.required or not eq.lam:
        return alone
    held = [R for c in eq.system.constraints for R in c.R]
    return held_too(alone, *definite_where_held(eq.M, eq.A, held, list(eq.coordinates)))


def _sign(e: sp.Expr) -> str:
    """Return the sign of an expression at all states, parameters being positive."""
    positive = {s: sp.Dummy(s.name, positive=True) for s in e.atoms(Parameter)}
    e = e.xreplace(positive)
    for form in (e, sp.factor(e)):
        if form.is_positive:
            return "positive"
        if form.is_nonpositive:
            return "not positive"
        if form.is_nonnegative:
            return "not negative"
    return "unknown"


def _sampled_eigenvalues(eq: Equations) -> Finding:
    n, lowest, seen = len(eq.coordinates), np.inf, 0
    kinematics = Layout(eq.system).kinematics
    for values in sampled([*eq.M, *eq.coordinates]):
        seen += 1
        numbers = np.array([float(v) for v in values])
        M, q = numbers[:-n].reshape(n, n), numbers[-n:]
        if not kinematics.plain:
            # Along itself a quaternion does not move.
            G = kinematics.rates(q)
            M = G.T @ M @ G
        # Scale to a unit diagonal: metres and radians share this matrix.
        size = np.sqrt(np.abs(np.diag(M)))
        scale = np.outer(size, size)
        lowest = min(lowest, np.linalg.eigvalsh(M / np.where(scale > 0, scale, 1))[0])
    passed = seen > 0 and lowest > 1e-12
    text = f"the least eigenvalue of M, scaled to a unit diagonal, is {lowest:.3g}"
    return Finding("positive definite", bool(passed), text, f"sampled at {states_of(seen)}")


def _skew(eq: Equations) -> Finding:
    M_dot = sum((eq.M.diff(c) * c.dot for c in eq.coordinates), sp.zeros(*eq.M.shape))
    N = M_dot - 2 * eq.C
    passed, how = vanish(N + N.T)
    text = "Ṁ − 2C is skew" if passed else "Ṁ − 2C is not skew"
    besides = [name for name, there in (("time", eq.M.has(t)), ("velocities", eq.M.has(Velocity)))
              if there]  # fmt: skip
    if besides:
        text += f", Ṁ along q alone; M depends on {' and '.join(besides)} too, and G carries that"
    return Finding("skew", passed, text, how)


def _gradient(eq: Equations) -> Finding:
    """Check G against U: its curl vanishes, and what it has besides ∂U/∂q is named."""
    q = eq.coordinates
    rest = dict.fromkeys(eq.velocities, sp.S.Zero)
    at_rest = [g.subs(rest) for g in eq.G]
    pairs = [(i, j) for i in range(len(q)) for j in range(i)]
    passed, how = vanish(at_rest[i].diff(q[j]) - at_rest[j].diff(q[i]) for i, j in pairs)
    extra = {c: g - eq.system.potential.diff(c) for c, g in zip(q, eq.G)}
    besides = {c: _shown(tidy(e), "more") for c, e in extra.items() if not vanishes(e)}
    more = "; ".join(f"{e} for '{c}'" for c, e in besides.items())
    text = "G = ∂U/∂q, free of curl" if passed else "G at rest is not a gradient"
    if more:
        start = "G at rest is free of curl" if passed else text
        text = f"{start}; besides ∂U/∂q it has {more}"
    # A frame that is driven in time may push around a loop: that is physics and not a mistake.
    return Finding("gradient", passed, text, how, required=not eq.system.kinetic.has(t))


def _equations(eq: Equations) -> Finding:
    """Compare the matrices, simplified on the way, with d/dt ∂L/∂q̇ − ∂L/∂q taken literally."""
    s = eq.system
    if is_long((s.kinetic, s.potential)):
        return _equations_by_numbers(eq)
    a, v = sp.Matrix(eq.accelerations), sp.Matrix(eq.velocities)
    read = eq.M * a + eq.C * v + eq.G
    literal = [rate(s.kinetic.diff(c.dot)) - (s.kinetic - s.potential).diff(c)
               for c in eq.coordinates]  # fmt: skip
    states = list(sampled([a - b for a, b in zip(read, literal)], count=5))
    passed = len(states) > 0 and not any(map(any, states))
    text = f"M q̈ + C q̇ + G {'equals' if passed else 'differs from'} d/dt ∂L/∂q̇ − ∂L/∂q"
    return Finding("equations", passed, text, f"sampled at {states_of(len(states))}")


def _equations_by_numbers(eq: Equations) -> Finding:
    """Compare the matrices with what automatic differentiation makes of the statement."""
    graph, worst = Graph(eq.system).dynamics, []
    q, v, u, p = eq.coordinates, eq.velocities, eq.system.inputs, eq.system.parameters
    symbols = [t, *q, *v, *u, *p]
    read = compiled(symbols, [*eq.M, *(eq.Q - eq.G), *eq.C], "numpy")
    random, n = np.random.default_rng(1), len(q)
    with np.errstate(all="ignore"):
        for _ in range(5):
            state = random_state(symbols, random)
            parts = np.split(np.array(state), np.cumsum([1, n, n, len(u)]))
            M, force = (np.array(x) for x in graph(*parts))
            own = np.split(np.array(read(*state), dtype=float), [n * n, n * n + n])
            turning = own[2].reshape(n, n) @ parts[2]
            pairs = ((own[0], M.ravel(), 0 * M), (own[1] - turning, force.ravel(), turning))
            worst.append(max(np.abs(a - b).max() / np.abs([*a, *b, *np.ravel(c)]).max()
                             for a, b, c in pairs))  # fmt: skip
    known = [gap for gap in worst if np.isfinite(gap)]
    passed = bool(known) and max(known) < _SAME
    text = f"M q̈ + C q̇ + G − Q {'equals' if passed else 'differs from'} what the engines compute"
    return Finding("equations", passed, text, f"sampled at {states_of(len(known))}")


# -- what is conserved ----------------------------------------------------------------------------


def _cyclic(eq: Equations, whole: System, losses: Dry, back: Back) -> Finding:
    """Name coordinates on which no energy and no force depends, and what becomes of their momenta.

    A force along such a coordinate, as that of a motor, changes its momentum and leaves it cyclic.
    """
    # Work that an input does is that of a force; the rest of it belongs to the energy.
    undriven = whole.work.xreplace(dict.fromkeys(whole.work.atoms(Input), sp.S.Zero))
    L = whole.kinetic - whole.potential
    Q = generalized_forces(eq.system)
    kept, sentences, ways = {}, [], set()
    for i, c in enumerate(eq.coordinates):
        if not any(eq.M.row(i)) or any(eq.A.col(i)) or losses.touches(c):
            continue
        absent, how = vanish(((L + undriven).diff(c), *(force.diff(c) for force in Q)))
        if not absent:
            continue
        momentum, force = tidy(whole.kinetic.diff(c.dot)), tidy(L.diff(c) + Q[i])
        rubs = losses.rubbing(c)
        pull = _shown(back(force), "of the force on it")
        changes = [] if vanishes(force) else [f"at the rate {pull}"]
        changes += [f"by friction {listed(rubs)}"] if rubs else []
        size = _shown(back(in_angular_velocities(momentum, eq.coordinates)), f"∂T/∂{c.dot}")
        ways.add(how)
        if changes:
            change = " and ".join(changes)
            sentences.append(f"'{c}' with momentum {size} that changes {change}")
        else:
            kept[c] = momentum
            sentences.append(f"'{c}' with conserved momentum {size}")
    how = next((way for way in ways if way != "exact"), "exact")
    text = "; ".join(sentences) or "no coordinate is cyclic"
    return Finding("cyclic", bool(sentences), text, how, kept, required=False)


def _energy(eq: Equations, whole: System, losses: Dry, back: Back) -> Finding:
    """Check dh/dt = −∂L/∂t + q̇·Q − λ·(A q̇), with W on the side of the energy."""
    T, v = whole.kinetic, eq.velocities
    L = T - whole.potential + whole.work
    momenta = [T.diff(u) for u in v]
    natural = False
    if eq.M.has(Velocity):
        h = tidy(sum(u * p for u, p in zip(v, momenta)) - L)
    else:
        b, T0 = linear_and_constant(T, momenta, eq.M, v)
        natural = vanish((*b, T0))[0]
        moving = quadratic_form(eq.M, v)
        h = moving + tidy(whole.potential - whole.work - T0)
    reasons, how = _reasons_for_loss(eq, whole, L, losses)
    name = ("T + U − W" if whole.work != 0 else "T + U") if natural else "q̇·∂T/∂q̇ − L"
    if natural and h == 0:
        text = "; ".join(["no energy is stated", *reasons])
        return Finding("energy", False, text, how, h, required=False)
    read = in_angular_velocities(h, eq.coordinates)
    value = "" if is_long((read,), MOST_SHOWN) else f" = {plain(back(read))}"
    text = f"{name}{value} is {'not ' if reasons else ''}conserved"
    if not natural and not reasons:
        text += ": the Jacobi integral"
    text += f": {'; '.join(reasons)}" if reasons else ""
    return Finding("energy", not reasons, text, how, h, required=False)


def _reasons_for_loss(eq: Equations, s: System, L: sp.Expr, losses: Dry) -> tuple[list[str], str]:
    q = eq.coordinates
    steady, how = vanish((L.diff(t),))
    reasons = [] if steady else ["an energy depends on time"]
    driven = sorted({u.name for e in (L,) for u in e.atoms(Input)})
    reasons += [f"an energy depends on the input '{u}'" for u in driven]
    power = {f"load '{x.name}' does work": _power(virtual_work(x, q), q) for x in s.loads}
    power |= {f"drag '{x.name}' takes energy": _power(virtual_work(x, q), q) for x in s.friction}
    power["dissipation takes energy"] = sum(s.dissipation.diff(c.dot) * c.dot for c in q)
    reasons += [text for text, p in power.items() if not vanish((sp.S(p),))[0]]
    rubs, hits = ([str(x.name) for x in kind] for kind in (losses.friction, losses.contacts))
    reasons += [f"friction {listed(rubs)} takes energy"] if rubs else []
    reasons += (
        [f"contact{'s' * (len(hits) > 1)} {listed(hits)} may take energy in impacts"]
        if hits
        else []
    )
    moved = [(c, R.diff(t) != 0 or R.has(Input)) for c in s.constraints for R in c.R]
    at_rest = {c.dot: sp.S.Zero for c in q}
    moved += [(c, e.xreplace(at_rest) != 0 or e.has(Input)) for c in s.pfaffian for e in c.expr]
    reasons += [f"constraint '{c.name}' moves" for c, moves in moved if moves]
    return reasons, how


def _power(forces: Sequence[sp.Expr], q: Sequence[Coordinate]) -> sp.Expr:
    return sp.Add(*(f * c.dot for f, c in zip(forces, q)))


def _constraints(eq: Equations) -> list[Finding]:
    """Count degrees of freedom, name redundant rows, and tell which rows can be integrated."""
    system, q = eq.system, list(eq.coordinates)
    held = [R for c in system.constraints for R in c.R]
    rows = [
        (c.name if len(c.expr) == 1 else f"{c.name}[{k}]", e)
        for c in system.pfaffian
        for k, e in enumerate(c.expr)
    ]
    names = [
        c.name if len(c.R) == 1 else f"{c.name}[{k}]"
        for c in system.constraints
        for k in range(len(c.R))
    ] + [name for name, _ in rows]
    again, seen = redundant(eq.A, held, names, q)
    decided = integrability(rows, held, q)
    integrable = [row for row in decided if row.integrable]
    free = len(q) - len(names) + len(again)
    places = len(q) - len([n for n in names[: len(held)] if n not in again]) - len(integrable)
    counted = f"{free} in velocity, {places} in configuration, for {len(q)} coordinates"
    how = "counted" if seen else "counted, as if all rows were independent"
    findings = [
        redundancy(again, seen),
        Finding("freedom", True, counted, how, (free, places), required=False),
    ]
    if rows:
        verdicts = [
            f"'{row.name}' is integrable: state it as a constraint"
            + (f", {row.integral} = constant" if row.integral is not None else "")
            for row in integrable
        ]
        verdicts += [f"'{row.name}' is not integrable" for row in decided if not row.integrable]
        text, value = "; ".join(verdicts), tuple(decided)
        findings.append(Finding("holonomic", bool(integrable), text, "exact", value, False))
    return findings
