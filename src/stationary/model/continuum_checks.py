"""What can be wrong with the statement of a continuum, and how it is said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stationary.errors import StatementError, did_you_mean
from stationary.model.checks import check_printable
from stationary.model.each import Slot
from stationary.model.fields import (
    Field,
    PointAcceleration,
    PointValue,
    Position,
    default_of,
    fields_in,
    points_in,
    symbols_in,
)
from stationary.model.symbols import Acceleration, Coordinate, Input, Parameter, Velocity, t
from stationary.model.terms import ENERGIES, text

if TYPE_CHECKING:
    from stationary.model.continuum import Continuum

#: The highest derivative by position that an energy may contain.
HIGHEST = 2


def check(continuum: Continuum) -> None:
    """Refuse a statement that contradicts itself, in the user's names."""
    check_printable([continuum.name, *(load.name or "" for load in continuum.loads)])
    _check_symbols(continuum)
    _check_fields(continuum)
    _check_energies(continuum)
    _check_loads(continuum)
    _check_points(continuum)
    _check_fixed(continuum)
    _check_held(continuum)


def _check_symbols(continuum: Continuum) -> None:
    known = (Coordinate, Velocity, Parameter, Input, Field, Position)
    everything = continuum.everything()
    names = sorted({s.name for _, e in everything for s in symbols_in(e) if isinstance(s, known)})
    defaults: dict[str, float] = {}
    for label, e in everything:
        for s in sorted(symbols_in(e), key=str):
            if isinstance(s, (Acceleration, PointAcceleration)):
                raise StatementError(
                    f"{label} contains the acceleration '{s}'.",
                    "Expected fields, coordinates, their rates, parameters, inputs and st.t.",
                    "Energies and loads depend on positions and velocities alone.",
                )
            if isinstance(s, Parameter):
                if s.default is None:
                    continue
                if defaults.setdefault(s.name, s.default) != s.default:
                    raise StatementError(
                        f"parameter '{s.name}' has two defaults.",
                        f"Found {defaults[s.name]} and {s.default}.",
                        "Declare it once, or give the two different names.",
                    )
            elif not isinstance(s, (*known, Slot)) and s != t:
                raise StatementError(
                    f"{label} uses '{s}', which is not declared.",
                    f"Declared: {', '.join(names) or 'nothing'}.{did_you_mean(str(s), names)}",
                    f"Declare it: st.parameters('{s}') or st.positions('{s}').",
                )


def _check_fields(continuum: Continuum) -> None:
    if not continuum.fields:
        raise StatementError(
            "the continuum has no field.",
            "Found none in its densities.",
            "Declare u = st.field('u', over=(X, 0, L)) and state densities of u.dot and "
            "u.diff(X); what has no field is an st.System.",
        )
    by_name: dict[str, Field] = {}
    for e in continuum.along():
        for f in sorted(fields_in(e), key=str):
            if by_name.setdefault(f.stem, f.whole) != f.whole:
                raise StatementError(
                    f"two fields have the name '{f.stem}'.",
                    f"Found intervals {by_name[f.stem].over} and {f.over}.",
                    "Rename one of them.",
                )
            if f.order > HIGHEST:
                raise StatementError(
                    f"a density contains '{f}', a derivative of order {f.order} by position.",
                    f"Expected at most order {HIGHEST}: no energy of a bar, a string or a beam "
                    "needs more.",
                    "Integrate by parts, or introduce a second field.",
                )
            if f.rate > 1:
                raise StatementError(
                    f"a density contains the acceleration '{f}'.",
                    "Expected at most first derivatives by time.",
                    "Energies and loads depend on positions and velocities alone.",
                )
    names = {s.name for _, e in continuum.everything() for s in symbols_in(e)
             if isinstance(s, (Parameter, Input))}  # fmt: skip
    names |= {c.name for c in continuum.coordinates}
    for f in continuum.fields:
        if f.name in names:
            raise StatementError(
                f"'{f.name}' names two things.",
                "Found a field and a coordinate, parameter or input of that name.",
                "Rename one of them.",
            )


def _check_energies(continuum: Continuum) -> None:
    for kind in ENERGIES:
        e = getattr(continuum, kind)
        if points_in(e):
            value = sorted(points_in(e), key=str)[0]
            raise StatementError(
                f"the density of {kind} contains '{value}', a value at a point.",
                f"Found {text(e)[:80]}; a density is integrated along its interval.",
                f"State it as a part: parts=[st.System({kind}=…)].",
            )
        moving = [s for s in symbols_in(e) if isinstance(s, Velocity) or getattr(s, "rate", 0)]
        if kind in ("potential", "work") and moving:
            raise StatementError(
                f"the density of {kind} contains the rate '{sorted(moving, key=str)[0]}'.",
                f"Found {text(e)[:80]}; expected fields, positions and st.t.",
                "Put what depends on rates into kinetic, dissipation or loads.",
            )
        controls = sorted(s.name for s in symbols_in(e) if isinstance(s, Input))
        if kind in ("kinetic", "potential") and controls:
            raise StatementError(
                f"the density of {kind} contains the input '{controls[0]}'.",
                f"Found {text(e)[:80]}; an energy cannot depend on what is decided later.",
                "Put the input into work or loads.",
            )
    for f in continuum.fields:
        if not any(g.whole == f and g.order for e in continuum.along() for g in fields_in(e)):
            raise StatementError(
                f"no density contains a derivative of '{f}' by '{f.position}'.",
                f"Found '{f}' and at most its rate: its points would not know of each other.",
                f"State an energy of {f}.diff({f.position}) or {f}.diff({f.position}, 2), or "
                "make it a coordinate.",
            )


