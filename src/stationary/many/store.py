"""Runs on disk: a Zarr group that grows chunk by chunk, and survives whatever happens to a process.

A chunk is there when its record is: a small file, put in place in one act after all arrays of the
chunk were written, with a checksum of each and of itself. Whatever has no record, or another
checksum, is computed again. What describes the store has checksums, too: one that was damaged is
refused, since nobody could tell what its numbers mean. The folder of a store is locked by who
writes it; the system takes the lock away when a process ends, however it ends.
"""

from __future__ import annotations

import builtins
import contextlib
import json
import os
import shutil
import uuid
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from stationary.errors import (
    DidNotConverge,
    MissingExtra,
    StatementError,
    StationaryError,
    say,
    spelled,
)
from stationary.many.chunk import Chunk
from stationary.many.design import Axis, Design
from stationary.many.partial_runs import Gathering
from stationary.many.question import Question
from stationary.many.runs import Runs
from stationary.many.statement import digest, keeps_objects, parts, versions
from stationary.result.status import Status

_FORMAT = 2
_RECORDS = ".done"
_ATTRIBUTE, _CHECKSUM = "stationary runs", "stationary checksum"

# Equilibria of one run for which a store has room.
_ROOM = 64


def _zarr() -> Any:
    try:
        import zarr  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise MissingExtra(
            "stores of runs need zarr.",
            "It is not installed.",
            "Run: pip install 'stationary[store]'",
        ) from None
    return zarr


@contextlib.contextmanager
def _intact(path: Path) -> Iterator[None]:
    """Tell of a store whose description is damaged that it is."""
    try:
        yield
    except StationaryError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IsADirectoryError) as error:
        raise _damaged(path, f"{type(error).__name__}: {str(error)[:80]}") from error


def _damaged(path: Path, what: str) -> StatementError:
    return StatementError(
        f"the store '{path}' is damaged.",
        f"Found {what}.",
        "Bring back a copy of it, or move it away and compute again.",
    )


