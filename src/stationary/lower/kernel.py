"""A system ready to be evaluated: its graph, with inputs bound, as a first-order equation."""

from __future__ import annotations

import copyreg
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import casadi as ca
import numpy as np
import scipy.sparse as sparse
import sympy as sp

from stationary.derive.graph import Graph
from stationary.errors import spelled
from stationary.lower.engines import OPTIMIZING, engine
from stationary.lower.engines.casadi import Numeric
from stationary.lower.features import Features, features_of
from stationary.lower.inputs import SLOTS, Signature, lowered, translate
from stationary.lower.instructions import kinks
from stationary.lower.looks import Looks, looks_of
from stationary.lower.switches import Switches
from stationary.model.contents import sudden
from stationary.model.layout import Layout
from stationary.model.numbers import finite
from stationary.model.system import System, require

# Which outputs of the graphs' functions are matrices.
_MATRICES = {
    "dynamics": frozenset({0}), "constraints": frozenset({2}), "stiffness": frozenset({0}),
    "tangent": frozenset({0}), "limits": frozenset({1}), "curvature": frozenset({0}),
    "damping": frozenset({0}), "mass": frozenset({0}), "slips": frozenset({2}),
}  # fmt: skip

# Up to this many operations several evaluations are one list of operations.
_EXPAND_UP_TO = 2000

# How many systems keep their graphs in memory.
_KEPT = 128


def graph_of(system: System, short: bool = False) -> Graph:
    """Return the graph of a system; equal statements share one."""
    require(system)
    return _graph(system, short)


@lru_cache(maxsize=_KEPT)
def _graph(system: System, short: bool) -> Graph:
    return Graph(system, short)


# A graph travels as its statement, and is built again where it arrives.
copyreg.pickle(Graph, lambda graph: (graph_of, (graph.system, graph.short)))  # pyright: ignore[reportArgumentType]


@lru_cache(maxsize=4 * _KEPT)
def numeric(owner: Any, name: str, *, dense: bool = False) -> Numeric:
    """Return a function of a graph or a kernel, by name, as one of arrays; made once."""
    return Numeric(getattr(owner, name), _MATRICES.get(name, frozenset()), dense=dense)


@lru_cache(maxsize=4 * _KEPT)
def sampled(owner: Any, name: str, output: int, times: int) -> Numeric:
    """Return one output of a function of a graph at several times at once.

    Its arguments t, q, v, u are given row by row, time after time; there is one p for all times.
    """
    function: ca.Function = getattr(owner, name)
    symbols: Any = function.mx_in()
    one = ca.Function(name, symbols, [ca.densify(function.call(symbols)[output])])
    plain = function.is_a("SXFunction")
    every = (one.expand() if plain else one).map(name, "serial", times, [len(symbols) - 1], [])
    small = plain and times * function.n_instructions() <= _EXPAND_UP_TO
    return Numeric(every.expand() if small else every)


@lru_cache(maxsize=_KEPT)
def kernel_of(
    system: System,
    signature: Signature,
    rows: tuple[int, ...] = (),
    damped: tuple[int, ...] = (),
    sizes: tuple[int, ...] = (),
    short: bool = False,
) -> Kernel:
    """Return the kernel of a system under inputs of this kind; equal ones share one."""
    return Kernel(graph_of(system, short), signature, rows, damped, sizes)


