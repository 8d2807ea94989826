"""What was typed with options: pairs, ranges, numbers and names."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import stationary as st
from stationary.cli.answer import Mistyped
from stationary.errors import say, unknown

# How what an option takes is written, where it is no plain value or range.
_EXAMPLES = {"--within": "theta=-1:4", "--at": "theta=0.5"}


def pair_of(text: str, option: str) -> tuple[str, str]:
    """Read ``name=value``."""
    name, sign, value = text.partition("=")
    if not sign or not name.strip() or not value.strip():
        raise Mistyped(
            say(
                f"{option} does not understand '{text}'.",
                "Expected a name, '=' and a value.",
                f"Write it as in {option} {_EXAMPLES.get(option, 'm=2')}.",
            )
        )
    return name.strip(), value.strip()


def range_of(text: str, option: str) -> tuple[float, float]:
    """Read ``from:to``."""
    first, _, last = text.partition(":")
    try:
        ends = float(first), float(last)
    except ValueError:
        raise Mistyped(
            say(
                f"{option} does not understand '{text}'.",
                "Expected two numbers with ':' between them.",
                f"Write it as in {option} {_EXAMPLES.get(option, '0:10')}.",
            )
        ) from None
    if not ends[0] < ends[1] or math.isinf(ends[1] - ends[0]):
        raise Mistyped(
            say(
                f"{option} is empty, reversed or without end.",
                f"Found '{text}'.",
                f"Give two finite numbers, the smaller one first, as in "
                f"{option} {_EXAMPLES.get(option, '0:10')}.",
            )
        )
    return ends


# What a question asks for by a key.
_UNTOLD = {
    "within": "where to look",
    "parameter": "which parameter moves",
    "span": "from where to where",
    "of": "what to bound",
    "pushes": "what was measured",
}


# The least that an option takes; others take what is more than zero.
_LEAST = {"points": 2, "count": 1, "friction": 0}


def require_size(key: str, value: float) -> None:
    """Refuse a number that is too small, or none."""
    least = _LEAST.get(key)
    if not (math.isfinite(value) and (value > 0 if least is None else value >= least)):
        raise Mistyped(
            say(
                f"--{key} is out of its range.",
                f"Found {value:g}, expected "
                + ("more than 0." if least is None else f"{least} or more."),
                "Give a larger number." if value <= 1 else "Give a finite number.",
            )
        )


def given_to(
    model: st.Model, question: str, needed: dict[str, str], **typed: Any
) -> dict[str, Any]:
    """Return what was typed with a question; refuse it if something is missing in the file too."""
    given = {key: value for key, value in typed.items() if value is not None}
    for key, value in given.items():
        if isinstance(value, (int, float)):
            require_size(key, value)
    for key, option in needed.items():
        if key not in {**model.questions.get(question, {}), **given}:
            raise Mistyped(
                say(
                    f"'{question}' is not told {_UNTOLD[key]}.",
                    f"Found neither {option} nor '{key}' in [{question}] of the file.",
                    f"Add {option}, or {key} = … in a table [{question}] of the file.",
                )
            )
    return given


def state_of(name: str) -> str:
    """Write ``x'`` as ``x.dot``."""
    return name[:-1].rstrip() + ".dot" if name.endswith("'") else name


def float_of(text: str, name: str) -> float:
    """Read a number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise Mistyped(
            say(
                f"the value of '{name}' is not a number.",
                f"Found '{text}'.",
                "Write a plain number here.",
            )
        )
    return value


def plain_numbers(model: st.Model, changes: Mapping[str, str]) -> Iterator[str]:
    """Say of numbers without a unit what they mean where the file writes another unit than SI."""
    courses = {u.name for u in model.system.inputs}
    for name, text in changes.items():
        unit = model.units.get(name, "")
        if not unit or name in courses or not _is_number(text):
            continue
        one = model.changed({name: f"1 {unit}"})
        if {**one.params, **one.start}.get(name, 1.0) != 1.0:
            yield f"note: {name}={text} is {text} {model.unit(name)}; the file writes {unit}."


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def require_names(model: st.Model, option: str, typed: Iterable[str | None], *kinds: str) -> None:
    """Refuse names behind an option that the model does not know as such."""
    system = model.system
    scalars = system.scalars()
    # An array may be named whole.
    arrays = [c.name.partition("[")[0] for c in scalars]
    known = {
        "parameter": [p.name for p in system.parameters],
        "coordinate": [*(c.name for c in scalars), *(c.name for c in system.coordinates), *arrays],
        "velocity": [f"{c.name}.dot" for c in scalars] + [f"{a}.dot" for a in arrays],
    }
    names = dict.fromkeys(name for kind in kinds for name in known[kind])
    for name in typed:
        if name is not None and name not in names:
            raise Mistyped(unknown(f"behind {option} the {kinds[0]}", name, names))
