"""Values of a model file, taken one at a time: each knows where it stands and what it must be."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import numpy as np
import sympy as sp

from stationary.errors import StatementError, did_you_mean
from stationary.io.grammar import parse
from stationary.io.names import LONGEST_NAME, RESERVED, AbstractNames, Names, is_name
from stationary.io.toml import Document, Path
from stationary.model import units

_LARGEST = 1e300
_KINDS = {bool: "a truth", int: "a number", float: "a number", str: "text", list: "a list",
          dict: "a table"}  # fmt: skip


class Reader:
    """Takes typed values out of a document, or says where they are wrong."""

    def __init__(self, document: Document):
        self.document = document
        self.names: AbstractNames = Names(document)

    def at(self, path: Path) -> Any:
        """Return the plain value at a path, or None."""
        value: Any = self.document.data
        for part in path:
            try:
                value = value[part]
            except (KeyError, IndexError, TypeError):
                return None
        return value

    def wrong(self, path: Path, what: str, expected: str, remedy: str) -> NoReturn:
        """Refuse a value of the wrong kind."""
        kind = _KINDS.get(type(self.at(path)), "a date or a time")
        self.document.complain(path, what, f"Found {kind}, expected {expected}.", remedy)

    def refuse(self, path: Path, error: StatementError) -> NoReturn:
        """Say why what a table states cannot be: at the entry of which that speaks."""
        what, finding, remedy = (*str(error).split("\n", 2), "", "")[:3]
        stated = self.at(path)
        # Short words stand in any sentence.
        keys = [k for k in stated if len(k) > 4] if isinstance(stated, dict) else []
        spoken = {m.start(): k for k in keys if (m := re.search(rf"\b{re.escape(k)}\b", what))}
        place = (*path, *([spoken[min(spoken)]] if spoken else []))
        self.document.complain(place, what, finding.strip(), " ".join(remedy.split()))

    # -- shapes -------------------------------------------------------------------------------

    def table(self, path: Path, known: Iterable[str] | None = None, what: str = "") -> list[str]:
        """Return the keys of a table, after a look for those that are not known."""
        entries = self.at(path)
        if entries is None:
            return []
        label = what or f"[{'.'.join(map(str, path))}]"
        if not isinstance(entries, dict):
            self.wrong(path, f"{label} is not a table.", "keys with values", f"Write {label} on a "
                       "line of its own, and keys below it.")  # fmt: skip
        known = None if known is None else list(known)
        for key in entries:
            if known is not None and key not in known:
                self.document.complain_of_key(
                    (*path, key), f"'{key}' is not a key of {label}.",
                    f"Known: {', '.join(known)}.",
                    did_you_mean(key, known).strip() or "Remove it.",
                )  # fmt: skip
        return list(entries)

    def tables(self, name: str) -> list[Path]:
        """Return the paths of the entries of ``[[name]]``."""
        entries = self.at((name,))
        if entries is None:
            return []
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            self.wrong((name,), f"'{name}' is not a list of tables.", f"[[{name}]] with keys below",
                       f"Write [[{name}]] once for each.")  # fmt: skip
        return [(name, k) for k in range(len(entries))]

    def items(self, path: Path, what: str) -> list[Path]:
        """Return the paths of the entries of a list; a single value is a list of one."""
        entries = self.at(path)
        if not isinstance(entries, list):
            return [path]
        if not entries:
            self.document.complain(path, f"{what} is an empty list.", "Found no entry.",
                                   "Give one or more.")  # fmt: skip
        return [(*path, k) for k in range(len(entries))]

    # -- values -------------------------------------------------------------------------------

    def text(self, path: Path, what: str) -> str:
        """Return text."""
        text = self.at(path)
        if not isinstance(text, str):
            self.wrong(path, f"{what} is not text.", "text in quotes", "Put it in quotes.")
        return text

    def choice(self, path: Path, what: str, choices: Iterable[str]) -> str:
        """Return text that is one of a few words."""
        word, choices = self.text(path, what), list(choices)
        if word not in choices:
            self.document.complain(
                path, f"{what} is not known.", f"Known: {', '.join(choices)}.",
                did_you_mean(word, choices).strip() or "Choose one of these.",
            )  # fmt: skip
        return word

    def whole(self, path: Path, what: str, fewest: int = 1, most: int = 1_000_000) -> int:
        """Return a whole number."""
        number = self.at(path)
        if isinstance(number, bool) or not isinstance(number, int) or not fewest <= number <= most:
            self.document.complain(
                path, f"{what} is not a whole number in range.",
                f"Found {str(number)[:30]}, expected {fewest} to {most}.",
                f"Write one from {fewest} to {most}, without a point.",
            )  # fmt: skip
        return number

    def number(self, path: Path, what: str) -> float:
        """Return a number: plain, text with a unit, or a constant expression such as "pi/2"."""
        value = self.at(path)
        if isinstance(value, str):
            pair = units.split(value)
            if pair is not None and pair[1] and _could_be_unit(pair[1]):
                return self._with_unit(path, *pair)
            front, _, unit = value.strip().rpartition(" ")
            if front and front.rstrip()[-1] not in "+-*/^(" and _could_be_unit(unit):
                self.document.complain(
                    path, f"{what} is no number with a unit.", f"Found {value[:60]!r}.",
                    f"Write one number before {unit[:20]}, or an expression of numbers alone.",
                )  # fmt: skip
            e = parse(value, self.names.within(path, what, states=False))
            value = float(e) if e.is_number else math.nan
        elif isinstance(value, bool) or not isinstance(value, (int, float)):
            self.wrong(
                path, f"{what} is not a number.", "a number",
                'Write it plainly, or in quotes with a unit, as in "5 cm".',
            )  # fmt: skip
        if not abs(value) <= _LARGEST:
            self.document.complain(path, f"{what} is not a finite number.", f"Found {value:g}."
                                   if isinstance(value, float) else "Found too many digits.",
                                   f"Give one below {_LARGEST:g}.")  # fmt: skip
        return float(value)

    def _with_unit(self, path: Path, number: str, unit: str) -> float:
        try:
            value = units.value(number, unit)
        except units.UnknownUnit as error:
            self.document.complain(
                path, f"'{error.unit}' is not a known unit.",
                f"Known: {', '.join(units.KNOWN)}, with prefixes, products, quotients and powers.",
                error.suggestion or "Convert the value to SI units.",
            )  # fmt: skip
        except (OverflowError, ValueError):
            value = math.inf
        if not abs(value) <= _LARGEST:
            self.document.complain(
                path, "the value is not a finite number.", f"Found {number[:20]}.",
                f"Give one below {_LARGEST:g}.",
            )  # fmt: skip
        return value

    def pair(self, path: Path, what: str) -> tuple[float, float]:
        """Return two numbers: the ends of an interval."""
        ends = self.at(path)
        if not isinstance(ends, list) or len(ends) != 2:
            self.document.complain(
                path, f"{what} is not a pair of numbers.",
                f"Found {str(ends)[:40]}.", "Write it as in [0, 10].",
            )  # fmt: skip
        return self.number((*path, 0), what), self.number((*path, 1), what)

    def numbers(self, path: Path, what: str) -> np.ndarray:
        """Return an array of numbers from nested lists."""
        plain = _plain_numbers(self.at(path))
        if plain is not None:
            return plain

        def taken(here: Path) -> Any:
            if isinstance(self.at(here), list):
                return [taken(k) for k in self.items(here, what)]
            return self.number(here, what)

        try:
            return np.array(taken(path), dtype=float)
        except ValueError as error:
            if hasattr(error, "line"):
                raise
            self.document.complain(path, f"the rows of {what} differ in length.",
                                   "Expected lists of equal length.", "Fill them up.")  # fmt: skip

    def expression(
        self, path: Path, what: str, names: AbstractNames | None = None, **rules: Any
    ) -> Any:
        """Return an expression: a number, or text read by the grammar."""
        written = self.at(path)
        if isinstance(written, (int, float)) and not isinstance(written, bool):
            self.number(path, what)
            return sp.S(written)
        if not isinstance(written, str):
            self.wrong(path, f"{what} is not an expression.", "a number or text in quotes",
                       "Write it in quotes.")  # fmt: skip
        scope = (names or self.names).within(path, what, **rules)
        plain = self._value_with_unit(written)
        if plain is not None:
            return sp.Float(plain)
        e = parse(written, scope)
        scope.check(e)
        return e

    def _value_with_unit(self, text: str) -> float | None:
        """Return the value of "1 N" where N is nothing that the file declares."""
        pair = units.split(text)
        if pair is None or not pair[1] or not _could_be_unit(pair[1]):
            return None
        if set(re.findall(r"\w+", pair[1])) & {*self.names.names(), "e", "pi", "t"}:
            return None
        try:
            value = units.value(*pair)
        except (units.UnknownUnit, OverflowError, ValueError):
            return None
        return value if abs(value) <= _LARGEST else None

    def vector(
        self, path: Path, what: str, names: AbstractNames | None = None, **rules: Any
    ) -> tuple:
        """Return one or several expressions as a tuple."""
        return tuple(self.expression(p, what, names, **rules) for p in self.items(path, what))

    # -- names --------------------------------------------------------------------------------

    def declare(self, path: Path, name: str, kind: str, complain: Callable | None = None) -> str:
        """Check a name that is declared; return it."""
        say = complain or self.document.complain_of_key
        if not is_name(name):
            say(path, f"'{name[:40]}' cannot name {kind}.",
                "Names are letters, digits and underscores, begin with a letter, and have at most "
                f"{LONGEST_NAME} of them.",
                "Choose another name.")  # fmt: skip
        if name in RESERVED:
            say(path, f"'{name}' cannot name {kind}.", "It means something in expressions already.",
                "Choose another name.")  # fmt: skip
        if name in self.names.symbols or name in self.names.arrays:
            say(path, f"'{name}' names two things.", "It is declared already.",
                "Rename one of them.")  # fmt: skip
        return name


def _plain_numbers(nested: Any) -> np.ndarray | None:
    """Return nested lists of numbers as an array, or None where one of them is something else."""
    if not isinstance(nested, list) or not nested:
        return None
    try:
        array = np.asarray(nested)
    except (ValueError, OverflowError):
        return None
    good = array.dtype.kind in "if" and array.size and np.all(np.abs(array) <= _LARGEST)
    return array.astype(float) if good else None


def _could_be_unit(text: str) -> bool:
    """Tell a unit from the rest of an expression: "2 m" from "2*pi"."""
    return text[0].isalpha() or text[0] in "°%"
