"""Who computes: this process, one process per core, or the workers of a Dask cluster."""

from __future__ import annotations

import contextlib
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stationary.errors import MissingExtra, StatementError
from stationary.many import worker
from stationary.many.chunk import Chunk, gathered
from stationary.many.cores import cores, using
from stationary.many.engines import chunks, compute
from stationary.many.question import Question
from stationary.result.status import Status

#: First and last run of a chunk.
Range = tuple[int, int]

# Seconds of work left for which starting other processes pays; they take about two to start.
_PAYS = 4.0

# A chunk that ends a process this often is given up.
_MOST_DEATHS = 3


def crashed(question: Question, first: int, last: int, why: str) -> Chunk:
    """Return a chunk whose computation ended with its process."""
    status = Status("crashed", f"the process that computed it ended {_MOST_DEATHS} times: {why}")
    return gathered(question, first, [(None, status)] * (last - first))


def here(question: Question, engine: str, todo: list[Range]) -> Iterator[Chunk]:
    """Compute chunk after chunk in this process."""
    yield from chunks(question, engine, todo)


def measured(question: Question, engine: str, todo: list[Range]) -> Iterator[Chunk]:
    """Begin in this process; give the rest to one process per core where that pays."""
    began, done = time.monotonic(), 0
    for k, (first, last) in enumerate(todo):
        took = time.monotonic() - began
        left = sum(b - a for a, b in todo[k:])
        if cores() > 1 and done and len(todo) - k > 1 and took / done * left > _PAYS:
            yield from processes(question, engine, todo[k:], cores())
            return
        yield compute(question, engine, first, last)
        done += last - first


class _Worker:
    """One process, the thread that talks to it, and the chunk that it has in hand."""

    def __init__(self, start: bytes, todo: queue.SimpleQueue, done: queue.SimpleQueue):
        self._start, self._todo, self._done = start, todo, done
        self.process: subprocess.Popen | None = None
        self.thread = threading.Thread(target=self._talk, daemon=True)
        self.thread.start()

    def _begin(self) -> subprocess.Popen:
        room = str(Path(__file__).resolve().parents[2])
        paths = os.pathsep.join([room, *filter(None, [os.environ.get("PYTHONPATH")])])
        one = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": paths}
        # A process group of its own: Ctrl-C is for the process that was asked.
        process = subprocess.Popen(
            [sys.executable, "-m", "stationary.many.worker"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **one},
            start_new_session=True,
        )  # fmt: skip
        assert process.stdin is not None
        process.stdin.write(self._start)
        process.stdin.flush()
        return process

    def _talk(self) -> None:
        while True:
            task = self._todo.get()
            if task is None:
                _ended(self.process)
                return
            deaths, first, last = task
            try:
                if self.process is None:
                    self.process = self._begin()
                assert self.process.stdin is not None and self.process.stdout is not None
                worker.send(self.process.stdin, (first, last))  # pyright: ignore[reportArgumentType]
                self._done.put((task, worker.receive(self.process.stdout)))  # pyright: ignore[reportArgumentType]
            except (OSError, EOFError, ValueError) as error:
                code = _ended(self.process)
                self.process = None
                self._done.put((task, error if code >= 0 else OSError(f"signal {-code}")))

    def stop(self) -> None:
        """End the process, whatever it does."""
        process = self.process
        if process is not None:
            with contextlib.suppress(OSError):
                process.kill()


def _ended(process: subprocess.Popen | None) -> int:
    """Wait for the end of a process, and tidy up after it; return how it ended."""
    if process is None:
        return 0
    code = process.wait()
    for stream in (process.stdin, process.stdout):
        with contextlib.suppress(OSError):
            stream.close()  # pyright: ignore[reportOptionalMemberAccess]
    return code