class Store:
    """A store that this process writes."""

    def __init__(self, path: Path, handle: int, facts: dict[str, Any]):
        self.path, self._handle, self.facts = path, handle, facts
        self._group = _zarr().open_group(path, mode="r+")

    @property
    def chunk(self) -> int:
        """Number of runs of a chunk."""
        return self.facts["chunk"]

    @property
    def engine(self) -> str:
        """What computes it."""
        return self.facts["engine"]

    def there(self) -> Iterator[Chunk]:
        """Yield the chunks that are there and whole; forget the others."""
        for k in range(-(-self.facts["runs"] // self.chunk)):
            chunk = _read(self.path, self._group, self.facts, k)
            if chunk is not None:
                yield chunk
            else:
                with _intact(self.path):
                    _record(self.path, k).unlink(missing_ok=True)

    def write(self, chunk: Chunk) -> None:
        """Write a chunk, and then its record."""
        k = chunk.first // self.chunk
        try:
            # A chunk without a number in it is a file like the others.
            with _intact(self.path), _zarr().config.set({"array.write_empty_chunks": True}):
                self._write(k, chunk)
        except OSError as error:
            raise DidNotConverge(
                say(
                    f"the store '{self.path}' cannot be written.",
                    f"Found {error.strerror or error}; the chunks before it are safe.",
                    "Make room and call again: it goes on where it stopped.",
                ),
                status="store",
            ) from error

    def _write(self, k: int, chunk: Chunk) -> None:
        said: dict[tuple[str, str], int] = {}
        table = [said.setdefault((str(s), s.message), len(said)) for s in chunk.said]
        codes = np.array(table)[chunk.codes]
        for name, values in chunk.kept.items():
            array = self._group[f"kept/{name}"]
            array[chunk.first : chunk.last] = _fitting(values, array, said, codes)
        self._group["status"][chunk.first : chunk.last] = codes.astype(np.uint16)
        files = {}
        for name in [*(f"kept/{name}" for name in chunk.kept), "status"]:
            file = _chunk_file(self.path / name, self._group[name].ndim, k)
            files[name] = zlib.crc32(file.read_bytes())
        record = _record(self.path, k)
        entry = {"files": files, "said": [list(key) for key in said]}
        _at_once(record, _sealed(entry))

    def close(self) -> None:
        """Give the lock back."""
        os.close(self._handle)


def _fitting(values: np.ndarray, array: Any, said: dict, codes: np.ndarray) -> np.ndarray:
    """Return values in the shape of an array; what has no room there is a failure, told so."""
    shape = tuple(array.shape[1:])
    if values.shape[1:] == shape and values.dtype.kind != "c":
        return values
    if values.dtype.kind == "c" and np.dtype(array.dtype).kind != "c":
        values = np.where(np.imag(values) == 0, np.real(values), np.nan)
    fitted = np.full((len(values), *shape), np.nan, dtype=array.dtype)
    if values.ndim - 1 == len(shape):
        inside = tuple(slice(0, min(a, b)) for a, b in zip(values.shape[1:], shape))
        fitted[(slice(None), *inside)] = values[(slice(None), *inside)]
    for i, row in enumerate(values):
        if np.isfinite(row).sum() > np.isfinite(fitted[i]).sum():
            message = f"kept an array of shape {row.shape}; the store has room for {shape}"
            codes[i] = said.setdefault(("too large", message), len(said))
            fitted[i] = np.nan
    return fitted


def _checksum(facts: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(facts, sort_keys=True).encode())


def _sealed(facts: dict[str, Any]) -> bytes:
    """Return what is told as text with its checksum."""
    return json.dumps(facts | {"checksum": _checksum(facts)}, sort_keys=True).encode()


def _chunk_file(folder: Path, axes: int, k: int) -> Path:
    return folder.joinpath("c", str(k), *["0"] * (axes - 1))


def _record(path: Path, k: int) -> Path:
    return path / _RECORDS / f"{k:09d}.json"


def _at_once(path: Path, content: bytes) -> None:
    """Write a file so that it is there as a whole, or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f"{path.name}.{uuid.uuid4().hex}.partial")
    with builtins.open(aside, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(aside, path)


def _read(path: Path, group: Any, facts: dict[str, Any], k: int) -> Chunk | None:
    """Return a chunk if it is there and whole."""
    first = k * facts["chunk"]
    last = min(first + facts["chunk"], facts["runs"])
    try:
        written = _record(path, k).read_bytes()
        record = json.loads(written)
        record.pop("checksum")
        if written != _sealed(record):
            return None
        for name, checksum in record["files"].items():
            file = _chunk_file(path / name, group[name].ndim, k)
            if zlib.crc32(file.read_bytes()) != checksum:
                return None
        kept = {name: np.asarray(group[f"kept/{name}"][first:last]) for name in facts["keeps"]}
        for name in facts.get("lists", ()):
            kept[name] = _trimmed(kept[name])
        said = [Status(*pair) for pair in record["said"]]
        codes = np.asarray(group["status"][first:last]).astype(int)
        if codes.max(initial=0) >= len(said):
            return None
        return Chunk(first, last, kept, codes, said)
    except (OSError, ValueError, KeyError, IndexError, TypeError, AttributeError):
        return None


def _trimmed(rows: np.ndarray) -> np.ndarray:
    """Return lists of runs as long as the longest of them."""
    filled = ~np.isnan(rows).all(axis=(0, *range(2, rows.ndim)))
    return rows[:, : np.flatnonzero(filled).max(initial=0) + 1]


# -- making, finding and locking ------------------------------------------------------------------


def _lock(path: Path) -> int:
    """Lock a folder against other writers; return the handle that holds the lock."""
    handle = os.open(path, os.O_RDONLY)
    try:
        import fcntl
    except ImportError:
        # Where folders cannot be locked, nobody is refused.
        return handle
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise StatementError(
            f"the store '{path}' is being written by another process.",
            "Found it locked.",
            "Wait for the other one, or give another store; st.open reads what there is.",
        ) from None
    return handle


def as_path(store: Any) -> Path:
    """Take where runs are stored."""
    if not isinstance(store, (str, Path)) or not str(store):
        raise StatementError(
            "store is not a path.",
            f"Found {type(store).__name__}: {str(store)[:60]}.",
            'Write store="runs.zarr".',
        )
    return Path(store)


def require_storable(question: Question) -> None:
    """Refuse what a store cannot hold."""
    _zarr()
    whole = keeps_objects(question)
    if whole:
        raise StatementError(
            f"'{whole[0]}' keeps whole results, which a store cannot hold.",
            "Expected numbers.",
            "Name what is wanted of them, or leave the store out.",
        )


def opened(path: Path, question: Question, engine: str | None) -> Store | None:
    """Return the store at a path, locked, if there is one; refuse one of another statement."""
    _tidy(path)
    if not path.exists():
        return None
    facts = _facts(path)
    handle = _lock(path)
    try:
        for leftover in path.rglob("*.partial"):
            leftover.unlink(missing_ok=True)
        store = Store(path, handle, facts)
        _require_same(path, store.facts, parts(question), engine)
    except BaseException:
        os.close(handle)
        raise
    return store


def lists(question: Question, kinds: dict[str, tuple]) -> list[str]:
    """Return what is kept of as many things as a run finds."""
    counted = question.verb == "equilibria"
    return [name for name, (shape, _) in kinds.items() if counted and shape]


def created(
    path: Path, question: Question, engine: str, chunk: int, kinds: dict[str, tuple]
) -> Store:
    """Make a store, in one act; `kinds` are shape and type of what is kept of a run."""
    zarr = _zarr()
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{uuid.uuid4().hex}.new")
    aside.mkdir()
    handle = _lock(aside)
    try:
        design, count = question.design, len(question.design)
        group = zarr.create_group(aside)
        said = parts(question)
        facts = {
            "format": _FORMAT, "verb": question.verb, "system": question.system.name or "",
            "runs": count, "chunk": chunk, "engine": engine, "keeps": list(question.keeps),
            "lists": lists(question, kinds),
            "kind": design.kind, "seed": design.seed, "versions": versions(),
            "axes": [[axis.name, [_column(v) for _, v in axis.columns],
                      [n for n, _ in axis.columns]] for axis in design.axes],
            "statement": {name: text[:300] for name, text in said.items()},
            "digests": {name: digest(text) for name, text in said.items()},
        }  # fmt: skip
        whole = {"config": {"write_empty_chunks": True}}
        for k, axis in enumerate(design.axes):
            for j, (_, values) in enumerate(axis.columns):
                if isinstance(values, np.ndarray):
                    array = group.create_array(
                        f"over/{k}/{j}", shape=values.shape, dtype=values.dtype, **whole
                    )
                    array[...] = values
        for name, (shape, kind) in kinds.items():
            if name in facts["lists"]:
                shape = (max(_ROOM, shape[0]), *shape[1:])
            group.create_array(
                f"kept/{name}", shape=(count, *shape), chunks=(chunk, *(max(n, 1) for n in shape)),
                dtype=kind, fill_value=np.nan, **whole,
            )  # fmt: skip
        group.create_array("status", shape=(count,), chunks=(chunk,), dtype="uint16", **whole)
        facts["files"] = {
            str(file.relative_to(aside).as_posix()): zlib.crc32(file.read_bytes())
            for file in sorted(aside.glob("*/**/*")) if file.is_file()
        }  # fmt: skip
        group.attrs.update({_ATTRIBUTE: json.dumps(facts), _CHECKSUM: _checksum(facts)})
        (aside / _RECORDS).mkdir()
        try:
            os.rename(aside, path)
        except OSError:
            raise StatementError(
                f"the store '{path}' was made by another process just now.",
                "Found it there.",
                "Wait for the other one, or give another store.",
            ) from None
        return Store(path, handle, facts)
    except BaseException as error:
        os.close(handle)
        shutil.rmtree(aside, ignore_errors=True)
        if isinstance(error, OSError):
            raise DidNotConverge(
                say(
                    f"the store '{path}' cannot be made.",
                    f"Found {error.strerror or error}.",
                    "Check that there is room, and that the folder may be written.",
                ),
                status="store",
            ) from error
        raise


def _column(values: Any) -> list[str] | None:
    """Return values that are no array as text."""
    return None if isinstance(values, np.ndarray) else [str(v) for v in values]


def _tidy(path: Path) -> None:
    """Take away what a process left that died while it made the store."""
    for leftover in path.parent.glob(f".{path.name}.*.new"):
        with contextlib.suppress(StatementError, OSError):
            os.close(_lock(leftover))
            shutil.rmtree(leftover, ignore_errors=True)


def _facts(path: Path) -> dict[str, Any]:
    """Return what a store says of itself; refuse what is no store of runs."""
    try:
        if not path.is_dir():
            raise ValueError("a file" if path.exists() else "nothing")
        group = _zarr().open_group(path, mode="r")
        facts = json.loads(group.attrs[_ATTRIBUTE])
        if facts["format"] != _FORMAT:
            raise ValueError(f"format {facts['format']}, expected {_FORMAT}")
        if group.attrs.get(_CHECKSUM) != _checksum(facts):
            raise _damaged(path, "another checksum of its description")
        for name, checksum in facts["files"].items():
            file = path / name
            if not file.is_file() or zlib.crc32(file.read_bytes()) != checksum:
                raise _damaged(path, f"{name} changed, or gone")
        return facts
    except (MissingExtra, StatementError):
        raise
    except Exception as cause:  # Whatever a foreign folder does to the library that reads it.
        inside = sorted(p.name for p in path.iterdir())[:5] if path.is_dir() else []
        content = f"a folder with {', '.join(inside) or 'nothing'}" if path.is_dir() else str(cause)
        raise StatementError(
            f"'{path}' is no store of runs.",
            f"Found {content}.",
            "Give another path, or take away what is there.",
        ) from None


def _require_same(path: Path, facts: dict, said: dict[str, str], engine: str | None) -> None:
    """Refuse a store of another statement, and name what is another."""
    other = facts["digests"]
    for name in [*said, *(n for n in other if n not in said)]:
        mine = said.get(name)
        if mine is None or other.get(name) != digest(mine):
            theirs = facts["statement"].get(name, "nothing of that name")
            raise StatementError(
                f"the store '{path}' holds another statement: {name} differs.",
                f"Found {theirs[:120]}; expected {(mine or 'nothing of that name')[:120]}.",
                "Give another store, or ask what this one was made for; st.open reads it.",
            )
    if engine is not None and engine != facts["engine"]:
        raise StatementError(
            f"the store '{path}' was begun on another engine.",
            f"Found '{facts['engine']}', expected '{engine}': digits would differ.",
            "Leave `on` out, or give another store.",
        )


@spelled
def open(path: Any) -> Runs:
    """Read runs from a store, whether or not all are there, without the program that wrote it.

    Parameters
    ----------
    path : str
        The store, as it was given to `sweep`.

    Returns
    -------
    Runs
        Those not there yet are not a number, with the status "pending".

    Examples
    --------
    >>> import tempfile
    >>> x, k = st.coordinates("x"), st.parameters(k=1.0)
    >>> spring = st.System(potential=k * x**2 / 2, work=2 * x)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     runs = st.sweep(st.statics, spring, over={k: [1.0, 4.0]}, store=folder + "/runs.zarr")
    ...     st.open(folder + "/runs.zarr")["x"]
    array([2. , 0.5])
    """
    place = as_path(path)
    with _intact(place):
        return _opened(place)


def _opened(place: Path) -> Runs:
    facts = _facts(place)
    group = _zarr().open_group(place, mode="r")
    axes = tuple(
        Axis(name, tuple(
            (column, np.asarray(group[f"over/{k}/{j}"][...]) if texts[j] is None else texts[j])
            for j, column in enumerate(columns)
        ))
        for k, (name, texts, columns) in enumerate(facts["axes"])
    )  # fmt: skip
    design = Design(axes, facts["kind"], facts["seed"])
    runs = Gathering(facts["verb"], facts["system"], design, facts["engine"])
    for name in facts["keeps"]:
        array = group[f"kept/{name}"]
        rows = np.full(array.shape, np.nan, dtype=array.dtype)
        runs.kept[name] = rows[:, :1] if name in facts.get("lists", ()) else rows
    for k in range(-(-facts["runs"] // facts["chunk"])):
        chunk = _read(place, group, facts, k)
        if chunk is not None:
            runs.add(chunk)
    more = {"seed": facts["seed"], "versions": facts["versions"], "statement": facts["statement"]}
    return runs.runs(str(place), more)
