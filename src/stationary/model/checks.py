"""Checking a statement on construction, and bringing it into its normal form."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp
from sympy.core.function import AppliedUndef

from stationary.errors import StatementError, did_you_mean
from stationary.model.arrays import Array
from stationary.model.contents import contents
from stationary.model.drawing import as_parts
from stationary.model.each import Each, Slot
from stationary.model.fields import Field
from stationary.model.graphs import renamed, slope
from stationary.model.space.rotation import Entry, orientations
from stationary.model.symbols import (
    Acceleration,
    Coordinate,
    Input,
    Parameter,
    Velocity,
    from_dynamicsymbols,
    in_order,
    t,
)
from stationary.model.terms import (
    ENERGIES,
    TERMS,
    Constraint,
    Contact,
    Pfaffian,
    changed,
    expression,
    split_sums,
)

if TYPE_CHECKING:
    from stationary.model.system import System

#: Names given to unnamed terms: R1, R2, … for constraints.
PREFIX = {"loads": "load", "friction": "friction", "constraints": "R", "pfaffian": "A",
          "contacts": "contact"}  # fmt: skip


#: What terms of a kind, or of kinds that share their names, are called together.
_SEVERAL = {"friction": "friction terms", "pfaffian": "constraints"}


def normalized(system: System) -> dict[str, Any]:
    """Return the fields of a system in normal form, or say what is wrong with them."""
    fields: dict[str, Any] = {
        kind: expression(getattr(system, kind), f"the {kind} energy" if kind in
                         ("kinetic", "potential") else f"the {kind}")
        for kind in ENERGIES
    }  # fmt: skip
    shared: set[str] = set()
    listed = {kind: _terms(kind, getattr(system, kind), a) for kind, a in TERMS.items()}
    stated = [fields[kind] for kind in ENERGIES]
    stated += [e for terms in listed.values() for term in terms for e in term.expressions()]
    turned = {r.name for r in orientations(s for e in stated for s in contents(e).symbols)}
    for kind in TERMS:
        # Multipliers are asked for by name: constraints of all kinds share their names.
        taken = shared if kind in ("constraints", "pfaffian", "contacts") else set()
        fields[kind] = _numbered(kind, listed[kind], taken, turned)
    _refuse_shared(fields["friction"], fields["contacts"])
    given = system.coordinates
    several = isinstance(given, Iterable) and not isinstance(given, (str, bytes, Array))
    given = () if given is None else tuple(given) if several else (given,)
    _require_coordinates(given)
    fields["parts"] = as_parts(system.parts)
    named = [x for kind in TERMS for x in fields[kind]] + [*fields["parts"]]
    check_printable([system.name, *(x.name or "" for x in named)])
    change = _translation(fields, given)
    if change is not None:
        for kind in ENERGIES:
            fields[kind] = changed(fields[kind], change)
        for kind in TERMS:
            fields[kind] = tuple(x.apply(change) for x in fields[kind])
    labelled = _labelled(fields)
    symbols = {s: label for label, e in labelled for s in contents(e).symbols}
    _check_symbols(labelled, symbols)
    fields["constraints"] += _units(fields["constraints"], symbols, shared)
    fields["coordinates"] = _coordinates(given, fields, symbols)
    _check_names(fields["coordinates"], symbols)
    _check_physics(fields)
    return fields


def _terms(kind: str, value: Any, allowed: tuple[type, ...]) -> list[Any]:
    """Bring what was given for a list of terms into a list of terms."""
    if isinstance(value, sp.Add) and all(isinstance(a, Each) for a in value.args):
        value = list(value.args)
    entries = list(value) if isinstance(value, (list, tuple)) else [value]
    bare = {"constraints": Constraint, "pfaffian": Pfaffian}.get(kind)
    terms: list[Any] = []
    for entry in entries:
        if bare and isinstance(entry, Each):
            entry = bare(entry.expressions, entry.name, table=entry.table)
        elif bare and isinstance(entry, (sp.Expr, tuple)):
            entry = bare(entry)
        if not isinstance(entry, allowed):
            kinds = " or ".join(f"st.{a.__name__}(…)" for a in allowed)
            raise StatementError(
                f"{kind} has an entry that is not one.",
                f"Found {str(entry)[:60]!r}, expected {kinds}"
                + (" or an expression." if bare else "."),
                _instead(entry) or "Pass a list of such terms.",
            )
        if entry.table is None and any(contents(e).sums for e in entry.expressions()):
            raise StatementError(
                f"{kind} has an entry in which a repetition stands inside an expression.",
                f"Found {str(entry)[:60]!r}.",
                "Give st.each(…) as an entry of its own.",
            )
        terms.append(entry)
    return terms


def _instead(entry: Any) -> str:
    """Say how what SymPy and Python have for equations and lists is written here."""
    if isinstance(entry, sp.Eq):
        return f"Write what vanishes: {str(entry.lhs - entry.rhs)[:60]}."
    if isinstance(entry, (bool, sp.logic.boolalg.BooleanAtom)):
        return "Write what vanishes, as x - y: == compares symbols."
    if isinstance(entry, (sp.MatrixBase, np.ndarray)):
        return "Pass its entries, as in list(…)."
    return ""


def is_unit(term: Any) -> bool:
    """Tell whether a constraint is that of a declared orientation: systems add it themselves."""
    return isinstance(term, Constraint) and any(isinstance(e, Entry) for e in term.quaternion)


def _units(constraints: tuple, symbols: dict[sp.Symbol, str], taken: set[str]) -> tuple:
    """Return the constraints of the orientations that have none yet; add their symbols."""
    held = {entry for term in constraints if is_unit(term) for entry in term.quaternion}
    units = []
    for rotation in orientations(symbols):
        if rotation.entries[0] in held:
            continue
        if rotation.name in taken:
            raise StatementError(
                f"'{rotation.name}' names a constraint and a rotation.",
                "Expected a name of its own for each: a rotation is held by a constraint.",
                "Rename one of them.",
            )
        units.append(rotation.constraint)
        symbols.update(dict.fromkeys(rotation.entries, f"rotation '{rotation.name}'"))
    return tuple(units)


def _refuse_shared(friction: tuple[Any, ...], contacts: tuple[Any, ...]) -> None:
    """Refuse a friction with the name of a contact that rubs: forces are asked for by name."""
    both = {f.name for f in friction} & {c.name for c in contacts if c.slip}
    if both:
        raise StatementError(
            f"a friction and a contact with friction have the name '{min(both)}'.",
            "Expected a name of its own for each: their forces are asked for by name.",
            "Rename one, with name=….",
        )


def is_numbered(kind: str, term: Any) -> bool:
    """Tell whether the name of a term is one that was numbered for it, and no rotation's."""
    numbered = term.name and re.fullmatch(PREFIX[kind] + r"\d+", term.name)
    return bool(numbered) and not is_unit(term)


