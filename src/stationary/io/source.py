"""The text of a model file, and how a mistake in it is shown: line, column, caret."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn

from stationary.errors import StatementError, say

#: The name of what was typed on its own.
TYPED = "typed"

# What of a long line is shown on either side of the mistake.
_WINDOW = 60


class FileError(StatementError):
    """A statement in a model file is wrong; it carries the place.

    Attributes
    ----------
    file : str
    line, column : int
        Both from 1.
    status : str
        "missing" if there is no such file, "typed" if it stands in no file, "" otherwise.
    """

    def __init__(
        self, message: str, *, file: str = "", line: int = 0, column: int = 0, status: str = ""
    ):
        super().__init__(message)
        self.file, self.line, self.column, self.status = file, line, column, status


@dataclass(frozen=True)
class Source:
    """A text and the name of the file it comes from."""

    text: str
    name: str = "model"

    @cached_property
    def _starts(self) -> list[int]:
        """Offsets at which lines begin."""
        return [0, *(k + 1 for k, c in enumerate(self.text) if c == "\n")]

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """Return the line and the column of an offset, both from 1."""
        low, high = 0, len(self._starts)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._starts[middle] <= offset else (low, middle)
        return low + 1, offset - self._starts[low] + 1

    def complain(
        self, start: int, end: int, what: str, finding: str = "", remedy: str = ""
    ) -> NoReturn:
        """Raise an error that shows a stretch of the text.

        Parameters
        ----------
        start, end : int
            Offsets of the first character that is wrong and of the one after the last.
        what, found, remedy : str
            The three parts of every message.
        """
        line, column = self.line_and_column(min(start, len(self.text)))
        raise FileError(
            say(
                f"{self.name}:{line}:{column}: {what}\n{self._excerpt(line, column, end - start)}",
                finding,
                remedy,
            ),
            file=self.name,
            line=line,
            column=column,
            status="typed" if self.name == TYPED else "",
        )

    def _excerpt(self, line: int, column: int, length: int) -> str:
        begin = self._starts[line - 1]
        finish = self._starts[line] - 1 if line < len(self._starts) else len(self.text)
        whole = self.text[begin:finish].rstrip("\r")
        left = max(0, column - 1 - _WINDOW)
        shown = "".join(map(_visible, whole[left : column - 1 + _WINDOW]))
        first = "…" if left else ""
        last = "…" if len(whole) > column - 1 + _WINDOW else ""
        # An accent takes no room of its own.
        before = first + shown[: column - 1 - left]
        indent = sum(not unicodedata.combining(c) for c in before)
        carets = "^" * max(1, min(length, len(whole) - column + 1, _WINDOW))
        number = f"{line:>5} | "
        return f"{number}{first}{shown}{last}\n{' ' * (len(number) - 2)}| {' ' * indent}{carets}"


def _visible(character: str) -> str:
    if character == "\t":
        return " "
    return character if character.isprintable() else "\ufffd"
