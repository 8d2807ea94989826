"""How a solver ended: one word for programs, a sentence for people."""

from __future__ import annotations


class Status(str):
    """Why a run ended: compares as its word, and carries a sentence.

    Examples
    --------
    >>> from stationary.result.status import Status
    >>> status = Status("done", "reached the end of the span")
    >>> status == "done", status.message
    (True, 'reached the end of the span')
    """

    message: str

    def __new__(cls, word: str, message: str):
        """Make a status of a word and a sentence."""
        made = super().__new__(cls, word)
        made.message = message
        return made

    def __reduce__(self):
        return (Status, (str(self), self.message))
