"""Files that users name: what they hold, as far as it has an end."""

from __future__ import annotations

from pathlib import Path
from typing import Any


class TooLarge(ValueError):
    """A file holds more than what it is read for."""


def content_of(path: Any, most: int) -> bytes:
    """Return what a file holds, at most so many bytes.

    Raises
    ------
    OSError
        If it cannot be read: a device or a pipe has no end.
    TooLarge
        If it holds more.
    """
    file = Path(path)
    if not file.is_dir() and not file.is_file() and file.exists():
        raise OSError("it is a device or a pipe")
    with file.open("rb") as opened:
        content = opened.read(most + 1)
    if len(content) > most:
        raise TooLarge(f"more than {most} bytes")
    return content
