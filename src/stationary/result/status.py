"""How a solver ended: one word for programs, a sentence for people."""

from __future__ import annotations

from typing import Any


class Status(str):
    """Why a run ended: compares as its word, and carries a sentence.

    Attributes
    ----------
    message : str
    direction : ndarray or None
        Where sliding accelerates: the velocities along which it runs away, also by name.
    names : tuple of str
        Where sliding has no motion: the load that feeds it, or the constraints that conflict.
    remedy : str
        What to do about it, where that depends on more than the word.

    Examples
    --------
    >>> from stationary.result.status import Status
    >>> status = Status("done", "reached the end of the span")
    >>> status == "done", status.message
    (True, 'reached the end of the span')
    """

    message: str
    direction: Any
    names: tuple[str, ...]
    remedy: str

    def __new__(
        cls, word: str, message: str, direction: Any = None, names: tuple[str, ...] = (),
        remedy: str = "",
    ):  # fmt: skip
        """Make a status of a word and a sentence."""
        status = super().__new__(cls, word)
        status.message, status.direction, status.names = message, direction, names
        status.remedy = remedy
        return status

    def __reduce__(self):
        return (Status, (str(self), self.message, self.direction, self.names, self.remedy))
