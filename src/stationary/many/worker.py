"""A process that computes chunks: ``python -m stationary.many.worker``.

It reads a question, then pairs of first and last run, from standard input and writes chunks to
what was standard output: whatever else is printed goes to standard error. A process of this kind
imports the package alone, never the program of the user, which needs no guard for that.
"""

from __future__ import annotations

import os
import pickle
import signal
import struct
import sys
from typing import Any, BinaryIO


def send(stream: BinaryIO, thing: Any) -> None:
    """Write one object and its length."""
    data = dumps(thing)
    stream.write(struct.pack("<Q", len(data)) + data)
    stream.flush()


def receive(stream: BinaryIO) -> Any:
    """Read one object; the end of the stream is an error."""
    return pickle.loads(_exactly(stream, struct.unpack("<Q", _exactly(stream, 8))[0]))


def _exactly(stream: BinaryIO, count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = stream.read(count - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def dumps(thing: Any) -> bytes:
    """Pickle; functions of the user's own program by value, where that can be done."""
    try:
        import cloudpickle  # pyright: ignore[reportMissingImports]
    except ImportError:
        return pickle.dumps(thing)
    return cloudpickle.dumps(thing)


def main() -> None:
    """Compute what is asked for until nothing more comes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    questions = sys.stdin.buffer
    from stationary.many.engines import compute

    question, engine = receive(questions)
    while True:
        try:
            first, last = receive(questions)
        except EOFError:
            return
        try:
            answer = compute(question, engine, first, last)
        except Exception as error:
            answer = RuntimeError(f"{type(error).__name__}: {error}")
        send(answers, answer)


if __name__ == "__main__":
    main()
