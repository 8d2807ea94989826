"""The kernel of a system that touches and rubs: one graph for all its modes.

What is closed, what sticks and which way the rest slides are values at run time, so that no change
needs new code.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import casadi as ca
import numpy as np
import scipy.sparse as sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee

from stationary.derive.touch import Touch
from stationary.errors import DerivationError
from stationary.lower.inputs import SLOTS, Signature
from stationary.lower.kernel import AbstractKernel, graph_of
from stationary.model.system import System

# Parts of what they are summed from below which rates are rounding.
_ROUNDING = 64 * np.finfo(float).eps


@lru_cache(maxsize=64)
def touch_of(system: System) -> Touch:
    """Return the graph of what touches and rubs; equal statements share one."""
    return Touch(graph_of(system))


@lru_cache(maxsize=64)
def touching_of(
    system: System, signature: Signature, rows: tuple[int, ...], play: tuple[int, ...] | None = None
) -> Touching:
    """Return the kernel of a system that touches; equal ones share one."""
    return Touching(graph_of(system), signature, rows, play=play)


@dataclass(frozen=True, eq=False)
class Touching(AbstractKernel):
    """The equation ẏ = f(t, y, p) in a mode.

    The state is (q, v, work, heat): what was supplied, and what friction has taken. The vector p
    holds the parameters, the mode, and the run-time values of the inputs. A mode is: the rate α at
    which violations decay; for each contact 1 if it is closed; for each rub 1 if it sticks; for
    each rate its direction, zero where nothing rubs, and the place at which it sticks; for each
    contact and each rate whether its row is held, and the force that it has if others hold it.

    Rows in `play` have forces that are solved for; the others have their share, and cost nothing.
    None means all.
    """

    play: tuple[int, ...] | None = None

    def __reduce__(self) -> tuple:
        return touching_of, (self.graph.system, self.signature, self.rows, self.play)

    @property
    def touch(self) -> Touch:
        """What touches and rubs."""
        return touch_of(self.graph.system)

    @cached_property
    def states(self) -> int:
        """Number of entries of y."""
        return 2 * self.size + 2

    @cached_property
    def modes(self) -> int:
        """Number of entries of a mode."""
        touch = self.touch
        return 1 + 3 * touch.gaps + len(touch.rubs) + 4 * len(touch.dry)

    @cached_property
    def parameters(self) -> int:
        """Number of parameters and entries of a mode."""
        return len(self.graph.system.parameters) + self.modes

    @cached_property
    def arguments(self) -> tuple[Any, Any, Any]:
        """Symbols t, y, p."""
        values = self.parameters + sum(SLOTS[k] for k, _ in self.signature)
        values += bool(self.rows)
        return ca.SX.sym("t"), ca.SX.sym("y", self.states), ca.SX.sym("p", values)

    @cached_property
    def mode(self) -> tuple[Any, Any, Any, Any, Any, Any, Any]:
        """The entries of a mode: α, closed, sticks, directions, anchors, held rows, shares."""
        touch, first = self.touch, len(self.graph.system.parameters)
        dry = len(touch.dry)
        rows = touch.gaps + dry
        sizes = [1, touch.gaps, len(touch.rubs), dry, dry, rows, rows]
        ends = np.cumsum([first, *sizes])
        return tuple(self.arguments[2][a:b, :] for a, b in zip(ends[:-1], ends[1:]))  # pyright: ignore[reportReturnType]

    @cached_property
    def _rows(self) -> tuple[Any, ...]:
        """Values, rates, γ, slopes and drives of all rows, limits in motion and at rest."""
        touch, inner = self.touch, self.inner
        sense = ca.SX.ones(touch.arguments[-1].numel())
        along = self.mode[3]
        for k, rate in enumerate(touch.dry):
            sense[rate] = along[k]
        rows = touch.rows(*inner, sense)
        moving, _, rest, _ = touch.limits(*inner, sense)
        return (*rows, moving, rest)

    @property
    def rates(self) -> Any:
        """The rates of all rows of contacts and slips."""
        return self._rows[1]

    def _directions(self, begins: bool) -> Any:
        """Return the direction of every slip: as the mode says, along its rate if it has several.

        What begins to slide has no rate yet: where that is told, and where `begins` asks for it of
        a rate that is rounding, the mode has its direction. The place of the first of several rates
        tells it while they slide.
        """
        touch, along, anchor = self.touch, self.mode[3], self.mode[4]
        directions, rates = ca.SX(along), self._rows[1][touch.gaps :, :]
        for j, rub in enumerate(touch.rubs):
            if len(rub.entries) > 1:
                k = list(rub.entries)
                slides = (1 - self.mode[2][j]) * ca.sumsqr(along[k]) * (1 - anchor[k[0]])
                # One where it does not slide, and exactly zero where it does: directions are of
                # length one but for rounding, which is no speed.
                kept = 0.5 - slides + ca.sqrt((0.5 - slides) ** 2)
                if begins:
                    slopes = self._rows[3][[touch.gaps + i for i in k], :]
                    room = _ROUNDING * ca.norm_1(ca.fabs(slopes) @ ca.fabs(self.inner[2]))
                    slow = ca.norm_2(rates[k]) <= room
                    kept = ca.if_else(slow, 1, kept)
                # Where it is not asked for, a speed is one.
                speed = ca.sqrt(ca.sumsqr((1 - kept) * rates[k]) + kept)
                directions[k] = kept * along[k] + (1 - kept) * rates[k] / speed
        return directions

    @cached_property
    def solved(self) -> tuple[Any, Any]:
        """Accelerations and the forces of all rows (constraints, gaps, slips): violations decay."""
        return self._solved(self.mode[0], False)

    @cached_property
    def looked(self) -> tuple[Any, Any]:
        """The same without what violations ask for, which is rounding.

        Also where something is just beginning to slide along several rates.
        """
        return self._solved(ca.SX(0), True)

    def _solved(self, alpha: Any, begins: bool) -> tuple[Any, Any]:
        directions = self._directions(begins)
        touch, inner = self.touch, self.inner
        _, _, sticks, _, anchor, holds, share = self.mode
        value, rate, gamma, slope, _, moving, _ = self._rows
        R, Rdot, A, bend, _ = self.graph.constraints(*inner)
        kept, gaps, r = list(self.rows), touch.gaps, len(self.rows)
        count = slope.shape[0]
        play = list(range(count)) if self.play is None else list(self.play)
        M, force = self.graph.inertial(*inner)
        given = [k for k in range(count) if k not in set(play)]
        force += ca.mtimes(slope[given, :].T, share[given, :])
        place = ca.vertcat(value[:gaps, :], value[gaps:, :] - anchor)
        C = ca.sparsify(ca.vertcat(A[kept, :], slope[play, :]))
        wanted = -ca.vertcat(
            (bend + 2 * alpha * Rdot + alpha**2 * R)[kept, :],
            (gamma + 2 * alpha * rate + alpha**2 * place)[play, :],
        )
        factors = ca.ldl(M)
        free, answers = ca.ldl_solve(force, *factors), ca.ldl_solve(C.T, *factors)
        W = ca.mtimes(C, answers)
        lacks = wanted - ca.mtimes(C, free)
        held = ca.vertcat(ca.SX.ones(r), holds[play, :])
        K = ca.diag(held) @ W + ca.diag(1 - held)
        known = held * lacks + (1 - held) * ca.vertcat(ca.SX.zeros(r), share[play, :])
        where = {row: r + k for k, row in enumerate(play)}
        for j, rub in enumerate(touch.rubs):
            for k in rub.entries:
                if gaps + k not in where:
                    continue
                i, rubs = where[gaps + k], (1 - sticks[j]) * directions[k] * moving[k]
                if rub.gap is None:
                    known[i] -= rubs
                else:
                    K[i, where[rub.gap]] += rubs
        order = _order(W.sparsity())
        unknowns = _eliminated(K[order, order], known[order, :])[np.argsort(order).tolist(), :]
        z = ca.vertcat(ca.SX.zeros(r), share)
        for i in range(r):
            z[i] = unknowns[i]
        for row, i in where.items():
            z[r + row] = unknowns[i]
        return free + ca.mtimes(answers, unknowns), z

    @cached_property
    def rhs(self) -> ca.Function:
        """The function f(t, y, p)."""
        t, y, p = self.arguments
        inner, gaps, r = self.inner, self.touch.gaps, len(self.rows)
        a, z = self.solved
        _, rate, _, _, drive, *_ = self._rows
        ahead = self.graph.constraints(*inner)[4][list(self.rows), :]
        supplied = self.graph.energies(*inner)[3] - ca.dot(z, ca.vertcat(ahead, drive))
        heat = -ca.dot(z[r + gaps :, :], rate[gaps:, :])
        rates = ca.densify(ca.vertcat(inner[2], a, supplied, heat))
        return ca.Function("rhs", [t, y, p], [rates], ["t", "y", "p"], ["dy"], {"cse": True})

    @cached_property
    def forces(self) -> ca.Function:
        """Accelerations and the forces of all rows, as functions of t, y, p."""
        outputs = [ca.densify(x) for x in self.looked]
        return ca.Function("forces", list(self.arguments), outputs, {"cse": True})

    @cached_property
    def margins(self) -> ca.Function:
        """How far a mode is from its end: gaps, normal forces, what static friction has left.

        For every contact its gap or its force; for every rub with one rate two margins, what is
        left to stick with both ways, or its speed and 1; with several rates what is left of the
        square of the limit, or its speed along the direction of the mode, and 1.
        """
        touch, gaps, r = self.touch, self.touch.gaps, len(self.rows)
        _, closed, sticks, along, *_ = self.mode
        value, rate, _, _, _, _, rest = self._rows
        _, z = self.looked
        push, rub_force = z[r : r + gaps, :], z[r + gaps :, :]
        margins = [closed[i] * push[i] + (1 - closed[i]) * value[i] for i in range(gaps)]
        for j, rub in enumerate(touch.rubs):
            k = list(rub.entries)
            limit = rest[k[0]] * (1 if rub.gap is None else push[rub.gap])
            slides = ca.dot(along[k], rate[[gaps + i for i in k]])
            slides = ca.if_else(ca.sumsqr(along[k]) > 0, slides, 1)
            if len(k) == 1:
                first, second = limit - rub_force[k[0]], limit + rub_force[k[0]]
            else:
                first, second = limit**2 - ca.sumsqr(rub_force[k]), 1
            margins += [sticks[j] * first + (1 - sticks[j]) * slides,
                     sticks[j] * second + (1 - sticks[j])]  # fmt: skip
        given = list(self.arguments)
        return ca.Function("margins", given, [ca.densify(ca.vertcat(*margins))], {"cse": True})


def _order(pattern: ca.Sparsity) -> list[int]:
    """Return an order of rows in which neighbours stand together: elimination stays sparse."""
    if not pattern.nnz():
        return []
    ones = np.ones(pattern.nnz())
    graph = sparse.csc_matrix((ones, pattern.row(), pattern.colind()), shape=pattern.shape)
    return reverse_cuthill_mckee(graph.tocsr(), symmetric_mode=True).tolist()


def _eliminated(K: Any, known: Any) -> Any:
    """Solve K x = known in the graph, by elimination in the order of the rows."""
    N, pattern = K.shape[0], K.sparsity()
    rows: list[dict[int, Any]] = [{} for _ in range(N)]
    places = list(zip(pattern.row(), pattern.get_col()))
    _refuse_dense(N, max((abs(i - j) for i, j in places), default=0))
    for (i, j), entry in zip(places, K.elements()):
        if not entry.is_zero():
            rows[i][j] = entry
    below: list[set[int]] = [{i for i in range(N) if k in rows[i] and i > k} for k in range(N)]
    x = [known[i] for i in range(N)]
    for k in range(N):
        ahead = {j: entry for j, entry in rows[k].items() if j > k}
        for i in sorted(below[k]):
            factor = rows[i][k] / rows[k][k]
            x[i] -= factor * x[k]
            for j, entry in ahead.items():
                rows[i][j] = rows[i].get(j, 0) - factor * entry
                if i > j:
                    below[j].add(i)
    for k in range(N - 1, -1, -1):
        for j, entry in sorted(rows[k].items()):
            if j > k:
                x[k] -= entry * x[j]
        x[k] /= rows[k][k]
    return ca.vertcat(*x) if x else ca.SX(0, 1)


# Products that an elimination may take: as many are compiled within half a minute.
_MOST = 10**6


def _refuse_dense(rows: int, band: int) -> None:
    """Refuse so many forces on the same few coordinates that their graph is never finished."""
    if rows * band**2 > _MOST:
        raise DerivationError(
            "too many contacts and frictions act on the same coordinates.",
            f"Found {rows} that depend on each other, expected about {round(_MOST ** (1 / 3))}.",
            "Step over them, by method=st.Moreau(step=…), or join those that rub alike.",
        )