def _check_loads(continuum: Continuum) -> None:
    for number, load in enumerate(continuum.loads, 1):
        label = f"load '{load.name or number}'"
        along = load in continuum.distributed
        over = {f.over for e in load.expressions() for f in fields_in(e)}
        mixed = along and any(points_in(e) for e in load.expressions())
        if mixed or len(over) > 1 or (not along and over):
            raise StatementError(
                f"{label} mixes what is along an interval with what is not.",
                f"Found {load}.",
                "Give Load(p, on=u) for a distributed load, Load(f, on=u.at(L)) for one at a "
                "point, each with a force of its own kind.",
            )
        for on in load.on:
            moved = [s for s in symbols_in(on) if isinstance(s, (Coordinate, Field))]
            rates = [s for s in symbols_in(on) if isinstance(s, Velocity) or getattr(s, "rate", 0)]
            if rates or not moved:
                raise StatementError(
                    f"{label} works on '{on}', which is not a displacement.",
                    f"Found {'a rate' if rates else 'no field'} in it.",
                    "Say what moves when the load does work, as in st.Load(f, on=u.at(L)).",
                )
        positions = [
            s for e in load.expressions() for s in symbols_in(e) if isinstance(s, Position)
        ]
        if positions and not along:
            raise StatementError(
                f"{label} acts at a point and depends on the position '{positions[0]}'.",
                f"Found {load}.",
                "Put the place itself in, or let it work on the field.",
            )


def _check_held(continuum: Continuum) -> None:
    """Refuse a load on what cannot move: displacement and force cannot both be prescribed."""
    held = {
        key
        for key, value in continuum.fixed
        if not any(isinstance(s, Coordinate) for s in symbols_in(value))
    }
    for number, load in enumerate(continuum.loads, 1):
        for on in load.on:
            moved = {s for s in symbols_in(on) if isinstance(s, (Coordinate, Field))}
            if moved and moved <= held:
                point = sorted(moved, key=str)[0]
                raise StatementError(
                    f"'{point}' is both fixed and loaded: the end is over-determined.",
                    f"Found {point} = {text(dict(continuum.fixed)[point])} and load "  # pyright: ignore[reportArgumentType]
                    f"'{load.name or number}', {load}, which does no work there.",
                    "Prescribe either what it does or the force on it.",
                )


def _check_points(continuum: Continuum) -> None:
    known = {f.name: f for f in continuum.fields}
    for p in continuum.points:
        f = known.get(p.stem)
        if f is None or f.over != p.over:
            raise StatementError(
                f"'{p}' is the value of a field that no density contains.",
                f"Fields: {', '.join(known)}.{did_you_mean(p.stem, known)}",
                "State densities of that field, or use the field of this continuum.",
            )
        order = continuum.orders[f]
        if p.order >= max(order, 1):
            raise StatementError(
                f"'{p}' cannot be held, loaded or joined: the end would be over-determined.",
                f"The energies of '{f}' contain derivatives up to order {order}; conditions "
                f"and parts may name those up to order {order - 1}.",
                f"What '{p}' is follows from the forces there: state a load on "
                f"'{f.at(p.place)}' instead.",
            )
        if p.side:
            raise StatementError(
                f"'{p}' is a one-sided limit.",
                "Expected values at points, which are the same from both sides.",
                f"Write {f}.at({p.place}).",
            )
        value, first, last = (default_of(e) for e in (p.place, *f.ends))
        for end, e in ((first, f.ends[0]), (last, f.ends[1])):
            if p.place != e and value is not None and value == end:
                raise StatementError(
                    f"'{p}' lies at the end {e} of '{f}' only while parameters have their "
                    "defaults.",
                    f"Found the place {text(p.place)}, which equals {e} by value and not by name.",
                    f"Write {f}.at({e}).",
                )
    places: dict[tuple[str, int, float], PointValue] = {}
    for p in continuum.points:
        value = default_of(p.place)
        if value is not None:
            other = places.setdefault((p.stem, p.order, value), p)
            if other != p:
                raise StatementError(
                    f"'{other}' and '{p}' are the same point under two names.",
                    f"Found {p.over[0]} = {value:g} for both.",
                    "Name the point in one way.",
                )


def _check_fixed(continuum: Continuum) -> None:
    given = dict(continuum.fixed)
    for key, value in continuum.fixed:
        for s in sorted(symbols_in(value), key=str):
            if isinstance(s, (Input, Velocity, Field, Position)) or getattr(s, "rate", 0):
                kind = "the input" if isinstance(s, Input) else "a quantity along the interval,"
                kind = "the rate" if isinstance(s, Velocity) else kind
                raise StatementError(
                    f"'{key}' is fixed to an expression with {kind} '{s}'.",
                    f"Found {text(value)}; expected numbers, parameters, st.t, coordinates and "
                    "values at points.",
                    "Write an imposed motion as an expression of st.t.",
                )
        seen, ahead = {key}, [value]
        while ahead:
            for p in points_in(ahead.pop()):
                if p in seen and p == key:
                    raise StatementError(
                        f"'{key}' is fixed to itself: the condition is over-determined.",
                        f"Found {key} = {text(value)}.",
                        "Tie one of two values to the other, not both to each other.",
                    )
                if p in given and p not in seen:
                    seen.add(p)
                    ahead.append(given[p])