@dataclass(frozen=True, eq=False)
class AbstractKernel(ABC):
    """A first-order equation ẏ = f(t, y, p) of a system.

    The state y is (q, v) and, where loads or dissipation feed the energy, the work that they have
    done as a last entry.

    The vector p holds the parameters, the run-time values of the inputs and, for a constrained
    system, the rate α at which violations of the constraints decay: a new value never needs a new
    graph.

    `rows` are the rows of A that hold the motion; they are `damped` if they depend on each other,
    and where M is singular they complete it, by the `sizes` of the coordinates. Both are told in
    powers of ten.
    """

    graph: Graph
    signature: Signature
    rows: tuple[int, ...] = ()
    damped: tuple[int, ...] = ()
    sizes: tuple[int, ...] = ()

    def __reduce__(self) -> tuple:
        made_of = (self.graph.system, self.signature, self.rows, self.damped, self.sizes)
        return kernel_of, (*made_of, True) if self.graph.short else made_of

    @property
    def layout(self) -> Layout:
        """Where every name stands in q, p and u."""
        return self.graph.layout

    @cached_property
    def size(self) -> int:
        """Number of coordinates."""
        return self.graph.system.size

    @cached_property
    def states(self) -> int:
        """Number of entries of y."""
        return 2 * self.size + int(self.graph.fed)

    @cached_property
    def parameters(self) -> int:
        """Number of parameters, without the run-time values of the inputs."""
        return len(self.graph.system.parameters)

    @cached_property
    def arguments(self) -> tuple[Any, Any, Any]:
        """Symbols t, y, p."""
        kind: Any = ca.SX if self.graph.scalar else ca.MX
        values = self.parameters + sum(SLOTS[k] for k, _ in self.signature) + bool(self.rows)
        return kind.sym("t"), kind.sym("y", self.states), kind.sym("p", values)

    @cached_property
    def inner(self) -> tuple[Any, Any, Any, Any, Any]:
        """The arguments (t, q, v, u, p) of the graph, expressed by t, y, p."""
        t, y, p = self.arguments
        n, m = self.size, len(self.graph.system.parameters)
        q, v, values, slots = y[:n], y[n : 2 * n], p[:m], p[self.parameters :]
        u = lowered(self.signature, self.layout, t, q, v, values, slots)
        return t, q, v, u, values

    @cached_property
    @abstractmethod
    def rhs(self) -> ca.Function:
        """The function f(t, y, p)."""

    @cached_property
    def held(self) -> ca.Function:
        """a, λ and the power of moving constraints, as a function of t, q, v, u, p and α."""
        return self.graph.held(self.rows, self.damped, self.sizes)

    @cached_property
    def jacobian(self) -> ca.Function:
        """∂f/∂y, sparse."""
        t, y, p = self.arguments
        return ca.Function("jacobian", [t, y, p], [ca.jacobian(self.rhs(t, y, p), y)])

    @cached_property
    def slopes(self) -> ca.Function:
        """The entries of ∂f/∂y, column by column."""
        t, y, p = self.arguments
        slopes = ca.densify(ca.vec(self.jacobian(t, y, p)))
        return ca.Function("slopes", [t, y, p], [slopes])

    @cached_property
    def sudden(self) -> bool:
        """Whether time can make a force appear out of nothing."""
        return self.graph.sudden or any(k == "expression" and sudden(e) for k, e in self.signature)

    @cached_property
    def _codes(self) -> dict[str, Any]:
        return {}

    def code(self, name: str) -> Any:
        """Return what an engine makes of this kernel; made once."""
        if name not in self._codes:
            self._codes[name] = engine(name).compile(self.rhs)
        return self._codes[name]

    @cached_property
    def _served(self) -> dict[str, bool]:
        return {}

    def served_by(self, name: str) -> bool:
        """Tell whether an engine is there, can serve this kernel, and pays."""
        if name not in self._served:
            serves = engine(name)
            self._served[name] = serves.available() and serves.accepts(self.rhs)
        return self._served[name]

    @cached_property
    def features(self) -> Features | None:
        """What in the statement may be sharp, if anything."""
        return features_of(self)

    @cached_property
    def looks(self) -> Looks | None:
        """What can be seen of many states at once, if it is smooth."""
        return looks_of(self)

    @cached_property
    def kinks(self) -> list[str]:
        """Operations that make a force jump or kink."""
        return kinks(self.rhs) if self.rhs.is_a("SXFunction") else []

    @cached_property
    def timely(self) -> bool:
        """Whether forces depend on time by themselves."""
        t, y, p = self.arguments
        return ca.depends_on(self.rhs(t, y, p), t)

    @cached_property
    def switches(self) -> Switches | None:
        """What switches or peaks; none where neither can be told from the graph."""
        if not self.rhs.is_a("SXFunction"):
            return None
        return Switches(self.rhs) if self.timely or self.kinks else None

    @property
    def branch(self) -> bool:
        """Whether the sides of switches are values at run time."""
        return False

    @cached_property
    def inputs(self) -> ca.Function:
        """The inputs u as a function of t, y, p."""
        return ca.Function("inputs", list(self.arguments), [self.inner[3]])

    def expression(self, e: sp.Expr, data: tuple[sp.Symbol, ...] = ()) -> ca.Function:
        """Lower an expression to a function of t, y, the parameters and data given as columns."""
        kind = type(self.arguments[0])
        t, y, n = kind.sym("t"), kind.sym("y", self.states), self.size
        p, d = kind.sym("p", len(self.graph.system.parameters)), kind.sym("d", len(data))
        named = {s: d[i] for i, s in enumerate(data)}
        value = translate(e, self.layout, t, y[:n], y[n : 2 * n], p, named)
        return ca.Function("e", [t, y, p, d], [value])


