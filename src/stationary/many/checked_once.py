"""What all runs share is looked at once, before any of them starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from stationary.errors import DidNotConverge
from stationary.many.fixed_steps import RK4
from stationary.many.keep import Values
from stationary.many.question import Question
from stationary.many.reduce import require_inside
from stationary.solve.arguments import times
from stationary.solve.progress import Begun, looking

# Runs, spread over all, that must be refused alike.
_RUNS = 8

# Arguments that a statement may need, and those without which another question is asked.
_VALUES = frozenset({"params", "inputs"})
_PLACES = frozenset({"start", "at", "within", "guess", "repair"}) | _VALUES


def refuse_shared(question: Question) -> None:
    """Raise what the verb itself says to what all runs share, if that is why it refuses them."""
    _require_times(question)
    if isinstance(question.given.get("method"), RK4):
        # Known to engines of many motions alone.
        return
    last = len(question.design) - 1
    said = None
    for run in np.unique(np.linspace(0, last, _RUNS).astype(int)).tolist():
        refusal = _refusal(question, question.arguments(run))
        if refusal is None or said is not None and str(refusal) != str(said):
            return
        said = said or refusal
    assert said is not None
    shared = _refusal(question, question.given)
    if shared is not None and str(shared) == str(said):
        raise said
    for name, fewer in _fewer(question):
        without = _refusal(question, fewer)
        if without is None:
            raise said
        missing = name in _PLACES or isinstance(without, TypeError)
        if not missing and str(without) != str(said):
            raise said


def _require_times(question: Question) -> None:
    """Refuse values that are kept at times which no run comes to."""
    values = [keep for keep in question.keeps.values() if isinstance(keep, Values)]
    if values and question.verb in ("simulate", "quasistatics") and "span" in question.given:
        for keep in values:
            require_inside(keep, *times(question.given["span"]))


def _fewer(question: Question) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the arguments of the first run without one that is shared, and which that is."""
    first = question.arguments(0)
    for name, value in question.given.items():
        if name in _VALUES and isinstance(value, Mapping):
            for key in value:
                own = {k: v for k, v in value.items() if k is not key}
                yield name, question.with_given(question.given | {name: own}).arguments(0)
        elif name not in _VALUES:
            yield name, {key: value for key, value in first.items() if key != name}


def _refusal(question: Question, arguments: dict[str, Any]) -> Exception | None:
    """Return the error with which the verb refuses arguments, if it does."""
    try:
        with looking():
            question.ask(question.system, **arguments)
    except (Begun, DidNotConverge):
        return None
    except Exception as error:
        return error
    return None
