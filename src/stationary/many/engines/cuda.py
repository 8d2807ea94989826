"""A GPU: the program of one trajectory written as CUDA, one motion per thread.

CuPy brings the compiler and the driver; nothing else of it is used.
"""

from __future__ import annotations

from functools import cache, lru_cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from stationary.errors import MissingExtra
from stationary.many.chunk import Chunk
from stationary.many.engines import compiled
from stationary.many.question import Question

# Threads of a block: motions of different lengths wait for each other within 32 of them.
_BLOCK = 64


def refuses(question: Question) -> str | None:
    """Take smooth motions."""
    return compiled.refuses_program(question)


@cache
def _cupy() -> Any:
    """Return CuPy, if it is there and there is a GPU."""
    if find_spec("cupy") is None:
        raise MissingExtra(
            'on="cuda" needs cupy.',
            "It is not installed.",
            "Run: pip install 'stationary[gpu]', or leave `on` out.",
        )
    import cupy  # pyright: ignore[reportMissingImports]

    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except Exception as error:  # Whatever is wrong with a driver.
        count, why = 0, str(error)[:80]
    else:
        why = "no device"
    if not count:
        raise MissingExtra(
            'on="cuda" needs an NVIDIA GPU.',
            f"Found {why}.",
            "Leave `on` out to compute on the processor.",
        )
    return cupy


def require() -> None:
    """Refuse where there is no GPU, or no CuPy."""
    _cupy()


def available() -> bool:
    """Tell whether there is a GPU."""
    try:
        _cupy()
    except MissingExtra:
        return False
    return True


def name() -> str:
    """Return what the card is called."""
    return _cupy().cuda.runtime.getDeviceProperties(0)["name"].decode()


@lru_cache(maxsize=8)
def kernel(text: str) -> Any:
    """Compile a program for the card that is there."""
    options = (f"-DBLOCK={_BLOCK}", "--std=c++17")
    return _cupy().RawModule(code=text, options=options, backend="nvrtc").get_function("run")


def launched(
    motions: Any, program: Any, arrays: dict[str, Any], settings: tuple, count: int
) -> tuple:
    """Run a program on arrays of the card; return outputs, statuses and steps, still there."""
    cupy = _cupy()
    run = kernel(program.text)
    out = cupy.full((program.outputs, count), np.nan, dtype=program.kind)
    status, steps = cupy.zeros(count, np.int32), cupy.zeros(count, np.int32)
    given = [arrays[key] for key in ("starts", "values", "span", "table")]
    apart, times = compiled.knots(motions, arrays)
    numbers = [np.int64(apart), np.int32(times), *(program.kind(x) for x in settings)]
    blocks = (count + _BLOCK - 1) // _BLOCK
    run((blocks,), (_BLOCK,), (np.int64(count), *given, *numbers,
                               np.int64(compiled.MOST_STEPS), out, status, steps))  # fmt: skip
    return out, status, steps


def compute(question: Question, first: int, last: int) -> Chunk:
    """Follow all motions of a chunk, one per thread."""
    cupy = _cupy()
    motions, program, arrays = compiled.inputs_of(question, first, last)
    sent = {key: cupy.asarray(value) for key, value in arrays.items()}
    out, status, _ = launched(motions, program, sent, compiled.settings(question), last - first)
    return compiled.judged(question, program, first, out.get(), status.get())