@dataclass(frozen=True, eq=False)
class AbstractLaw(AbstractKernel):
    """A kernel whose law is another than that of its graph."""

    law: ca.Function | None = None

    @cached_property
    def rhs(self) -> ca.Function:
        """The function f(t, y, p)."""
        assert self.law is not None
        return self.law

    @cached_property
    def states(self) -> int:
        """Number of entries of y: contacts have more than their graph tells."""
        return self.rhs.numel_out(0)

    @cached_property
    def arguments(self) -> tuple[Any, Any, Any]:
        """Symbols t, y, p."""
        return tuple(self.rhs.sx_in())  # pyright: ignore[reportReturnType]

    @property
    def branch(self) -> bool:
        """Whether the law is another than that of the graph."""
        return True


@dataclass(frozen=True, eq=False)
class Kernel(AbstractKernel):
    """The equation of motion as it is stated."""

    @cached_property
    def rhs(self) -> ca.Function:
        """The function f(t, y, p)."""
        inner = self.inner
        power = self.graph.energies(*inner)[3]
        if self.rows:
            acceleration, _, supplied = self.held(*inner, self.arguments[2][-1])
            power += supplied
        else:
            acceleration = self.graph.acceleration(*inner)
        rates = [inner[2], acceleration, *([power] if self.graph.fed else [])]
        options = {"cse": True} if self.graph.scalar else {}
        dy = ca.densify(ca.vertcat(*rates))
        return ca.Function("rhs", list(self.arguments), [dy], ["t", "y", "p"], ["dy"], options)


