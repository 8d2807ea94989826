"""Processes that answer, and are ended when they take too long or are no longer wanted."""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from stationary.studio.work import serve

# How often a waiting question looks whether it is still wanted, how long one that is not may go on
# (most are done sooner than another process starts), and how long that may take, in seconds.
_LOOK, _GRACE, _BEGIN = 0.05, 1.0, 120.0


class Worker:
    """One process, started when it is first needed and again after it was ended.

    Parameters
    ----------
    limit : float
        Seconds that a question may take.
    memory : int
        Bytes that the process may use.

    Attributes
    ----------
    turns : Executor
        One thread, in which questions wait for each other.
    """

    def __init__(self, limit: float, memory: int):
        self.limit, self.memory = limit, memory
        self._context = multiprocessing.get_context("spawn")
        self._turn = threading.Lock()
        self._process: Any = None
        self._connection: Any = None
        self._closed = False
        self.turns = ThreadPoolExecutor(1)

    def begin(self) -> None:
        """Start the process, so that the first question finds it ready."""
        with self._turn:
            self._started()

    def ask(
        self, question: str, text: str, wanted: Callable[[], bool] = lambda: True
    ) -> dict[str, Any]:
        """Return the answer; what takes too long or is no longer wanted ends with a word."""
        with self._turn:
            if self._closed or not wanted():
                return {"stopped": True}
            connection = self._sent(question, text) or self._sent(question, text)
            if connection is None:
                return _lost()
            end, given_up = time.monotonic() + self.limit, None
            try:
                while not connection.poll(_LOOK):
                    now = time.monotonic()
                    if given_up is None and not wanted():
                        given_up = now + _GRACE
                    if self._closed or (given_up is not None and now > given_up):
                        self.end()
                        return {"stopped": True}
                    if now > end:
                        self.end()
                        return {
                            "error": f"the question took longer than {self.limit:g} s.\n  "
                            "Found no answer in that time; it was ended.\n  "
                            "Ask for less, or start the studio with a larger --limit."
                        }
                return connection.recv()
            except (EOFError, OSError):
                self.end()
                return _lost()

    def _sent(self, question: str, text: str) -> Any:
        """Hand a question over; None where the process had ended, and is started again."""
        try:
            connection = self._started()
            connection.send((question, text))
        except (EOFError, OSError, ValueError):
            self.end()
            return None
        return connection

    def end(self) -> None:
        """End the process at once."""
        if self._process is not None:
            self._process.kill()
            self._process.join(5)
            self._connection.close()
        self._process = self._connection = None

    def close(self) -> None:
        """End for good: whatever is being answered is given up."""
        self._closed = True
        process = self._process
        if process is not None:
            process.kill()
        self.turns.shutdown(cancel_futures=True)
        self.end()

    def _started(self) -> Any:
        if self._closed:
            raise EOFError("the studio has ended")
        if self._process is None or not self._process.is_alive():
            self.end()
            self._connection, other = self._context.Pipe()
            self._process = self._context.Process(
                target=serve, args=(other, self.memory), daemon=True
            )
            self._process.start()
            other.close()
            # What it takes to begin is not the question's time.
            if self._connection.poll(_BEGIN):
                self._connection.recv()
        return self._connection


def _lost() -> dict[str, Any]:
    return {
        "error": "the question ended the process that answered it.\n  "
        "Found neither an answer nor an error: it may have needed too much memory.\n  "
        "Ask for less: fewer coordinates, elements or points."
    }