def _numbered(kind: str, terms: list[Any], taken: set[str], turned: set[str]) -> tuple:
    """Give every unnamed term a name, not that of a rotation, and refuse two of the same name."""
    named = []
    for number, term in enumerate(terms, 1):
        while f"{PREFIX[kind]}{number}" in turned:
            number += len(terms)
        name = term.name or f"{PREFIX[kind]}{number}"
        if name in taken:
            raise StatementError(
                f"two {_SEVERAL.get(kind, kind)} have the name '{name}'.",
                "Expected a name of its own for each.",
                "Rename one, with name=…, or leave the names out.",
            )
        taken.add(name)
        named.append(term.named(name))
    return tuple(named)


def check_printable(names: list[Any]) -> None:
    """Refuse names that a terminal would obey instead of printing them."""
    for name in names:
        if not isinstance(name, str) or not name.isprintable():
            raise StatementError(
                f"{str(name)!r} cannot be a name.",
                "Expected text that can be printed: letters, digits, signs and spaces.",
                "Choose another name, without line breaks and control characters.",
            )


def _labelled(fields: dict[str, Any]) -> list[tuple[str, sp.Expr]]:
    labelled = [(f"{k} energy" if k in ENERGIES[:2] else k, fields[k]) for k in ENERGIES]
    for kind in TERMS:
        for term in fields[kind]:
            labelled += [(f"{kind.removesuffix('s')} '{term.name}'", e) for e in term.expressions()]
    return labelled