def processes(question: Question, engine: str, todo: list[Range], count: int) -> Iterator[Chunk]:
    """Compute chunks in processes of their own; one that dies loses the chunk in its hand alone."""
    data = worker.dumps((question, engine))
    start = len(data).to_bytes(8, "little") + data
    waiting: queue.SimpleQueue = queue.SimpleQueue()
    done: queue.SimpleQueue = queue.SimpleQueue()
    for first, last in todo:
        waiting.put((0, first, last))
    workers = [_Worker(start, waiting, done) for _ in range(min(count, len(todo)))]
    left = len(todo)
    try:
        while left:
            (deaths, first, last), answer = done.get()
            if isinstance(answer, RuntimeError):
                raise answer
            if isinstance(answer, Exception):
                if deaths + 1 < _MOST_DEATHS:
                    waiting.put((deaths + 1, first, last))
                    continue
                answer = crashed(question, first, last, str(answer) or type(answer).__name__)
            left -= 1
            yield answer
    finally:
        with contextlib.suppress(queue.Empty):
            while True:
                waiting.get_nowait()
        for _ in workers:
            waiting.put(None)
        for each in workers:
            # One that has just begun a chunk may have a process only now.
            while each.thread.is_alive():
                each.stop()
                each.thread.join(0.1)


def cluster(on: Any) -> tuple[Any, bool]:
    """Return a Dask client: the given one, that of an address, or one of a cluster made here."""
    try:
        import distributed
    except ImportError:
        raise MissingExtra(
            'on="dask" needs dask and distributed.',
            "They are not installed.",
            "Run: pip install 'stationary[cluster]'",
        ) from None
    if isinstance(on, distributed.Client):
        return on, False
    if isinstance(on, str) and on != "dask":
        try:
            return distributed.Client(on, timeout="5s"), True
        except OSError as error:
            raise StatementError(
                f"there is no Dask scheduler at '{on}'.",
                f"Found {type(error).__name__}: {str(error)[:80]}.",
                'Start one with `dask scheduler`, or write on="dask" for this machine alone.',
            ) from None
    local = distributed.LocalCluster(
        n_workers=cores(), threads_per_worker=1, dashboard_address=":0", silence_logs=50
    )  # fmt: skip
    return distributed.Client(local), True


def on_cluster(question: Question, engine: str, todo: list[Range], on: Any) -> Iterator[Chunk]:
    """Compute chunks as tasks of a Dask cluster, a few for each worker at a time."""
    client, own = cluster(on)
    from distributed import Future, as_completed
    from distributed.scheduler import KilledWorker

    futures: dict[str, Range] = {}
    suspects: list[Range] = []
    # The statement goes to every worker once; as a task it outlives the worker that has it.
    shared = client.submit(_Packed, worker.dumps(question), pure=False)
    try:
        waiting = iter(todo)
        coming = as_completed(with_results=False)

        def more() -> bool:
            following = next(waiting, None)
            if following is not None:
                future = client.submit(_task, shared, engine, *following, pure=False)
                futures[future.key] = following
                coming.add(future)
            return following is not None

        room = 4 * max(1, len(client.scheduler_info()["workers"]))
        for _ in range(room):
            if not more():
                break
        for future in coming:
            first, last = futures.pop(future.key)
            error = future.exception()
            if isinstance(error, KilledWorker):
                suspects.append((first, last))
            else:
                yield future.result()
            more()
        # A worker takes all that it has in hand along: alone each shows whether it was to blame.
        for first, last in suspects:
            future = client.submit(_task, shared, engine, first, last, pure=False)
            if isinstance(future.exception(), KilledWorker):
                yield crashed(question, first, last, "its worker was lost")
            else:
                yield future.result()
    finally:
        with contextlib.suppress(Exception):
            client.cancel([shared, *(Future(key, client) for key in futures)])
        if own:
            local = client.cluster
            client.close()
            if local is not None:
                local.close()


class _Packed:
    """A question as bytes: a worker unpacks it once, functions of the user's program included."""

    def __init__(self, data: bytes):
        self.data = data


def _task(packed: _Packed, engine: str, first: int, last: int) -> Chunk:
    question = getattr(packed, "question", None)
    if question is None:
        import pickle

        question = packed.question = pickle.loads(packed.data)  # pyright: ignore[reportAttributeAccessIssue]
    # A worker computes as many tasks at a time as it was given cores.
    with using(1):
        return compute(question, engine, first, last)
