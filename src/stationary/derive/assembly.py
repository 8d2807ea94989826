"""From elements to the whole: applied to all their rows, added into vectors and sparse matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from stationary.derive.elements import Element, statements
from stationary.model.layout import Layout

#: What an element contributes, as a graph over its own symbols.
Output = Callable[[Element], Any]
#: A symbol of the elements by name, a vector of the whole, and what that is over: every element is
#: handed its own entries of the vector.
Weight = tuple[str, Any, "Over"]

# Up to this many instructions a graph is expanded to scalar operations, which engines can walk and
# compile; beyond it, elements stay functions that are mapped over their rows.
_EXPAND_UP_TO = 50_000


class Over(Enum):
    """What entries of the whole belong to: coordinates, rows of constraints, contacts or slips."""

    COORDINATES = "index"
    ROWS = "row_index"
    GAPS = "gap_index"
    SLIPS = "slip_index"

    def of(self, element: Element) -> np.ndarray:
        """Return which they are of an element, shape (entries, rows of its table)."""
        return getattr(element, self.value)


COORDINATES, ROWS, GAPS, SLIPS = Over


@dataclass(frozen=True)
class Assembly:
    """The elements of a system over the symbols t, q, v, u, p of the whole."""

    layout: Layout

    @cached_property
    def elements(self) -> list[Element]:
        """What is stated plainly, and what repeats."""
        return [Element(s, self.layout) for s in statements(self.layout)]

    @cached_property
    def kind(self) -> Any:
        """Scalar symbols where no element repeats, else matrix symbols."""
        return ca.SX if all(e.rows == 1 for e in self.elements) else ca.MX

    @cached_property
    def arguments(self) -> list[Any]:
        """Symbols t, q, v, u, p."""
        system = self.layout.system
        sizes = {"t": 1, "q": system.size, "v": system.size, "u": len(system.inputs)}
        sizes["p"] = len(system.parameters)
        return [self.kind.sym(name, size) for name, size in sizes.items()]

    @cached_property
    def scalar(self) -> bool:
        """Whether the whole is small enough to be expanded to scalar operations."""
        work = (
            e.rows * ca.Function("e", e.arguments, [*_inertia(e), e.gamma]).n_nodes()
            for e in self.elements
        )
        return sum(work) < _EXPAND_UP_TO

    def function(self, name: str, inputs: list[Any], outputs: list[Any]) -> ca.Function:
        """Return a function, expanded to scalar operations if that is small enough."""
        function = ca.Function(name, inputs, outputs)
        return function.expand() if self.scalar and not function.is_a("SXFunction") else function

    def size(self, over: Over) -> int:
        """Return how many entries there are."""
        layout = self.layout
        counts = layout.system.size, layout.multipliers, layout.contacts, layout.rates
        return dict(zip(Over, counts))[over]

    # -- the whole from its elements ------------------------------------------------------------

    def total(self, output: Output) -> Any:
        """Add what all elements contribute."""
        parts = [(e, output(e)) for e in self.elements]
        contributions = (self._apply(e, part, True) for e, part in parts if not part.is_zero())
        # Where nothing contributes, the sum keeps its shape all the same.
        return sum(contributions, self.kind.zeros(parts[0][1].shape) if parts else self.kind(0))

    def vector(
        self, output: Output, over: Over = COORDINATES, weights: Sequence[Weight] = ()
    ) -> Any:
        """Add the vectors of the elements into one."""
        size = self.size(over)
        total = self.kind.zeros(size)
        for e in self.elements:
            part = output(e) if over.of(e).size else ca.SX(0, 1)
            if part.numel() and not part.is_zero():
                values = ca.vec(self._apply(e, ca.densify(part), False, weights))
                total += ca.mtimes(_scatter(over.of(e).ravel(order="F"), size), values)
        return total

    def matrix(
        self, output: Output, over: Over = COORDINATES, weights: Sequence[Weight] = ()
    ) -> Any:
        """Assemble a sparse matrix; columns are coordinates."""
        n, rows = self.layout.system.size, self.size(over)
        places, values = [], []
        for e in self.elements:
            block = output(e)
            if not block.nnz():
                continue
            i, j = (np.array(x, dtype=np.int64) for x in block.sparsity().get_triplet())
            entries = ca.vertcat(*block.nonzeros())
            values.append(ca.vec(self._apply(e, entries, False, weights)))
            places.append((e.index[j] * rows + over.of(e)[i]).ravel(order="F"))
        if not places:
            return self.kind(rows, n)
        keys, where = np.unique(np.concatenate(places), return_inverse=True)
        pattern = ca.Sparsity.triplet(rows, n, (keys % rows).tolist(), (keys // rows).tolist())
        nonzeros = ca.mtimes(_scatter(where, len(keys)), ca.vertcat(*values))
        return self.kind(pattern, nonzeros)

    def _apply(self, element: Element, output: Any, reduce: bool, weights: Sequence[Weight] = ()):
        """Apply an element to all its rows; sum over the rows, or line their results up."""
        t, q, v, u, p = self.arguments
        inputs = [*element.arguments, *(getattr(element, name) for name, _, _ in weights)]
        f = ca.Function("element", inputs, [output])
        shared = [_gather(x, element.index) for x in (q, v)]
        more = [_gather(x, over.of(element)) for _, x, over in weights]
        arguments = (t, *shared, u, p, ca.DM(element.data), *more)
        if element.rows == 1:
            return f(*arguments)
        if not self.scalar and _in_columns(f):
            columns = _columns(f, arguments, element.rows)
            return ca.sum2(columns) if reduce else columns
        # Time, inputs and parameters are the same in every row.
        mapped = f.map("rows", "serial", element.rows, [0, 3, 4], [0] if reduce else [])
        return mapped(*arguments)


def _inertia(e: Element) -> list[Any]:
    """Return what accelerations are made of: those of a chain need no mass matrix."""
    return [e.force, e.mass] if e.chain is None else [e.accelerated]


def _in_columns(f: ca.Function) -> bool:
    """Tell whether a function can be applied to whole columns, one operation after the other."""
    steps = range(f.n_instructions())
    return (
        f.sparsity_out(0).is_dense()
        and f.size2_out(0) == 1
        and all(f.instruction_id(k) != ca.OP_CALL for k in steps)
    )


def _columns(f: ca.Function, arguments: tuple, rows: int) -> Any:
    """Apply a function to every column of its arguments, each operation to all columns at once.

    That takes a thirtieth of the time of one call for each column.
    """
    inputs = [ca.MX(argument) for argument in arguments]
    known: dict[int, Any] = {}
    results = [ca.MX.zeros(1, rows)] * f.nnz_out(0)
    for k in range(f.n_instructions()):
        operation, taken, given = (
            f.instruction_id(k), f.instruction_input(k), f.instruction_output(k)
        )  # fmt: skip
        if operation == ca.OP_INPUT:
            known[given[0]] = inputs[taken[0]][taken[1], :]
        elif operation == ca.OP_CONST:
            known[given[0]] = ca.MX(f.instruction_constant(k))
        elif operation == ca.OP_OUTPUT:
            value = known[taken[0]]
            results[given[1]] = value if value.shape[1] == rows else ca.repmat(value, 1, rows)
        elif len(taken) == 1:
            known[given[0]] = ca.MX.unary(operation, known[taken[0]])
        else:
            known[given[0]] = ca.MX.binary(operation, *(known[i] for i in taken))
    return ca.vertcat(*results)


def _gather(vector: Any, index: np.ndarray) -> Any:
    return ca.reshape(vector[index.ravel(order="F").tolist()], *index.shape)


def _scatter(places: np.ndarray, size: int) -> ca.DM:
    """Return the matrix that adds entry k of a vector to entry places[k] of another."""
    count = len(places)
    pattern = ca.Sparsity(size, count, list(range(count + 1)), places.tolist())
    return ca.DM(pattern, np.ones(count))
