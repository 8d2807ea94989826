"""The file that a studio works on: read, and written only over what its writer has seen."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
import threading
from pathlib import Path
from typing import Any

from stationary.errors import StatementError

#: A model file that is longer than this is nobody's.
LONGEST = 1_000_000


def version_of(text: str | None) -> str:
    """Return what tells two texts apart; nothing for a file that is not there."""
    return "" if text is None else hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


class ModelFile:
    """A model file, or the place of one that is still to be named."""

    def __init__(self, path: Path | None, folder: Path):
        self.path, self.folder = path, folder
        self._turn = threading.Lock()

    def read(self) -> tuple[str | None, str]:
        """Return the text on disk and its version."""
        return self._read(self.path)

    def _read(self, path: Path | None) -> tuple[str | None, str]:
        if path is None or not path.exists():
            return None, ""
        try:
            text = path.read_text(encoding="utf-8-sig")
        except (OSError, ValueError) as error:
            raise StatementError(
                f"{path.name} cannot be read as a text.",
                f"Found: {error}.",
                "Save it as UTF-8, or name another file.",
            ) from None
        return text, version_of(text)

    def save(self, text: str, seen: str, name: str = "") -> dict[str, Any]:
        """Write a text over the version that its writer has seen; refuse to lose another's.

        Returns
        -------
        dict
            ``saved`` and the new version, or ``conflict`` with what is on disk instead. A file
            that was deleted is nobody's, and is written again.
        """
        with self._turn:
            path = self.path or self._named(name)
            there, version = self._read(path)
            if there not in (None, text) and version != seen:
                return {"conflict": True, "text": there, "version": version, "file": path.name}
            _write(path, text)
            self.path = path
            return {"saved": True, "version": version_of(text), "file": path.name}

    def _named(self, name: str) -> Path:
        if not re.fullmatch(r"[\w][\w .-]{0,80}", name or ""):
            raise StatementError(
                f"'{name[:60]}' is not the name of a file here.",
                "Expected letters, digits, spaces, points and dashes; no folders.",
                "Choose a name such as pendulum.toml.",
            )
        return self.folder / (name if name.endswith(".toml") else f"{name}.toml")


def _write(path: Path, text: str) -> None:
    """Write a text whole or not at all, with the ends of lines and the rights that the file has."""
    path.parent.mkdir(parents=True, exist_ok=True)
    there = path.read_bytes() if path.exists() else b""
    newline = "\r\n" if b"\r\n" in there else "\n"
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
    if path.exists() and not os.access(path, os.W_OK):
        raise PermissionError(f"{path.name} may only be read")
    handle, aside = tempfile.mkstemp(dir=path.parent, suffix=".toml~")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline=newline) as file:
            file.write(text)
        os.chmod(aside, mode)
        os.replace(aside, path)
    except BaseException:
        os.unlink(aside)
        raise