def _translation(fields: dict[str, Any], given: tuple):
    """Return the change that turns SymPy's dynamicsymbols and plain symbols into ours, if needed.

    A statement written in dynamicsymbols follows SymPy's convention: its other symbols are
    parameters, and functions of time that occur only as forces of loads are inputs.
    """
    labelled = _labelled(fields)
    elements = [e for _, e in labelled]
    elements += [x for e in elements for r in contents(e).sums for x in r.expressions]
    functions = set().union(*(contents(e).functions for e in elements)) if elements else set()
    plain = {s for e in elements for s in contents(e).symbols if type(s) is sp.Symbol and s != t}
    swap: dict[sp.Basic, sp.Basic] = {}
    if sp.Symbol("t") in plain:
        swap[sp.Symbol("t")] = t
    if not functions and not swap:
        return _merging(elements, given)
    if functions:
        forces = {f for x in fields["loads"] for e in x.force for f in contents(e).functions}
        elsewhere = [e for x in fields["loads"] for e in x.on] + [
            e for label, e in labelled if not label.startswith("load ")
        ]
        other = set().union(*(contents(e).functions for e in elsewhere)) if elsewhere else set()
        moved = {d.expr for e in elements for d in e.atoms(sp.Derivative)}
        listed = {str(getattr(c, "func", c)) for c in given}
        controls = frozenset(
            str(f.func) for f in forces - other - moved if str(f.func) not in listed
        )
        swap |= {s: Parameter(s.name) for s in plain if s.name != "t"}
        return lambda e: from_dynamicsymbols(e, controls).xreplace(swap)
    return lambda e: renamed(e, swap)


def _merging(elements: list[sp.Expr], given: tuple):
    """Return the change that makes what has one name one symbol, if needed.

    A parameter takes the default that it has anywhere, a coordinate the place that a declaration
    gave it.
    """
    by_name: dict[str, set[Parameter]] = {}
    moving: dict[str, set[Coordinate]] = {c.name: {c} for c in given if isinstance(c, Coordinate)}
    for e in elements:
        for s in contents(e).symbols:
            if isinstance(s, Parameter):
                by_name.setdefault(s.name, set()).add(s)
            elif isinstance(s, (Coordinate, Velocity)):
                s = s.of if isinstance(s, Velocity) else s
                moving.setdefault(s.name, set()).add(s)
    swap: dict[sp.Basic, sp.Basic] = {}
    declared = set(given)
    for name, several in moving.items():
        if len({isinstance(c, Entry) for c in several}) > 1:
            raise StatementError(
                f"'{name}' names two things.",
                f"Found a coordinate and an entry of the rotation '{name[:-2]}'.",
                "Rename one of them.",
            )
        listed = [c for c in several if c in declared]
        one = listed[0] if listed else max(several, key=lambda c: c.after or ("", 0))
        swap |= {c: one for c in several} | {c.dot: one.dot for c in several}
    swap = {old: new for old, new in swap.items() if old != new}
    for name, several in by_name.items():
        defaults = {p.default for p in several if p.default is not None}
        if len(defaults) > 1:
            raise StatementError(
                f"parameter '{name}' has two defaults.",
                f"Found {' and '.join(map(str, sorted(defaults)))}.",
                "Declare it once, or give the two different names.",
            )
        if len(several) > 1:
            swap |= {p: Parameter(name, defaults.pop()) for p in several if p.default is None}
    return (lambda e: renamed(e, swap)) if swap else None


def _check_symbols(labelled: list[tuple[str, sp.Expr]], symbols: dict) -> None:
    known = (Coordinate, Velocity, Parameter, Input, Slot)
    names = sorted(
        {s.name.removesuffix(".dot") for s in symbols if isinstance(s, known)} | _arrays(labelled)
    )
    for symbol, label in sorted(symbols.items(), key=lambda pair: str(pair[0])):
        if isinstance(symbol, Acceleration):
            raise StatementError(
                f"the {label} contains the acceleration '{symbol}'.",
                "Expected coordinates, velocities, parameters, inputs and st.t.",
                "Energies and loads depend on positions and velocities alone.",
            )
        if isinstance(symbol, Field):
            raise StatementError(
                f"the {label} contains the field '{symbol}'.",
                f"Found what has a value everywhere along {symbol.over[0]}, and no single one.",
                "State a density of it in an st.Continuum, or take it at a point, as in "
                f"{symbol.stem}.at({symbol.over[2]}).",
            )
        if isinstance(symbol, known) or symbol == t:
            continue
        if str(symbol) in names:
            raise StatementError(
                f"{label} uses a symbol '{symbol}' that is not the one declared by this name.",
                f"Found a {type(symbol).__name__} of SymPy; Python's == tells the two apart.",
                "Use what st.coordinates, st.parameters or st.inputs returned.",
            )
        raise StatementError(
            f"{label} uses '{symbol}', which is not declared.",
            f"Declared: {', '.join(names) or 'nothing'}.{did_you_mean(str(symbol), names)}",
            f"Declare it: st.parameters('{symbol}') or st.coordinates('{symbol}').",
        )


def _require_coordinates(given: tuple) -> None:
    """Refuse what is listed and is no coordinate, array of them or function of time."""
    for c in given:
        if not isinstance(c, (Coordinate, Array, AppliedUndef)):
            raise StatementError(
                f"'{str(c)[:60]}' is listed among the coordinates and is not one.",
                "Expected symbols made by st.coordinates.",
                "Leave coordinates out to have them found.",
            )


