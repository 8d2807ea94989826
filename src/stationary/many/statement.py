"""The statement of a sweep as text: what a store remembers, and what another one is told by."""

from __future__ import annotations

import hashlib
import json
import platform
from importlib.metadata import PackageNotFoundError, version
from types import CodeType
from typing import Any

import numpy as np

from stationary.errors import StatementError
from stationary.io.codec import Encoder
from stationary.many.keep import Call, Keep, itself
from stationary.many.question import Question

_LIBRARIES = ("stationary", "numpy", "scipy", "sympy", "casadi", "heyoka", "zarr")


def digest(content: str | bytes) -> str:
    """Return a short name for a long text."""
    data = content.encode() if isinstance(content, str) else content
    return hashlib.blake2b(data, digest_size=12).hexdigest()


def parts(question: Question) -> dict[str, str]:
    """Return every part of a statement as text; equal parts have equal texts."""
    texts = {"the question": question.verb, "the system": _text(question.system)}
    for axis in question.design.axes:
        for name, values in axis.columns:
            texts[f"axis '{name}'"] = f"{len(values)} values, {digest(_text(values))}"
    texts["the axes"] = ", ".join(
        f"{axis.name} ({len(axis)})" for axis in question.design.axes
    )  # fmt: skip
    for name, keep in question.keeps.items():
        texts[f"keep '{name}'"] = _kept(keep)
    for name, value in sorted(question.given.items()):
        texts[f"argument '{name}'"] = _text(_plain(value))
    return texts


def _kept(keep: Keep) -> str:
    if isinstance(keep, Call):
        function = keep.function
        code = getattr(function, "__code__", None)
        name = getattr(function, "__qualname__", type(function).__name__)
        return f"{name} {_code(code)}" if isinstance(code, CodeType) else name
    fields = ", ".join(f"{k}={v!s}" for k, v in sorted(vars(keep).items()))
    return f"{type(keep).__name__}({fields})"


def _code(code: CodeType) -> str:
    inside = [_code(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    return digest(code.co_code + "\0".join([*inside, *code.co_names]).encode())


def _plain(value: Any) -> Any:
    """Return a mapping by names in their order: symbols and names mean the same."""
    if hasattr(value, "items"):
        return sorted((str(k), _text(v)) for k, v in value.items())
    return value


def _text(value: Any) -> str:
    """Write a value with all its digits."""
    encode = Encoder()
    try:
        root = encode(value)
    except StatementError:
        return repr(value)
    arrays = {
        name: f"{a.shape} {digest(np.ascontiguousarray(a).tobytes())}"
        for name, a in encode.arrays.items()
    }
    return json.dumps([root, encode.nodes, encode.objects, arrays], sort_keys=True)


def versions() -> dict[str, str]:
    """Return the versions of what computes."""
    known = {"python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            known[name] = version(name)
        except PackageNotFoundError:
            continue
    return known


def keeps_objects(question: Question) -> list[str]:
    """Return the names under which whole results are kept."""
    return [
        name for name, keep in question.keeps.items()
        if isinstance(keep, Call) and keep.function is itself
    ]  # fmt: skip
