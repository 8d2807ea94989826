"""heyoka: the graph, instruction by instruction, as a Taylor integrator compiled to machine code.

Compiling comes in two strengths. *Quick* code is there in a fraction of a second; *optimized* code
runs two to four times faster and takes seconds. A system that is run for the second time has its
optimized code made by a process in the background, and uses it from the run after it is there.
"""

from __future__ import annotations

import contextlib
import copy
import os
import pickle
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.util import find_spec
from typing import Any

import casadi as ca
import numpy as np

from stationary.errors import CompileError
from stationary.lower import cache as disk
from stationary.lower.engines.casadi import Numeric
from stationary.lower.engines.scaled import Coefficients, Scaled
from stationary.lower.instructions import KINKS, applied, instructions, kinks

# Below this many instructions the series are unrolled, above it they are loops: unrolled code is
# faster and its compile time grows with the square of the size.
# Measured on n-link pendulums: 250 instructions are n = 3, unrolled in 0.2 s quick and 5 s
# optimized; n = 6 takes 0.8 s and 33 s.
_UNROLL_UP_TO = 250

# Seconds between two looks at the disk for code that the background process may have left.
_BETWEEN_LOOKS = 0.1

# Names the way in which a graph is lowered: code that another way has left on disk is not used.
LOWERING = "coefficients in front, pairs, squares, differences, sizes, unit, modest factors"

# Compiling a larger graph than this takes longer than interpreting it for a typical run.
_COMPILE_UP_TO = 20_000

# A lock older than this many seconds was left by a process that died.
_STALE = 600.0
# Held while a compiler of this process runs in the background.
_COMPILING = threading.Lock()


@cache
def available() -> bool:
    """Tell whether heyoka is installed, without importing it."""
    return find_spec("heyoka") is not None


def accepts(rhs: ca.Function) -> bool:
    """Tell whether compiling pays: forces are smooth and the graph is not too large."""
    small = rhs.is_a("SXFunction") and rhs.n_instructions() <= _COMPILE_UP_TO
    return small and not kinks(rhs)


def compile(rhs: ca.Function) -> Integrators:
    """Return the integrators of ẏ = f(t, y, p), compiled when they are asked for."""
    return Integrators(rhs)


