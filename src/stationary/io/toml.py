"""TOML with places: tomllib reads the values, a scanner of the same text says where they stand."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from typing import Any, NoReturn

from stationary.io.source import Source

Path = tuple[Any, ...]

#: A model file is written by a person; what is larger is something else.
LARGEST_FILE = 2_000_000
# Python reads no number of thousands of digits, and does not say where it stands.
_LONGEST_NUMBER = 1000
_DEEPEST = 12

_BLANK = re.compile(r"[ \t]*")
_ROOM = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_PLAIN = re.compile(r"[^\s,#\]}]+(?: \d[^\s,#\]}]*)?")
_NUMBERS = re.compile(r"\[[\d\s.,eE+\-_]*\]")
_LONG = 5000
_EXPRESSION = re.compile(r"[^#\n]*")
_SHORT_ESCAPES = {"b", "t", "n", "f", "r", '"', "\\", "e"}


@dataclass
class Place:
    """Where a value stands: its own stretch, that of its key, and the place of every character."""

    key: tuple[int, int]
    value: tuple[int, int]
    characters: list[int] | None = None

    def inside(self, start: int, end: int) -> tuple[int, int]:
        """Return the stretch of the file that a stretch of a string's content comes from."""
        at = self.characters
        if not at:
            return self.value
        first = at[min(start, len(at) - 1)] if start < len(at) else at[-1] + 1
        last = at[min(end, len(at)) - 1] + 1 if end > start else first + 1
        return first, max(last, first + 1)


@dataclass
class Document:
    """What a TOML file says, and where."""

    source: Source
    data: dict[str, Any] = field(default_factory=dict)
    places: dict[Path, Place] = field(default_factory=dict)

    def complain(self, path: Path, what: str, finding: str = "", remedy: str = "") -> NoReturn:
        """Say what is wrong with the value at a path, or with the nearest thing around it."""
        self._complain(path, "value", what, finding, remedy)

    def complain_of_key(
        self, path: Path, what: str, finding: str = "", remedy: str = ""
    ) -> NoReturn:
        """Say what is wrong with a key."""
        self._complain(path, "key", what, finding, remedy)

    def _complain(self, path: Path, part: str, what: str, finding: str, remedy: str) -> NoReturn:
        self.source.complain(*self.stretch(path, part), what, finding, remedy)

    def stretch(self, path: Path, part: str = "value") -> tuple[int, int]:
        """Return where a value stands, or the nearest thing around it."""
        while path not in self.places and path:
            path, part = path[:-1], "key"
        return getattr(self.places[path], part) if path else (0, 1)


def read(source: Source) -> Document:
    """Read a TOML text.

    Raises
    ------
    FileError
        With the line, the column and a caret, whatever is wrong.
    """
    if len(source.text) > LARGEST_FILE:
        source.complain(
            0, 1, "the file is too large for a model file.",
            f"Found {len(source.text)} characters, expected at most {LARGEST_FILE}.",
            "State what repeats once, with [[each]].",
        )  # fmt: skip
    document = Document(source)
    _Scanner(source, document.places).run()
    try:
        document.data = tomllib.loads(source.text)
    except (ValueError, RecursionError) as error:
        _refuse_as_toml(source, error)
    return document


def _refuse_as_toml(source: Source, error: Exception) -> NoReturn:
    said = str(error)
    match = re.search(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)", said)
    if match and match[1]:
        lines = source.text.split("\n")
        offset = sum(len(s) + 1 for s in lines[: int(match[1]) - 1]) + int(match[2]) - 1
    else:
        offset = len(source.text)
    reason = said[: match.start()] if match else "It is not TOML"
    source.complain(
        offset, offset + 1, "the file is not TOML from here on.",
        f"{reason[:1].upper()}{reason[1:120]}.",
        "Write key = value, text in quotes, and [table] on lines of their own.",
    )  # fmt: skip