@spelled
@dataclass(frozen=True, eq=False)
class Compiled:
    """A system to be evaluated at given states: what `compile` returns.

    Vectors q and v follow the order of ``system.coordinates``; ``params`` overrides defaults.

    Examples
    --------
    >>> x, k = st.coordinates("x"), st.parameters(k=3.0)
    >>> spring = st.compile(st.System(kinetic=x.dot**2 / 2, potential=k * x**2 / 2))
    >>> spring.potential([2.0]), spring.gradient([2.0]), spring.acceleration([2.0], [0.0])
    (6.0, array([6.]), array([-6.]))
    """

    system: System
    params: Mapping[Any, float] | None = None

    @cached_property
    def graph(self) -> Graph:
        """The graph behind the numbers."""
        return graph_of(self.system)

    def _call(self, name: str, q: Any, v: Any, t: float, u: Any) -> Any:
        n, k = self.system.size, len(self.system.inputs)
        q, v = _entries("q", q, n), _entries("v", np.zeros(n) if v is None else v, n)
        u = _entries("u", np.zeros(k) if u is None else u, k)
        return numeric(self.graph, name)(t, q, v, u, self.graph.layout.values(self.params))

    def kinetic(self, q: Any, v: Any, t: float = 0.0) -> float:
        """Return T."""
        return float(self._call("energies", q, v, t, None)[0][0])

    def potential(self, q: Any, t: float = 0.0) -> float:
        """Return U."""
        return float(self._call("energies", q, None, t, None)[0][1])

    def internal(self, q: Any, t: float = 0.0, u: Any = None) -> float:
        """Return U − W."""
        return float(self._call("internal", q, None, t, u)[0][0])

    def gradient(self, q: Any, t: float = 0.0, u: Any = None) -> np.ndarray:
        """Return ∂(U − W)/∂q."""
        return self._call("internal", q, None, t, u)[1]

    def hessian(self, q: Any, t: float = 0.0, u: Any = None) -> sparse.csc_matrix:
        """Return ∂²(U − W)/∂q², sparse."""
        return self._call("stiffness", q, None, t, u)[0]

    def mass(self, q: Any, v: Any = None, t: float = 0.0) -> sparse.csc_matrix:
        """Return M, sparse."""
        return self._call("dynamics", q, v, t, None)[0]

    def force(self, q: Any, v: Any = None, t: float = 0.0, u: Any = None) -> np.ndarray:
        """Return the right-hand side of M a = force."""
        return self._call("dynamics", q, v, t, u)[1]

    def acceleration(self, q: Any, v: Any = None, t: float = 0.0, u: Any = None) -> np.ndarray:
        """Return a; constraints hold it, whatever rows of them are redundant."""
        rows = self.graph.layout.multipliers
        if not rows:
            return self._call("acceleration", q, v, t, u)[0]
        n, k = self.system.size, len(self.system.inputs)
        q, v = _entries("q", q, n), _entries("v", np.zeros(n) if v is None else v, n)
        u = _entries("u", np.zeros(k) if u is None else u, k)
        # Rows that complete M give way by what they weigh.
        A, M = self._call("constraints", q, v, t, u)[2], self.mass(q, v, t).diagonal()
        squares, heavy = abs(A).power(2) @ np.ones(n), (A != 0) @ np.abs(M)
        gives = np.divide(squares, heavy, out=np.zeros(rows), where=heavy > 0)
        gives = np.where(gives > 0, gives, gives.max() or 1.0)
        damped = tuple(np.round(np.log10(gives)).astype(int).tolist())
        held = self.graph.held(tuple(range(rows)), damped, (0,) * n)
        return Numeric(held)(t, q, v, u, self.graph.layout.values(self.params), 0.0)[0]

    def optimize(self) -> Compiled:
        """Compile the equations of motion to optimized machine code now, and keep it on disk.

        `simulate` does this by itself, in the background, for a system that is run repeatedly.
        Inputs count as numbers; those given as expressions are compiled when they are run. A system
        too large to be worth compiling is left as it is.
        """
        signature = tuple(("number", None) for _ in self.system.inputs)
        rows = tuple(range(self.graph.layout.multipliers))
        kernel = kernel_of(self.system, signature, rows)
        for name in OPTIMIZING:
            if kernel.served_by(name):
                kernel.code(name).compile("optimized")
        return self


def _entries(name: str, values: Any, count: int) -> np.ndarray:
    """Take exactly as many finite numbers as a vector has entries."""
    each, order = ("input", "inputs") if name == "u" else ("coordinate", "coordinates")
    advice = f"Give one number for each {each}, in the order of system.{order}."
    return finite(values, (count,), f"{name} is not a vector of {count} finite numbers.", advice)


@spelled
def compile(system: System, *, params: Mapping[Any, float] | None = None) -> Compiled:
    """Return a system ready to be evaluated at given states.

    Parameters
    ----------
    system : System
    params : dict, optional
        Values of parameters, by symbol or by name; the others have their defaults.

    Returns
    -------
    Compiled
        With methods ``kinetic``, ``potential``, ``gradient``, ``hessian``, ``mass``, ``force`` and
        ``acceleration``; matrices are sparse.

    Examples
    --------
    >>> r, k = st.coordinates("r", shape=(3, 1)), st.parameters(k=4.0)
    >>> chain = st.System(potential=st.each(lambda a, b: k * (b[0] - a[0]) ** 2, r[:-1], r[1:]))
    >>> st.compile(chain).hessian([0.0, 1.0, 2.0]).toarray()
    array([[ 8., -8.,  0.],
           [-8., 16., -8.],
           [ 0., -8.,  8.]])
    """
    return Compiled(system, params)
