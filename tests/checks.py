"""Checks that many tests share: each compares with a fact from outside."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from stationary.errors import StationaryError


def ten_times(
    monkeypatch: pytest.MonkeyPatch, package: str, room: str, name: str
) -> Iterator[float]:
    """Let a number that decides be ten times larger, then smaller, wherever it is used.

    What is counted stays a whole number, and at least one.
    """
    rooms = {k: v for k, v in sys.modules.items() if k.startswith(f"{package}.")}
    value = getattr(rooms[f"{package}.{room}"], name)
    for factor in (10.0, 0.1):
        new = max(round(factor * value), 1) if isinstance(value, int) else factor * value
        with monkeypatch.context() as patch:
            for module, inside in rooms.items():
                if module.endswith(f".{room}") or (name[0] != "_" and hasattr(inside, name)):
                    patch.setattr(inside, name, new)
            yield factor


def assert_gradient(
    value: Callable[[np.ndarray], float],
    gradient: Callable[[np.ndarray], np.ndarray],
    q: np.ndarray,
) -> None:
    """The gradient is the slope of the value: central differences, extrapolated to order 6."""
    q = np.asarray(q, dtype=float)
    found = np.asarray(gradient(q)).ravel()
    for i, step in enumerate(1e-2 * np.maximum(1.0, np.abs(q))):
        e = np.zeros_like(q)
        e[i] = step

        def slope(h: float, e=e, step=step) -> float:
            return (value(q + h * e) - value(q - h * e)) / (2 * h * step)

        coarse, middle, fine = slope(1.0), slope(0.5), slope(0.25)
        first = (4 * middle - coarse) / 3, (4 * fine - middle) / 3
        exact = (16 * first[1] - first[0]) / 15
        assert found[i] == pytest.approx(exact, rel=1e-7, abs=1e-9)


def assert_order(
    steps: Sequence[float], errors: Sequence[float], order: float, within: float
) -> None:
    """Errors fall as the given power of the steps: the slope of a straight line in log–log."""
    slope = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert abs(slope - order) < within, f"observed order {slope:.2f}, expected {order}"


def assert_conserved(values: np.ndarray, scale: float, rtol: float) -> None:
    """A quantity keeps its first value, to `rtol` of the given scale."""
    drift = float(np.max(np.abs(np.asarray(values) - values[0])))
    assert drift <= rtol * scale, f"drift {drift:.2e} of a scale {scale:.2e}"


def assert_same_system(one, other, *, seed: int = 0, u: Sequence[float] = ()) -> None:
    """Two compiled systems have the same energies, derivatives, mass and acceleration.

    Their coordinates stand in the same order; states are random and agree to rounding.
    """
    rng = np.random.default_rng(seed)
    n = one.system.size
    assert other.system.size == n
    for _ in range(3):
        q, v, t = rng.normal(size=n), rng.normal(size=n), rng.uniform(0, 2)
        pairs = {
            "kinetic": (one.kinetic(q, v, t), other.kinetic(q, v, t)),
            "potential": (one.potential(q, t), other.potential(q, t)),
            "internal": (one.internal(q, t, u), other.internal(q, t, u)),
            "gradient": (one.gradient(q, t, u), other.gradient(q, t, u)),
            "hessian": (one.hessian(q, t, u).toarray(), other.hessian(q, t, u).toarray()),
            "mass": (one.mass(q, v, t).toarray(), other.mass(q, v, t).toarray()),
            "force": (one.force(q, v, t, u), other.force(q, v, t, u)),
            "acceleration": (one.acceleration(q, v, t, u), other.acceleration(q, v, t, u)),
        }
        for name, (a, b) in pairs.items():
            scale = float(np.max(np.abs(b))) or 1.0
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12 * scale, err_msg=name)


def assert_says(kind: type[StationaryError], message: str, do: Callable[[], object]) -> None:
    """The call fails with exactly this message, and it has its three parts."""
    with pytest.raises(kind) as caught:
        do()
    assert str(caught.value) == message
    assert message.count("\n  ") == 2, "a message says what is wrong, what was found, what to do"


#: By error and mistake: what is asked, and what is said.
Messages = dict[type[StationaryError], dict[str, tuple[Callable[[], object], str]]]


def mistakes(messages: Messages) -> Any:
    """Ask a test for every entry of a table: the error, what is asked, and what is said."""
    return pytest.mark.parametrize(
        ("kind", "do", "message"),
        [
            pytest.param(kind, do, message, id=mistake)
            for kind, several in messages.items()
            for mistake, (do, message) in several.items()
        ],
    )