class _Scanner:
    """Walks over a TOML text, notes where everything stands and refuses what people mistype."""

    def __init__(self, source: Source, places: dict[Path, Place]):
        self.source, self.text, self.places = source, source.text, places
        self.at = 0
        self.tables: dict[Path, int] = {}  # how many times a table was opened

    def run(self) -> None:
        table: Path = ()
        if self.text.startswith("\ufeff"):
            self.complain(
                0, 1, "the file begins with a byte-order mark.", "Found U+FEFF.",
                "Save it as UTF-8 without one.",
            )  # fmt: skip
        while True:
            self.at = self._after(_ROOM)
            if self.at >= len(self.text):
                return
            table = self._header() if self.text[self.at] == "[" else self._entry(table, 0, table)
            self.at = self._after(_BLANK)
            if self.at < len(self.text) and self.text[self.at] not in "\r\n#":
                self._junk()

    # -- lines --------------------------------------------------------------------------------

    def _header(self) -> Path:
        start = self.at
        double = self.text.startswith("[[", self.at)
        self.at += 1 + double
        name = self._key()
        close = "]]" if double else "]"
        if not self.text.startswith(close, self.at):
            self.complain(
                start, self.at, "the name of a table is not closed.",
                f"Found {self.text[start : self.at][:40]!r}, expected {close!r} after it.",
                f"Write {'[' * (1 + double)}name{close} on a line of its own.",
            )  # fmt: skip
        self.at += len(close)
        path: Path = ()
        # A table inside a list of tables belongs to the last of them.
        for part in name[:-1]:
            path += (part,)
            if (*path, 0) in self.tables:
                path += (self.tables[path] - 1,)
        path += (name[-1],)
        stretch = (start, self.at)
        if double:
            count = self.tables.get(path, 0)
            if path in self.places and not count:
                self._twice(path, stretch)
            self.tables[path] = count + 1
            self.places.setdefault(path, Place(stretch, stretch))
            path += (count,)
        elif path in self.places:
            self._twice(path, stretch)
        self.tables[path] = 1
        self.places[path] = Place(stretch, stretch)
        return path

    def _entry(self, table: Path, depth: int, result: Any = None) -> Any:
        """Read ``key = value``; return `result`."""
        start = self.at
        name = self._key()
        stretch = (start, self.at)
        self.at = self._after(_BLANK)
        if not self.text.startswith("=", self.at):
            self.complain(
                *stretch, "a key has no value.",
                f"Found {self.text[stretch[0] : stretch[1]][:40]!r} without '=' after it.",
                f"Put a velocity in quotes, as in \"{name[-1]}'\" = 1."
                if self.text.startswith("'", self.at)
                else "Write key = value.",
            )  # fmt: skip
        self.at = self._after(_BLANK, self.at + 1)
        path = (*table, *name)
        for length in range(len(table) + 1, len(path)):
            outer = self.places.setdefault(path[:length], Place(stretch, stretch))
            if outer.characters is not None or outer.value != outer.key:
                self._velocity_beside(path, stretch)
        if path in self.places:
            place = self.places[path]
            if place.value == place.key and path not in self.tables:
                self._velocity_beside(path, stretch)
            self._twice(path, stretch)
        self.places[path] = Place(stretch, stretch)
        value = self.at
        self.places[path].characters = self._value(path, depth)
        self.places[path].value = (value, self.at)
        return result

    def _velocity_beside(self, path: Path, stretch: tuple[int, int]) -> NoReturn:
        name = ".".join(map(str, path[1:] or path))
        self.complain(
            *stretch, f"'{path[-2] if path[-1] == 'dot' else path[-1]}' is given a value and "
            "entries of its own.",
            f"TOML reads {name} as an entry inside a table.",
            'Put names with a dot in quotes, as in "theta.dot" = 1.',
        )  # fmt: skip

    def _twice(self, path: Path, stretch: tuple[int, int]) -> NoReturn:
        first, _ = self.source.line_and_column(self.places[path].key[0])
        label = ".".join(map(str, path))
        self.complain(
            *stretch, f"'{path[-1]}' is given twice.", f"Found '{label}' in line {first} already.",
            "Remove one of the two.",
        )  # fmt: skip

    # -- keys ---------------------------------------------------------------------------------

    def _key(self) -> Path:
        parts: list[str] = []
        while True:
            self.at = self._after(_BLANK)
            start = self.at
            if self.text[start : start + 1] in ('"', "'"):
                content: list[str] = []
                self._string(content)
                parts.append("".join(content))
            else:
                match = _BARE.match(self.text, start)
                if match is None:
                    self._bad_key(start)
                parts.append(match[0])
                self.at = match.end()
            end = self.at
            self.at = self._after(_BLANK)
            if not self.text.startswith(".", self.at):
                if self.text.startswith("]", self.at):
                    return tuple(parts)
                self.at = end
                return tuple(parts)
            self.at += 1
            if len(parts) > _DEEPEST:
                self._too_deep(start)

    def _bad_key(self, start: int) -> NoReturn:
        line = _EXPRESSION.match(self.text, start)
        word = (line[0] if line else "").split("=")[0].strip()[:40]
        if not word:
            self.complain(
                start, start + 1, "a name is missing here.", "Expected a key or the name of a "
                "table.", "Write key = value or [table].",
            )  # fmt: skip
        self.complain(
            start, start + len(word), f"'{word}' cannot stand as a key without quotes.",
            "Bare keys are letters A to Z, digits, '_' and '-'.", f'Write "{word}" = ….',
        )  # fmt: skip

    # -- values -------------------------------------------------------------------------------

    def _value(self, path: Path, depth: int) -> list[int] | None:
        """Step over a value; return the place of every character if it is a string."""
        if depth > _DEEPEST:
            self._too_deep(self.at)
        first = self.text[self.at : self.at + 1]
        if first in ('"', "'"):
            return self._string()
        if first == "[":
            self._array(path, depth)
        elif first == "{":
            self._inline(path, depth)
        else:
            self._bare_value(path)
        return None

    def _array(self, path: Path, depth: int) -> None:
        start = self.at
        numbers = _NUMBERS.match(self.text, self.at)
        if numbers and numbers.end() - start > _LONG:
            # A long list of numbers has one place: a person does not look for the entry.
            self.at = numbers.end()
            return
        self.at += 1
        for count in range(len(self.text)):
            self.at = self._after(_ROOM)
            if self.text.startswith("]", self.at):
                break
            entry = self.at
            characters = self._value((*path, count), depth + 1)
            self.places[(*path, count)] = Place((entry, self.at), (entry, self.at), characters)
            self.at = self._after(_ROOM)
            if self.text.startswith(",", self.at):
                self.at += 1
            elif not self.text.startswith("]", self.at):
                self._unclosed(start, "list", "]")
        self.at += 1

    def _inline(self, path: Path, depth: int) -> None:
        start = self.at
        self.at += 1
        for _ in range(len(self.text)):
            self.at = self._after(_ROOM)
            if self.text.startswith("}", self.at):
                break
            if self.at >= len(self.text):
                self._unclosed(start, "table", "}")
            self._entry(path, depth + 1)
            self.at = self._after(_ROOM)
            if self.text.startswith(",", self.at):
                self.at += 1
            elif not self.text.startswith("}", self.at):
                self._unclosed(start, "table", "}")
        self.at += 1

    def _unclosed(self, start: int, kind: str, close: str) -> NoReturn:
        if self.at < len(self.text):
            self.complain(
                self.at, self.at + 1, f"a comma is missing in a {kind}, or its '{close}'.",
                f"Found {self.text[self.at : self.at + 10]!r}.", f"Add ',' or '{close}'.",
            )  # fmt: skip
        self.complain(
            start, start + 1, f"a {kind} is opened and never closed.",
            f"Found no '{close}' for it.", f"Add '{close}'.",
        )  # fmt: skip

    def _bare_value(self, path: Path) -> None:
        """Step over a number or a truth; say what to do about text without quotes."""
        match = _PLAIN.match(self.text, self.at)
        if match is None:
            self.complain(
                self.at, self.at + 1, f"'{path[-1]}' has no value.",
                "Found nothing after '='.", "Write a number, or text in quotes.",
            )  # fmt: skip
        if not _looks_plain(match[0]):
            whole = _EXPRESSION.match(self.text, self.at)
            rest = whole[0].rstrip() if whole else ""
            self.complain(
                self.at, self.at + len(rest), f"the value of '{path[-1]}' is text without quotes.",
                f"Found {rest[:60]}.", "Put expressions, and values with units, in quotes, as in "
                '"m*x\'^2/2" or "5 cm".',
            )  # fmt: skip
        if len(match[0]) > _LONGEST_NUMBER:
            self.complain(
                self.at, match.end(), f"the value of '{path[-1]}' is too long.",
                f"Found {len(match[0])} characters, expected at most {_LONGEST_NUMBER}.",
                "Write large numbers with an exponent, as in 1e20.",
            )  # fmt: skip
        self.at = match.end()

    def _string(self, content: list[str] | None = None) -> list[int]:
        """Step over a string; return where each character of its content stands."""
        text, start = self.text, self.at
        quote = text[start]
        long = text.startswith(quote * 3, start)
        close = quote * 3 if long else quote
        at = start + len(close)
        if long and text.startswith("\n", at):
            at += 1
        elif long and text.startswith("\r\n", at):
            at += 2
        places: list[int] = []
        while True:
            if at >= len(text) or (text[at] == "\n" and not long):
                self.complain(
                    start, min(at, len(text)), "a quote is opened and never closed.",
                    f"Found no {close} on the same line." if not long else f"Found no {close}.",
                    f"Add {close} at the end of the text.",
                )  # fmt: skip
            if text.startswith(close, at):
                break
            if quote == '"' and text[at] == "\\":
                at = self._escape(at, places, long, content)
                continue
            places.append(at)
            if content is not None:
                content.append(text[at])
            at += 1
        at += len(close)
        # Up to two quotes may stand directly before the three that close.
        for _ in range(2 if long else 0):
            if text.startswith(quote, at):
                places.append(at - len(close))
                at += 1
        self.at = at
        return places

    def _escape(self, at: int, places: list[int], long: bool, content: list[str] | None) -> int:
        kind = self.text[at + 1 : at + 2]
        length = {"u": 6, "U": 10, "x": 4}.get(kind, 2)
        if long and kind in (" ", "\t", "\n", "\r"):
            return self._after(re.compile(r"\\[ \t\r\n]*"), at)
        if kind not in _SHORT_ESCAPES and length == 2:
            self.complain(
                at, at + 2, f"'\\{kind}' means nothing in text in double quotes.",
                "A backslash begins an escape there, such as \\n.",
                "Leave the backslash out, or use single quotes.",
            )  # fmt: skip
        places.append(at)
        if content is not None:
            content.append(_unescaped(self.text[at : at + length]))
        return at + length

    # -- what is wrong ------------------------------------------------------------------------

    def _junk(self) -> NoReturn:
        match = _EXPRESSION.match(self.text, self.at)
        rest = match[0].rstrip() if match else ""
        self.complain(
            self.at, self.at + max(1, len(rest)), "there is something after the value.",
            f"Found {rest[:60]!r}.", "Put a value with its unit in quotes, a remark behind '#', "
            "and another key on a new line.",
        )  # fmt: skip

    def _too_deep(self, start: int) -> NoReturn:
        self.complain(
            start, start + 1, "the file is nested too deeply.",
            f"Found more than {_DEEPEST} levels.", "A model file needs three.",
        )  # fmt: skip

    def complain(self, start: int, end: int, what: str, finding: str, remedy: str) -> NoReturn:
        self.source.complain(start, end, what, finding, remedy)

    def _after(self, pattern: re.Pattern[str], at: int | None = None) -> int:
        match = pattern.match(self.text, self.at if at is None else at)
        return match.end() if match else (self.at if at is None else at)


def _looks_plain(word: str) -> bool:
    """Tell whether a word begins as a number, a date or a truth does; tomllib decides."""
    digits = r"0[xob][0-9A-Fa-f_]*|[+-]?\d[0-9_.:+\-eETtZz ]*"
    return bool(re.fullmatch(rf"true|false|[+-]?(?:inf|nan)|{digits}", word))


def _unescaped(text: str) -> str:
    if len(text) > 2:
        try:
            return chr(int(text[2:], 16))
        except (ValueError, OverflowError):
            return "\ufffd"  # tomllib refuses it
    return {"\\t": "\t", "\\n": "\n", '\\"': '"', "\\\\": "\\"}.get(text, "\ufffd")
