"""Compiled code kept on disk, so that the next process need not compile again."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import sys
import tempfile
from functools import cache
from pathlib import Path

# Compiled integrators take 0.1 to 10 MB each; the oldest go first.
_LARGEST = 512 * 2**20


@cache
def folder() -> Path | None:
    """Return the folder of the cache, or None where there is none.

    ``STATIONARY_CACHE`` names another one; ``STATIONARY_CACHE=off`` does without.
    """
    named = os.environ.get("STATIONARY_CACHE", "")
    if named.lower() == "off":
        return None
    if named:
        place = Path(named)
    elif sys.platform == "win32":
        place = Path(os.environ.get("LOCALAPPDATA", "~")).expanduser() / "stationary" / "cache"
    else:
        place = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "stationary"
    try:
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError:
        return None
    return place


@cache
def machine() -> str:
    """Describe the processor: code compiled for one must not run on another."""
    flags = ""
    with contextlib.suppress(OSError):
        text = Path("/proc/cpuinfo").read_text()
        flags = next((line for line in text.splitlines() if line.startswith("flags")), "")
    return f"{platform.machine()} {platform.processor()} {flags}"


def digest(*pieces: str) -> str:
    """Return a key for what is described by these pieces on this machine."""
    hashed = hashlib.blake2b(digest_size=16)
    for piece in (*pieces, machine(), platform.python_version()):
        hashed.update(piece.encode() + b"\0")
    return hashed.hexdigest()


def path(key: str) -> Path | None:
    """Return the file for a key, whether or not it exists."""
    place = folder()
    return None if place is None else place / key


def load(key: str) -> bytes | None:
    """Return what is kept under a key, if anything."""
    file = path(key)
    try:
        return None if file is None else file.read_bytes()
    except OSError:
        return None


def keep(key: str, content: bytes) -> None:
    """Keep bytes under a key; a cache that cannot be written is no error."""
    file = path(key)
    if file is None:
        return
    with contextlib.suppress(OSError):
        # Written aside and renamed: a reader never sees half a file.
        handle, aside = tempfile.mkstemp(dir=file.parent)
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        os.replace(aside, file)
        _prune(file.parent)


def _prune(place: Path) -> None:
    files = sorted((f.stat().st_mtime, f.stat().st_size, f) for f in place.iterdir() if f.is_file())
    total = sum(size for _, size, _ in files)
    for _, size, file in files:
        if total <= _LARGEST:
            return
        file.unlink(missing_ok=True)
        total -= size