def run(code: Integrators, t: np.ndarray, y: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return f at many times and states, one per row."""
    times = np.ascontiguousarray(np.broadcast_to(t, len(y)), dtype=float)
    return code.rates(times, y, p).T


@cache
def _functions() -> dict[int, Callable[..., Any]]:
    """Return what has a series of its own."""
    import heyoka as hy

    return {
        ca.OP_POW: lambda x, y: x**y,
        ca.OP_CONSTPOW: lambda x, y: x**y,
        ca.OP_SQRT: hy.sqrt,
        ca.OP_EXP: hy.exp,
        ca.OP_LOG: hy.log,
        ca.OP_LOG1P: lambda x: hy.log(1.0 + x),
        ca.OP_EXPM1: lambda x: hy.exp(x) - 1.0,
        ca.OP_SIN: hy.sin,
        ca.OP_COS: hy.cos,
        ca.OP_TAN: hy.tan,
        ca.OP_ASIN: hy.asin,
        ca.OP_ACOS: hy.acos,
        ca.OP_ATAN: hy.atan,
        ca.OP_ATAN2: hy.atan2,
        ca.OP_SINH: hy.sinh,
        ca.OP_COSH: hy.cosh,
        ca.OP_TANH: hy.tanh,
        ca.OP_ASINH: hy.asinh,
        ca.OP_ACOSH: hy.acosh,
        ca.OP_ATANH: hy.atanh,
        ca.OP_ERF: hy.erf,
        ca.OP_HYPOT: lambda x, y: hy.sqrt(x * x + y * y),
    }


def _arithmetic(known: Coefficients, par: Any) -> dict[int, Callable[..., Scaled]]:
    """Return what products and sums do to factors that do not move."""

    def modest(x: Scaled) -> Scaled:
        return x.modest(known, par)

    def square(x: Scaled) -> Scaled:
        return x * x

    return {
        ca.OP_ASSIGN: lambda x: x,
        ca.OP_ADD: lambda x, y: x.plus(y, known, par),
        ca.OP_SUB: lambda x, y: x.plus(-y, known, par),
        ca.OP_MUL: lambda x, y: modest(x) * modest(y),
        ca.OP_DIV: lambda x, y: modest(x) / modest(y),
        ca.OP_NEG: lambda x: -x,
        ca.OP_INV: lambda x: Scaled(1.0, {}) / modest(x),
        ca.OP_SQ: lambda x: square(modest(x)),
        ca.OP_TWICE: lambda x: x * Scaled(2.0, {}),
    }


def equations(rhs: ca.Function) -> tuple[list[tuple[Any, Any]], ca.Function]:
    """Return the graph of ẏ = f(t, y, p) as heyoka's pairs of variable and derivative.

    Variables are states over their sizes, and time is counted in a unit of its own: a step is as
    long as the largest variable allows, below 1 errors count as they are, and powers of a step are
    numbers in all units. What heyoka takes for parameters is the second result, a function of p,
    the sizes and the unit of time.
    """
    import heyoka as hy

    parameters = rhs.numel_in(2)
    known = Coefficients(parameters + rhs.numel_in(1) + 1)
    y = [hy.expression(f"y{i}") for i in range(rhs.numel_in(1))]
    *sizes, unit = (Scaled(1.0, {parameters + i: 1}) for i in range(len(y) + 1))
    time = Scaled(1.0, {}, hy.time) * unit
    state = [Scaled(1.0, {}, x) * size for x, size in zip(y, sizes)]
    rates = (
        hy.expression((rate * unit / size).written(known, hy.par))
        for rate, size in zip(_written(rhs, time, state, known), sizes)
    )
    return list(zip(y, rates)), known.function()


def _written(
    function: ca.Function, time: Scaled, state: list[Scaled], known: Coefficients
) -> list[Scaled]:
    """Return the entries of a function of t, y and p, whose values are the first known ones."""
    import heyoka as hy

    arithmetic, functions = _arithmetic(known, hy.par), _functions()

    def argument(which: int, entry: int) -> Scaled:
        if which == 2:
            return Scaled(1.0, {entry: 1})
        return state[entry] if which == 1 else time

    memory: list[Any] = [None] * function.sz_w()
    entries = [Scaled(0.0, {})] * function.numel_out(0)
    for op, read, write, constant in instructions(function):
        if op == ca.OP_INPUT:
            memory[write[0]] = argument(*read)
        elif op == ca.OP_OUTPUT:
            entries[write[1]] = memory[read[0]]
        elif op == ca.OP_CONST:
            memory[write[0]] = Scaled(constant, {})
        elif op in arithmetic:
            memory[write[0]] = arithmetic[op](*(memory[i] for i in read))
        elif all(memory[i].moving is None for i in read):
            constants = [memory[i].constant(known) for i in read]
            memory[write[0]] = known.constant(applied(op, constants))
        elif op in functions:
            inside = [memory[i] for i in read]
            arguments = (hy.expression(x.written(known, hy.par)) for x in inside)
            turn = (op, inside[0].key, 1) if op in (ca.OP_SIN, ca.OP_COS) else None
            memory[write[0]] = Scaled(1.0, {}, functions[op](*arguments), turn=turn)
        else:
            raise CompileError(
                f"heyoka has no counterpart of operation {KINKS.get(op, op)}.",
                "Expected smooth functions.",
                'Use method="auto", st.BDF() or st.Runge().',
            )
    return entries


class Values:
    """A function of t, y and p, compiled, at many times and states at once."""

    def __init__(self, function: ca.Function):
        import heyoka as hy

        known = Coefficients(function.numel_in(2))
        y = [hy.expression(f"y{i}") for i in range(function.numel_in(1))]
        state = [Scaled(1.0, {}, x) for x in y]
        entries = _written(function, Scaled(1.0, {}, hy.time), state, known)
        # Compiled thoroughly it is no faster: what takes time is the library of its functions.
        self._values = hy.cfunc(
            [hy.expression(e.written(known, hy.par)) for e in entries], vars=y, opt_level=0
        )
        self._timed = self._values.is_time_dependent
        self._coefficients = Numeric(known.function()) if self._values.nparams else None

    def __call__(self, t: np.ndarray, y: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return one row for each entry, one column for each time; states are given in rows."""
        given = {}
        if self._timed:
            given["time"] = np.ascontiguousarray(t)
        if self._coefficients is not None:
            values = self._coefficients(p)[0][: self._values.nparams]
            given["pars"] = np.repeat(values[:, None], len(t), axis=1)
        return self._values(np.ascontiguousarray(y.T), **given)


# Integrators remember the sizes of the motion before; these are made to forget.
_CODES: weakref.WeakSet[Code] = weakref.WeakSet()

# Threads that shall compute the same digits whatever was compiled or run before.
_SAME = threading.local()


@contextlib.contextmanager
def reproducible() -> Iterator[None]:
    """Compute the same digits as any other process: by one code, from no other motion's sizes."""
    before = getattr(_SAME, "now", False)
    _SAME.now = True
    for code in list(_CODES):
        code.forget()
    try:
        yield
    finally:
        _SAME.now = before


class Code:
    """An integrator, and what its parameters are: p, sizes and unit, or coefficients from them."""

    def __init__(self, stepper: Any, coefficients: ca.Function | None):
        _CODES.add(self)
        self.stepper, self.coefficients = stepper, coefficients
        self._numeric = Numeric(coefficients) if coefficients is not None else None
        self._given: tuple[bytes, list[float], float] | None = None

    def forget(self) -> None:
        """Forget the motion before."""
        self._given = None

    def sizes(self) -> tuple[list[float], float]:
        """Return the sizes of states and the unit of time that were given last."""
        return self._given[1:] if self._given else ([1.0] * len(self.stepper.state), 1.0)

    def set(self, stepper: Any, p: np.ndarray, sizes: list[float], unit: float) -> None:
        """Set the parameters of an integrator, the sizes of its states and its unit of time."""
        given = p.tobytes(), sizes, unit
        if stepper is not self.stepper or given != self._given:
            values = np.concatenate((p, np.array([*sizes, unit])))
            if self._numeric is not None:
                values = self._numeric(values)[0]
            # Those behind the last one that the equations contain have no place.
            stepper.pars[:] = values[: len(stepper.pars)]
            if stepper is self.stepper:
                self._given = given

    def table(self, p: np.ndarray, sizes: list[float], unit: float) -> np.ndarray:
        """Return the parameters of an integrator for many rows of p; who sets them has set p."""
        self._given = b"", sizes, unit
        values = np.hstack([p, np.tile([*sizes, unit], (len(p), 1))])
        if self.coefficients is not None:
            values = np.asarray(self.coefficients(values.T)).T
        return np.ascontiguousarray(values[:, : len(self.stepper.pars)])

    def __reduce__(self) -> tuple[Any, ...]:
        return Code, (self.stepper, self.coefficients)


@dataclass
class Integrators:
    """The compiled integrators of one graph."""

    rhs: ca.Function
    runs: int = 0
    _ready: dict[str, Any] = field(default_factory=dict)
    _next_look: float = 0.0
    _ordered: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self):
        import heyoka as hy

        self.key = disk.digest(self.rhs.serialize(), hy.__version__, LOWERING)

    @cached_property
    def rates(self) -> Values:
        """The rates by themselves."""
        return Values(self.rhs)

    @cached_property
    def lost(self) -> Any:
        """What is said of a step to a state that is not finite."""
        import heyoka as hy

        return hy.taylor_outcome.err_nf_state

    def integrator(self, *, alone: bool = True) -> tuple[Code, Any]:
        """Return the best code that there is and its integrator; compile if there is none.

        Copying takes longer than a short run: only a second motion at the same time is not alone.
        """
        code = self._best()
        return code, code.stepper if alone else copy.copy(code.stepper)

    def _best(self) -> Code:
        if getattr(_SAME, "now", False):
            return self.compile("quick")
        self.runs += 1
        code = self._ready.get("optimized")
        if code is None and time.monotonic() >= self._next_look:
            code = self._from_disk("optimized")
            self._next_look = time.monotonic() + _BETWEEN_LOOKS
        if code is not None:
            return code
        if self.runs > 1 and not self._ordered:
            self._optimize_in_background()
        return self._ready.get("quick") or self._from_disk("quick") or self.compile("quick")

    def compile(self, strength: str) -> Code:
        """Compile now, and keep the result on disk."""
        import heyoka as hy

        code = self._ready.get(strength) or self._from_disk(strength)
        if code is None:
            unrolled = self.rhs.n_instructions() <= _UNROLL_UP_TO
            level = 0 if strength == "quick" else 3 if unrolled else 1
            zeros = [0.0] * self.rhs.numel_in(1)
            pairs, coefficients = equations(self.rhs)
            stepper = hy.taylor_adaptive(pairs, zeros, compact_mode=not unrolled, opt_level=level)
            code = Code(stepper, coefficients)
            self._ready[strength] = code
            disk.keep(f"{self.key}.{strength}", pickle.dumps(code))
        return code

    def _from_disk(self, strength: str) -> Any:
        content = disk.load(f"{self.key}.{strength}")
        if content is None:
            return None
        try:
            self._ready[strength] = pickle.loads(content)
        except Exception:
            # Whatever is wrong with the file, compiling again mends it.
            return None
        return self._ready[strength]

    def _optimize_in_background(self) -> None:
        lock, order = disk.path(f"{self.key}.lock"), disk.path(f"{self.key}.graph")
        if lock is None or order is None or not _background_allowed():
            self._ordered = True
            return
        # One at a time: a study of a hundred systems would start a hundred compilers otherwise.
        # Who comes meanwhile asks again at its next run.
        if not _COMPILING.acquire(blocking=False):
            return
        self._ordered = True
        child = None
        try:
            if lock.exists() and time.time() - lock.stat().st_mtime < _STALE:
                return
            lock.touch()
            order.write_text(self.rhs.serialize())
            # The child outlives this process if need be; it is reaped by whoever comes first.
            child = subprocess.Popen(
                [sys.executable, "-m", "stationary.lower.engines.optimize", str(order), str(lock)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError:
            return
        finally:
            if child is None:
                _COMPILING.release()
        threading.Thread(target=_reap, args=(child,), daemon=True).start()


def _reap(child: subprocess.Popen[bytes]) -> None:
    try:
        child.wait()
    finally:
        _COMPILING.release()


def _background_allowed() -> bool:
    return os.environ.get("STATIONARY_OPTIMIZE", "").lower() != "off"
