"""Rest to read: I = U − W − λR made stationary, its variation grouped by kinds of force."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import sympy as sp

from stationary.derive.readable import (
    Explanation,
    Term,
    Written,
    aligned,
    block,
    column,
    in_fractions,
    plain,
    slope,
    terms,
    tidy,
    title,
    write_sum,
)
from stationary.derive.virtual_work import (
    Multiplier,
    linear_and_constant,
    readable,
    refuse,
    virtual_work,
)
from stationary.errors import spelled
from stationary.model.symbols import Coordinate, Velocity, t
from stationary.model.system import System
from stationary.model.terms import Friction, Load

#: The kinds of force that balance at rest, in the order of writing, and what each is called.
KINDS = {
    "potential": "potential forces (gravity, springs)",
    "centrifugal": "centrifugal forces",
    "external": "external forces",
    "constraint": "constraint forces",
    "contact": "contact forces",
}

#: A heading and the paragraphs below it; a step without paragraphs is left out.
Step = tuple[str, list[str]]


@spelled
@dataclass(frozen=True, repr=False)
class Variation:
    """The variational principle of statics for one system: δI ≡ 0, to read.

    Attributes
    ----------
    system : System
        What it was derived from, repetitions written out.
    coordinates : tuple of Coordinate
    internal : expression
        I = U − W − λR. Loads of constant force are part of W; kinetic energy that is left at rest,
        as on a turntable, is subtracted.
    terms : dict of str to Matrix, n × 1
        The forces that balance: "potential" −∂U/∂q, "external" of W and the loads, "constraint"
        λ ∂R/∂q, and, where there are any, "centrifugal" and "contact". They sum to zero at rest.
    lam, mu : tuple of Multiplier
        Of the constraints and of the contacts, named after them.
    followers : tuple of Load
        Loads whose force changes with the configuration: they work, but are no term of I.
    """

    system: System
    coordinates: tuple[Coordinate, ...]
    internal: sp.Expr
    terms: dict[str, sp.ImmutableMatrix]
    lam: tuple[Multiplier, ...]
    mu: tuple[Multiplier, ...]
    followers: tuple[Load, ...]

    @cached_property
    def equations(self) -> tuple[Any, ...]:
        """∂I/∂q = 0 of every coordinate, then R = 0; of contacts gap ≥ 0, μ ≥ 0 and μ gap = 0."""
        zero = sp.S.Zero
        rows = zip(*self.terms.values())
        equations: list[Any] = [sp.Eq(-sp.Add(*row), zero, evaluate=False) for row in rows]
        equations += [sp.Eq(R, zero, evaluate=False) for R in _held(self.system)]
        for mu, contact in zip(self.mu, self.system.contacts):
            equations += [sp.Ge(contact.gap, zero), sp.Ge(mu, zero)]
            equations.append(sp.Eq(mu * contact.gap, zero, evaluate=False))
        return tuple(equations)

    def _row(self, i: int, write: Callable[[Any], str] = sp.latex) -> str:
        """Write ∂I/∂q of one coordinate, in the order of thought."""
        shown: list[Term] = []
        for forces in self.terms.values():
            pull = forces[i]
            held = [
                (s, *pull.coeff(s).as_coeff_Mul()) for s in (*self.lam, *self.mu) if pull.has(s)
            ]
            shown += [(-number * s, _in_brackets(rest, write)) for s, number, rest in held]
            shown += [] if held else terms(-pull)
        return write_sum(shown, write)

    def __str__(self) -> str:
        lines = ["Statics" + (f" of {self.system.name}" if self.system.name else "")]
        lines.append(f"  I = {_Blackboard(self).written({}, plain)}")
        lines += [f"  and the virtual work {load}" for load in self.followers]
        width = max((len(q.name) for q in self.coordinates), default=0) + 1
        for i, q in enumerate(self.coordinates):
            lines.append(f"  {q.name + ':':<{width}} {self._row(i, plain)} = 0")
        if conditions := (*self.system.constraints, *self.system.contacts):
            lines += ["under", *(f"  {term}" for term in conditions)]
        return "\n".join(lines)

    __repr__ = __str__

    def latex(self) -> str:
        """Return the equations, one row per coordinate and condition, as aligned LaTeX."""
        rows = [f"{self._row(i)} &= 0" for i in range(len(self.coordinates))]
        rows += [f"{sp.latex(R)} &= 0" for R in _held(self.system)]
        for mu, contact in zip(self.mu, self.system.contacts):
            gap, push = sp.latex(contact.gap), sp.latex(mu)
            both = write_sum([(mu, _in_brackets(contact.gap, sp.latex))])
            rows.append(rf"{gap} &\geq 0,\quad {push} \geq 0,\quad {both} = 0")
        return aligned(rows)

    def _repr_latex_(self) -> str:
        return f"$${self.latex()}$$"

    def explain(self) -> Explanation:
        r"""Return the steps from I to the balance of forces, as Markdown with LaTeX.

        Examples
        --------
        >>> from stationary.derive.variation import variation
        >>> theta, (m, g, l, tau) = st.coordinates("theta"), st.parameters("m g l tau")
        >>> pendulum = st.System(potential=m * g * l * (1 - st.cos(theta)), work=tau * theta)
        >>> print(variation(pendulum).explain().splitlines()[-1])
        $$\underbrace{\left[\begin{matrix}- g l m \sin{\left(\theta \right)}\end{matrix}\right]}_{\text{potential forces (gravity, springs)}} + \underbrace{\left[\begin{matrix}\tau\end{matrix}\right]}_{\text{external forces}} = 0$$
        """  # noqa: E501
        board = _Blackboard(self)
        lines = [
            title("Statics", self.system.name),
            f"Coordinates: $q = ({', '.join(map(sp.latex, self.coordinates))})$.",
        ]
        steps = (board.energies(), board.varied(), board.collected(), board.balance(), board.sum())
        return Explanation.of(lines, steps)


def variation(system: System) -> Variation:
    """Derive the balance of forces at rest from δ(U − W − λR) ≡ 0, exactly, to be read.

    Parameters
    ----------
    system : System
        Repetitions (`each`) are written out if it has at most 40 coordinates.

    Returns
    -------
    Variation

    Raises
    ------
    DerivationError
        For dry friction and constraints on velocities, which leave a range of states at rest.

    Examples
    --------
    >>> from stationary.derive.variation import variation
    >>> x, y, (m, g, l, f) = *st.coordinates("x y"), st.parameters("m g l f")
    >>> rod = st.Constraint(st.sqrt(x**2 + (y - l) ** 2) - l, name="rod")
    >>> print(variation(st.System(potential=m * g * y, work=f * x, constraints=[rod])))
    Statics
      I = g*m*y - f*x - lambda_rod*(-l + sqrt(x**2 + (-l + y)**2))
      x: -f - lambda_rod*x/sqrt(x**2 + (-l + y)**2) = 0
      y: g*m - lambda_rod*(-l + y)/sqrt(x**2 + (-l + y)**2) = 0
    under
      rod: -l + sqrt(x**2 + (-l + y)**2) = 0
    """
    stated = readable(system)
    _refuse_indeterminate(stated)
    exact, back = in_fractions(stated)
    q: tuple[Coordinate, ...] = exact.coordinates
    lam, mu = _multipliers(exact)
    T0, left = _inertia_at_rest(exact)
    held = list(zip(lam, _held(exact)))
    pushed = [(s, contact.gap) for s, contact in zip(mu, exact.contacts)]
    forces = {
        "potential": [-exact.potential.diff(c) for c in q],
        "centrifugal": left,
        "external": _external(exact),
        "constraint": [sum(s * R.diff(c) for s, R in held) for c in q],
        "contact": [sum(s * gap.diff(c) for s, gap in pushed) for c in q],
    }
    tidied = {kind: [_tidy_by(e, (*lam, *mu)) for e in row] for kind, row in forces.items()}
    always = ("potential", "external", "constraint")
    energies = (exact.potential, -_work(exact), -T0, *(-s * e for s, e in (*held, *pushed)))
    return Variation(
        system=stated,
        coordinates=q,
        internal=sp.Add(*map(back, energies)),
        terms={
            kind: column(back(e) for e in row)
            for kind, row in tidied.items()
            if kind in always or any(e != 0 for e in row)
        },
        lam=lam,
        mu=mu,
        followers=tuple(load for load in stated.loads if not _is_dead(load)),
    )


# -- the parts of I -----------------------------------------------------------------------------


def _refuse_indeterminate(system: System) -> None:
    for term in (*system.pfaffian, *(f for f in system.friction if isinstance(f, Friction))):
        refuse(
            f"'{term.name}' has no place in the principle of statics.",
            f"Found {str(term).removeprefix(f'{term.name}: ')}; it leaves a whole range of states "
            "at rest.",
            "State the system without it, or as a constraint.",
        )


def _is_dead(load: Load) -> bool:
    """Tell whether a load keeps its force wherever the system goes."""
    moving = (Coordinate, Velocity)
    return not any(isinstance(s, moving) for f in load.force for s in sp.S(f).free_symbols)


def _work(system: System) -> sp.Expr:
    """Return W and the work of the loads that are dead."""
    dead = (load for load in system.loads if _is_dead(load))
    return system.work + sp.Add(*(f * on for load in dead for f, on in zip(load.force, load.on)))


def _inertia_at_rest(system: System) -> tuple[sp.Expr, list[sp.Expr]]:
    """Return T₀, the kinetic energy at rest, and the forces that inertia has at rest."""
    q, T = system.coordinates, system.kinetic
    if T == 0:
        return sp.S.Zero, [sp.S.Zero for _ in q]
    v = [c.dot for c in q]
    momenta = [T.diff(u) for u in v]
    M = sp.Matrix(len(v), len(v), lambda i, j: momenta[i].diff(v[j]))
    b, T0 = linear_and_constant(T, momenta, M, v)
    return T0, [T0.diff(c) - p.diff(t) for c, p in zip(q, b)]


def _external(system: System) -> list[sp.Expr]:
    """Return the generalized forces of W, the loads and what drags, all at rest."""
    q = system.coordinates
    rest = {c.dot: sp.S.Zero for c in q}
    total = [system.work.diff(c) - system.dissipation.diff(c.dot).subs(rest) for c in q]
    for load in system.loads:
        total = [a + b.subs(rest) for a, b in zip(total, virtual_work(load, q))]
    return total


def _held(system: System) -> list[sp.Expr]:
    """Return every R, one expression at a time."""
    return [R for c in system.constraints for R in c.R]


def _multipliers(system: System) -> tuple[tuple[Multiplier, ...], tuple[Multiplier, ...]]:
    """Return the multipliers of constraints and of contacts, each named after its own."""
    lam = []
    for c in system.constraints:
        places = [f"[{k}]" for k in range(len(c.R))] if len(c.R) > 1 else [""]
        lam += [Multiplier("lambda_" + "_".join(c.name.split()) + place) for place in places]
    mu = [Multiplier("lambda_" + "_".join(c.name.split())) for c in system.contacts]
    twice = [s for s in (*lam, *mu) if (*lam, *mu).count(s) > 1]
    if twice:
        name = str(twice[0]).removeprefix("lambda_").replace("_", " ")
        refuse(
            f"two constraints have the name '{name}'.",
            f"Found '{twice[0]}' for two multipliers; each is named after its constraint.",
            "Rename one of them, with name=….",
        )
    return tuple(lam), tuple(mu)


def _tidy_by(e: Any, numbers: Sequence[sp.Symbol]) -> sp.Expr:
    """Tidy a force multiplier by multiplier: each keeps its own factor."""
    e = sp.S(e)
    parts = [(tidy(e.coeff(s)), s) for s in numbers if e.has(s)]
    return sp.Add(*(c * s for c, s in parts)) if parts else tidy(e)


# -- the blackboard -------------------------------------------------------------------------------


def _in_brackets(e: sp.Expr, write: Callable[[Any], str]) -> sp.Expr:
    """Return a symbol that writes a sum in brackets; what is no sum needs none."""
    if not e.is_Add:
        return e
    text = write(e)
    return Written(f"({text})" if write is plain else rf"\left({text}\right)")


def _varied(c: Any) -> sp.Symbol:
    """Write δc."""
    inside = sp.latex(c)
    return Written(rf"\,\delta {inside}" if c.is_Symbol else rf"\,\delta\left({inside}\right)")


class _Blackboard:
    """The steps of the slides, each a heading and its lines."""

    def __init__(self, of: Variation):
        self.of, self.q, self.stated = of, of.coordinates, of.system
        self.exact, self.back = in_fractions(of.system)

    def _letters(self) -> list[tuple[str, sp.Expr, int]]:
        """Return the letters of I = U − W − T₀ with what they stand for and their signs."""
        energies = (
            ("U", self.exact.potential, 1),
            ("W", _work(self.exact), -1),
            ("T_0", _inertia_at_rest(self.exact)[0], -1),
        )
        return [(name, self._short(e), sign) for name, e, sign in energies if e != 0]

    def _short(self, e: sp.Expr) -> sp.Expr:
        """Leave an energy as it was stated unless it can be written much shorter."""
        short = tidy(e)
        return self.back(short if short.count_ops() < e.count_ops() else e)

    def _held(self) -> list[tuple[sp.Symbol, str, sp.Expr]]:
        """Return multipliers, the letters of what they hold, and what that is."""
        gaps = [c.gap for c in self.stated.contacts]
        held_by = []
        groups = (("R", self.of.lam, _held(self.stated)), ("h", self.of.mu, gaps))
        for letter, numbers, held in groups:
            for k, (s, e) in enumerate(zip(numbers, held), 1):
                held_by.append((s, f"{letter}_{{{k}}}" if len(held) > 1 else letter, e))
        return held_by

    def energies(self) -> Step:
        rows = [f"{name} &= {sp.latex(e)}" for name, e, _ in self._letters()]
        for s, letter, e in self._held():
            relation = "=" if s in self.of.lam else r"\geq"
            rows.append(f"{letter} &= {sp.latex(e)} {relation} 0")
        body = [block(*rows)] if rows else []
        body.append(block(f"I &= {self._law()}", f"&= {self.written({})}"))
        for load in self.of.followers:
            shown = write_sum(zip(load.force, map(_varied, load.on)))
            body.append(
                "The force of a load changes with the configuration: it is no term of I, and its "
                "virtual work stands beside δI."
            )
            body.append(block(rf"\delta W_{{\mathrm{{load}}}} &= {shown}"))
        return "Internal energy", body

    def _law(self) -> str:
        shown: list[Term] = [(sp.Integer(sign), Written(name)) for name, _, sign in self._letters()]
        return write_sum([*shown, *((-s, Written(letter)) for s, letter, _ in self._held())])

    def written(self, moved: dict[Any, Any], write: Callable[[Any], str] = sp.latex) -> str:
        """Write I with its coordinates replaced."""
        shown: list[Term] = []
        for _, e, sign in self._letters():
            e = e.xreplace(moved)
            shown += terms(e) if sign > 0 else [(-sp.S.One, _in_brackets(e, write))]
        for s, _, e in self._held():
            shown.append((-s, _in_brackets(e.xreplace(moved), write)))
        return write_sum(shown, write)

    def varied(self) -> Step:
        moved = {c: Written(rf"\left({sp.latex(c)} + \delta {sp.latex(c)}\right)") for c in self.q}
        text = self.written(moved)
        for symbol in moved.values():
            bare = symbol.name.removeprefix(r"\left(").removesuffix(r"\right)")
            # A function brings brackets of its own, and a term of a sum needs none.
            text = text.replace(rf"\left({symbol.name} \right)", symbol.name)
            text = re.sub(
                rf"\+ {re.escape(symbol.name)}(?=\\right| [+-]|$)", lambda _, b=bare: f"+ {b}", text
            )
        return "Every coordinate moves a little", [block(rf"I + \delta I &= {text}")]

    def collected(self) -> Step:
        rows = []
        for name, e, _ in self._letters():
            parts = [(self._slope(e, c), _varied(c)) for c in self.q]
            rows.append(rf"\delta {name} &= {write_sum(parts)}")
        names: dict[tuple[sp.Symbol, Coordinate], sp.Symbol] = {}
        for s, letter, e in self._held():
            for c in (c for c in self.q if c in e.free_symbols):
                stem, _, index = letter.rstrip("}").partition("_{")
                names[s, c] = Written(f"{stem}_{{{index + ', ' if index else ''}{sp.latex(c)}}}")
            mine = {c: w for (other, c), w in names.items() if other == s}
            rows.append(
                rf"\delta {letter} &= {write_sum((w, _varied(c)) for c, w in mine.items())}"
            )
            rows += [
                f"{w.name} &= {slope(letter, c)} = {sp.latex(self._slope(e, c))}"
                for c, w in mine.items()
            ]
        law = " + ".join(
            rf"\left({text}\right) \delta {sp.latex(c)}"
            for i, c in enumerate(self.q)
            if (text := self._by_name(i, names)) != "0"
        )
        every = r",\ ".join(rf"\delta {sp.latex(c)}" for c in self.q)
        left = r"\delta I - \delta W_{\mathrm{load}}" if self.of.followers else r"\delta I"
        shown = block(rf"{left} &= {law or 0} \equiv 0 \quad \forall\, {every}")
        return "The variation, collected", [*([block(*rows)] if rows else []), shown]

    def _by_name(self, i: int, names: dict[tuple[sp.Symbol, Coordinate], sp.Symbol]) -> str:
        """Write ∂I/∂q of one coordinate with the slopes of R by their names."""
        shown: list[Term] = []
        for kind, forces in self.of.terms.items():
            if kind not in ("constraint", "contact"):
                shown += terms(-forces[i])
        shown += [(-s, w) for (s, c), w in names.items() if c == self.q[i]]
        return write_sum(shown)

    def _slope(self, e: sp.Expr, c: Coordinate) -> sp.Expr:
        exact = sp.nsimplify(e, rational=True) if e.has(sp.Float) else e
        return self.back(tidy(exact.diff(c)))

    def balance(self) -> Step:
        return "The equations of balance", [self.of._repr_latex_()]

    def sum(self) -> Step:
        parts = []
        for kind, forces in self.of.terms.items():
            if forces.is_zero_matrix:
                continue
            text = sp.latex(forces)
            if kind in ("constraint", "contact"):
                numbers = self.of.lam if kind == "constraint" else self.of.mu
                text = " + ".join(
                    rf"{sp.latex(s)} {sp.latex(forces.applyfunc(lambda e, s=s: e.coeff(s)))}"
                    for s in numbers
                )
            parts.append(rf"\underbrace{{{text}}}_{{\text{{{KINDS[kind]}}}}}")
        return "The same as forces", [block(f"{' + '.join(parts)} = 0")] if parts else []
