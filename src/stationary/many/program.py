"""The program of one trajectory as text, for a compiler of C or of CUDA: steps, events, reductions.

One thread follows one motion. What is the same in all runs is written into the text as numbers, so
that the compiler folds it; states that nothing depends on are left out where nobody asks for them.
Inside a step, crossings and extremes are located by taking a part of that step again, so that they
are as exact as the steps themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from stationary.lower.inputs import SLOTS
from stationary.many.keep import End, First, Mean, Most, Values
from stationary.many.motions import Motions, expressions
from stationary.many.text import Reduction, Sizes, text

#: What a trajectory says of its end.
DONE, EVENT, LOST, LONG = range(4)


@dataclass(frozen=True, eq=False)
class Program:
    """The text, and how its arrays are read.

    Attributes
    ----------
    text : str
    states : ndarray of int
        Which entries of y it integrates; sums for means come after them.
    varied : ndarray of int
        Which entries of p it takes.
    means, outputs : int
    columns : dict
        For everything kept the first of its outputs.
    """

    text: str
    states: np.ndarray
    varied: np.ndarray
    means: int
    outputs: int
    columns: dict[str, int]
    single: bool

    @property
    def kind(self) -> type:
        """The type of its numbers."""
        return np.float32 if self.single else np.float64


def program(motions: Motions, *, fixed: bool, single: bool = False) -> Program:
    """Write the program of a sweep, with steps of a fixed length or adaptive ones."""
    kernel, question = motions.kernel, motions.question
    t, y, p = kernel.arguments
    slots = _sampled(motions)
    varied = np.unique(
        np.concatenate(
            [np.ravel(places) for where, places in motions.places.values() if where == "p"]
            + [[len(motions.values) - 1] if kernel.rows else []]
            + [np.arange(slot, slot + SLOTS["samples"]) for slot in slots]
        ).astype(int)
    )
    symbols = ca.SX.sym("pv", len(varied))  # pyright: ignore[reportArgumentType]
    values = ca.SX(motions.values)
    for k, place in enumerate(varied):
        values[int(place)] = symbols[k]

    kept, means, watched, columns, outputs = [], [], [], {}, 0
    reductions: list[Reduction] = []
    for name, keep in question.keeps.items():
        assert isinstance(keep, (End, First, Most, Mean, Values))
        columns[name] = outputs
        lowered = [motions.lowered(e) for e in expressions(keep.what)]
        if isinstance(keep, End):
            reductions.append(Reduction("end", outputs, len(kept), len(lowered)))
            kept += lowered
        elif isinstance(keep, Values):
            for k, at in enumerate(keep.at):
                place = outputs + k * len(lowered)
                reductions.append(Reduction("value", place, len(kept), len(lowered), at=at))
            kept += lowered
            outputs += (len(keep.at) - 1) * len(lowered)
        elif isinstance(keep, Mean):
            reductions.append(Reduction("mean", outputs, len(means), 1))
            means += lowered
        elif isinstance(keep, First):
            reductions.append(Reduction("first", outputs, len(watched), 1, sign=keep.direction))
            watched += lowered
        else:
            reductions.append(Reduction("most", outputs, len(watched), 1, sign=keep.sign))
            watched += lowered
        outputs += len(lowered)
    changes: list[list[tuple[int, int]]] = []
    jumps: list[Any] = []
    for event in motions.events:
        changed = [] if event.terminal else motions.jumps(event)
        changes.append([(place, len(jumps) + k) for k, (place, _) in enumerate(changed)])
        jumps += [value for _, value in changed]
    first_event = len(reductions)
    for event in motions.events:
        word = "stop" if event.terminal else "act"
        reductions.append(Reduction(word, 0, len(watched), 1, sign=event.direction))
        watched.append(motions.lowered(event.expr))
    for guard in ca.vertsplit(motions.guards):
        reductions.append(Reduction("guard", 0, len(watched), 1))
        watched.append(guard)

    rates = kernel.rhs(t, y, p)
    every = [*kept, *means, *watched, *jumps, motions.masses]
    wanted = ca.vertcat(*every) if every else ca.SX(0, 1)
    states = _needed(rates, wanted, y) if fixed else np.arange(kernel.states)
    few = ca.SX.sym("ys", len(states))  # pyright: ignore[reportArgumentType]
    whole = ca.SX.zeros(kernel.states)
    for k, place in enumerate(states):
        whole[int(place)] = few[k]
    local = {int(place): k for k, place in enumerate(states)}
    for k, changed in enumerate(changes):
        targets = tuple((local[place], of) for place, of in changed if place in local)
        reductions[first_event + k] = replace(reductions[first_event + k], targets=targets)

    def reduced(e: Any) -> Any:
        column = (ca.vertcat(*e) if e else ca.SX(0, 1)) if isinstance(e, list) else e
        return ca.substitute(ca.densify(column), ca.vertcat(y, p), ca.vertcat(whole, values))

    moved, looks = reduced(rates)[states.tolist()], reduced(watched)
    late, slopes = ca.jacobian(looks, t), ca.jacobian(looks, few)
    speeds = slopes @ moved + late
    large = ca.fabs(slopes) @ ca.fabs(few) + ca.fabs(late * t)
    whole_speeds = ca.fabs(slopes) @ ca.fabs(moved) + ca.fabs(late)
    outputs_of: dict[str, list[Any]] = {
        "rates": [ca.vertcat(moved, reduced(means))],
        "kept": [reduced(kept)],
        "watch": [looks, speeds],
    }
    if any(r.word in ("first", "stop", "act") for r in reductions):
        outputs_of["rough"] = [large, whole_speeds]
    outputs_of["masses"] = [reduced(motions.masses)]
    if jumps:
        outputs_of["jumps"] = [reduced(jumps)]
    if not fixed:
        energies = kernel.graph.energies(*kernel.inner)
        work = y[kernel.states - 1] if kernel.graph.fed else ca.SX(0)
        outputs_of["energies"] = [reduced(ca.vertcat(energies[0], energies[1], energies[2], work))]
        if kernel.rows:
            outputs_of["held"] = [reduced(e) for e in motions.constraints()]
    options = {"cse": True}
    functions = {
        name: ca.Function(name, [t, few, symbols], [ca.densify(e) for e in outs], options)
        for name, outs in outputs_of.items()
    }
    sizes = Sizes(
        states=len(states), means=len(means), moving=2 * kernel.size, varied=len(varied),
        rows=len(kernel.rows), slots=tuple(int(np.searchsorted(varied, s)) for s in slots),
    )  # fmt: skip
    source = text(functions, sizes, reductions, fixed=fixed, single=single)
    return Program(source, states, varied, len(means), outputs, columns, single)


def _sampled(motions: Motions) -> list[int]:
    """Return where, in p, what is known of sampled inputs begins."""
    places, place = [], motions.kernel.parameters
    for kind, _ in motions.kernel.signature:
        if kind == "samples":
            places.append(place)
        place += SLOTS[kind]
    return places


def _needed(rates: Any, wanted: Any, y: Any) -> np.ndarray:
    """Return the states on which depends what is asked for, directly or through others."""
    J = ca.DM(ca.jacobian_sparsity(rates, y) if hasattr(ca, "jacobian_sparsity")
              else ca.jacobian(rates, y).sparsity()).full() != 0  # fmt: skip
    need = (ca.DM(ca.jacobian(wanted, y).sparsity()).full() != 0).any(axis=0)
    while True:
        more = need | J[need].any(axis=0)
        if (more == need).all():
            return np.flatnonzero(need) if need.any() else np.array([0])
        need = more