def _arrays(labelled: list[tuple[str, sp.Expr]]) -> set[str]:
    return {a.name for _, e in labelled for r in contents(e).sums for a in r.table.arrays}


def _coordinates(given: tuple, fields: dict[str, Any], symbols: dict) -> tuple:
    """Return the coordinates in order: as given, or as their names and declarations say."""
    tables = [r.table for k in ENERGIES for r in contents(fields[k]).sums]
    tables += [x.table for k in TERMS for x in fields[k] if x.table is not None]
    whole = {a.name: a for table in tables for a in table.arrays}
    occurring: dict[str, Any] = {}
    for s in symbols:
        s = s.of if isinstance(s, Velocity) else s
        if isinstance(s, Coordinate) and s.name.partition("[")[0] not in whole:
            occurring[s.name] = s
    occurring |= whole
    if not given:
        return in_order(occurring.values())
    listed: dict[str, Any] = {}
    for c in given:
        if isinstance(c, AppliedUndef):
            c = from_dynamicsymbols(c)
        listed[c.name] = c.whole if isinstance(c, Array) else c
    # An array that is listed, or that a repetition runs over, takes its entries in.
    arrays = {name for name, c in {**listed, **whole}.items() if isinstance(c, Array)}
    listed = {
        name: whole.get(name, c)
        for name, c in listed.items()
        if name in arrays or name.partition("[")[0] not in arrays
    }
    stems = {name.partition("[")[0] for name in listed}
    missing = [n for n in occurring if n not in listed and n.partition("[")[0] not in stems]
    if missing:
        raise StatementError(
            f"coordinates leaves out '{missing[0]}', which the energies or terms use.",
            f"Listed: {', '.join(listed)}.{did_you_mean(missing[0], listed)}",
            "Add it, or leave coordinates out to have them found.",
        )
    return tuple(listed.values())


def _check_names(coordinates: tuple, symbols: dict) -> None:
    """Refuse one name for two things: results are asked for by name."""
    owners: dict[str, str] = {c.name: "coordinate" for c in coordinates}
    named = [(s.name, {Parameter: "parameter", Input: "input"}.get(type(s))) for s in symbols]
    named += [(r.name, "rotation") for r in orientations(symbols)]
    for name, kind in named:
        if kind and owners.setdefault(name, kind) != kind:
            raise StatementError(
                f"'{name}' names two things.",
                f"Found {_a(owners[name])} and {_a(kind)} of that name.",
                "Rename one of them.",
            )


def _a(kind: str) -> str:
    return f"an {kind}" if kind == "input" else f"a {kind}"


def _check_physics(fields: dict[str, Any]) -> None:
    for kind in ("kinetic", "potential"):
        for e in [fields[kind], *_rows(fields[kind])]:
            controls = sorted(s.name for s in contents(e).symbols if isinstance(s, Input))
            if controls:
                raise StatementError(
                    f"the {kind} energy contains the input '{controls[0]}'.",
                    f"Found {str(e)[:80]}; an energy cannot depend on what is decided later.",
                    "Put the input into work or loads.",
                )
    for kind in ("potential", "work"):
        for e in [fields[kind], *_rows(fields[kind])]:
            moving = _velocities(e)
            if moving:
                raise StatementError(
                    f"the {kind}{' energy' if kind == 'potential' else ''} contains the "
                    f"velocity '{moving[0]}'.",
                    f"Found {str(e)[:80]}; expected an expression of coordinates and st.t.",
                    "Put what depends on velocities into kinetic, dissipation or loads.",
                )
    for kind in ENERGIES:
        split_sums(fields[kind], f"the {kind}")
    D = fields["dissipation"]
    if D != 0 and not any(map(_velocities, [D, *_rows(D)])):
        raise StatementError(
            "the dissipation contains no velocity.",
            f"Found {str(D)[:80]}; the force is −∂D/∂q̇, and nothing resists.",
            "Write it in velocities, as in dissipation=b*x.dot**2/2.",
        )
    for load in fields["loads"]:
        for on in load.on:
            if _velocities(on) or not _positions(on):
                inside = "a velocity" if _velocities(on) else "no coordinate"
                raise StatementError(
                    f"load '{load.name}' works on '{on}', which is not an expression of the "
                    "coordinates.",
                    f"Found {inside} in it; expected a position or an angle, as in "
                    "st.Load(F, on=x + l*st.sin(theta)).",
                    "Say what moves when the load does work.",
                )
    for constraint in fields["constraints"]:
        for R in constraint.R:
            _check_constraint(constraint, R)
    for row in fields["pfaffian"]:
        for e in row.expr:
            _check_pfaffian(row, e)
    for rub in fields["friction"]:
        for e in rub.on:
            _refuse_inputs(f"what friction '{rub.name}' acts on", e, str(e))
            if rates := _velocities(e):
                raise StatementError(
                    f"friction '{rub.name}' acts on '{e}', which is not a place.",
                    f"Found the velocity '{rates[0]}' in it; friction acts against the rate of "
                    "what it is given.",
                    "Give what slips, whose rate is the speed of the slip, as in "
                    "st.Friction(limit, on=x).",
                )
    for contact in fields["contacts"]:
        for e in (contact.gap, *(contact.slip or ())):
            _refuse_inputs(f"contact '{contact.name}'", e, str(e))
        _check_gap(contact)


