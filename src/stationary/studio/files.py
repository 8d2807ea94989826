"""The file that a studio works on: read, and written only over what its writer has seen."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
import threading
from pathlib import Path
from typing import Any

from stationary.errors import StatementError, say

#: A model file that is longer than this is nobody's.
LONGEST = 1_000_000


def version_of(text: str | None) -> str:
    """Return what tells two texts apart; nothing for a file that is not there."""
    return "" if text is None else hashlib.sha256(text.encode()).hexdigest()


class ModelFile:
    """A model file, or the place of one that is still to be named."""

    def __init__(self, path: Path | None, folder: Path):
        self.path, self.folder = path, folder
        self._turn = threading.Lock()

    def read(self) -> tuple[str | None, str]:
        """Return the text on disk and its version."""
        if self.path is None or not self.path.exists():
            return None, ""
        text = self.path.read_text(encoding="utf-8")
        return text, version_of(text)

    def save(self, text: str, seen: str, name: str = "") -> dict[str, Any]:
        """Write a text over the version that its writer has seen; refuse to lose another's.

        Returns
        -------
        dict
            ``saved`` and the new version, or ``conflict`` with what is on disk instead.
        """
        with self._turn:
            if self.path is None:
                self.path = self._named(name)
            there, version = self.read()
            if version != seen:
                return {"conflict": True, "text": there or "", "version": version,
                        "file": self.path.name}  # fmt: skip
            # Whole or not at all: a crash leaves the old file.
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle, aside = tempfile.mkstemp(dir=self.path.parent, suffix=".toml~")
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            if self.path.exists():
                os.chmod(aside, self.path.stat().st_mode & 0o777)
            else:
                os.chmod(aside, 0o644)
            os.replace(aside, self.path)
            return {"saved": True, "version": version_of(text), "file": self.path.name}

    def _named(self, name: str) -> Path:
        if not re.fullmatch(r"[\w][\w .-]{0,80}", name or ""):
            raise StatementError(
                say(
                    f"'{name[:60]}' is not the name of a file here.",
                    "Expected letters, digits, spaces, points and dashes; no folders.",
                    "Choose a name such as pendulum.toml.",
                )
            )
        return self.folder / (name if name.endswith(".toml") else f"{name}.toml")