def _rows(e: sp.Expr) -> list[sp.Expr]:
    """Return what an energy repeats over rows."""
    return [x for r in contents(e).sums for x in r.expressions]


def _check_gap(contact: Contact) -> None:
    """Refuse a gap that no coordinate opens, a slip that none moves, and velocities in either."""
    for e in contact.slip or ():
        rates = _velocities(e)
        if rates or not _positions(e):
            inside = f"the velocity '{rates[0]}'" if rates else "no coordinate"
            raise StatementError(
                f"the slip of contact '{contact.name}' is not a place along which it slips.",
                f"Found {inside} in {e}.",
                "Give the coordinate whose rate is the speed of the slip, as in slip=x.",
            )
    moving = _velocities(contact.gap)
    if moving or not _positions(contact.gap):
        inside = f"the velocity '{moving[0]}'" if moving else "no coordinate"
        raise StatementError(
            f"the gap of contact '{contact.name}' is not an expression of the coordinates.",
            f"Found {inside} in {contact.gap}.",
            "Say how far what may touch is apart, as in st.Contact(y, …).",
        )


def _refuse_inputs(what: str, e: sp.Expr, written: str = "") -> None:
    controls = sorted(s.name for s in contents(e).symbols if isinstance(s, Input))
    if controls:
        raise StatementError(
            f"{what} contains the input '{controls[0]}'.",
            f"Found {written or f'{e} = 0'}; its rate would need the rate of the input.",
            "Write the imposed motion as an expression of st.t instead.",
        )


def _check_constraint(constraint: Constraint, R: sp.Expr) -> None:
    _refuse_inputs(f"constraint '{constraint.name}'", R)
    if _velocities(R):
        raise StatementError(
            f"constraint '{constraint.name}' depends on the velocity '{_velocities(R)[0]}'.",
            "Expected R(q, t) = 0.",
            "State it under pfaffian=[…] if it is linear in the velocities.",
        )
    if not _positions(R):
        truth = "always true" if R.is_zero else "never true" if R.is_number else "free of them"
        raise StatementError(
            f"constraint '{constraint.name}' contains no coordinate.",
            f"Found {R} = 0, which is {truth}.",
            "Remove it, or write it in terms of the coordinates.",
        )


def _check_pfaffian(row: Pfaffian, e: sp.Expr) -> None:
    _refuse_inputs(f"Pfaffian constraint '{row.name}'", e)
    moving = _velocities(e)
    if not moving:
        raise StatementError(
            f"Pfaffian constraint '{row.name}' contains no velocity.",
            f"Found {e} = 0, expected A(q)·q̇ + b(q, t) = 0.",
            "State it under constraints=[…] if it restricts the coordinates.",
        )
    factors = (slope(e, v) for v in moving)
    if any(slope(factor, w) != 0 for factor in factors for w in _velocities(factor)):
        raise StatementError(
            f"Pfaffian constraint '{row.name}' is not linear in the velocities.",
            f"Found {e} = 0, expected A(q)·q̇ + b(q, t) = 0.",
            "Solve it for a linear condition first.",
        )


def _velocities(e: sp.Expr) -> list[sp.Symbol]:
    return sorted(
        (
            s
            for s in contents(e).symbols
            if isinstance(s, Velocity) or (isinstance(s, Slot) and s.name.endswith(".dot"))
        ),
        key=str,
    )


def _positions(e: sp.Expr) -> list[sp.Symbol]:
    return [
        s
        for s in contents(e).symbols
        if isinstance(s, Coordinate) or (isinstance(s, Slot) and "[i" in s.name)
    ]
