"""Time stepping on velocities and impulses, for many contacts: one convex problem after another.

J. J. Moreau, Unilateral contact and dry friction in finite freedom dynamics, CISM 302 (1988); the
friction cones by the bipotential of G. de Saxcé and Z.-Q. Feng, Math. Comput. Modelling 28 (1998)
225.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import casadi as ca
import numpy as np
import scipy.sparse as sparse
from scipy.sparse.linalg import splu

from stationary.derive.touch import Touch as TouchGraph
from stationary.errors import StatementError, say
from stationary.lower.engines.casadi import Numeric
from stationary.lower.inputs import lowered
from stationary.result.changes import Change
from stationary.result.status import Status
from stationary.solve.progress import Progress
from stationary.solve.sliding.cones import clarabel

# How much of a violation is taken back in a step.
_PUSHED = 0.2

# Rounds in which speeds of slip and impulses of contacts find each other.
_ROUNDS = 40
_AGREE = 1e-9


@dataclass(frozen=True)
class Moreau:
    """Steps of one length on velocities and impulses: order one, for many contacts.

    Velocities after a step and the impulses in it satisfy Newton's law of restitution and Coulomb's
    law at all contacts at once. Contacts without rebound do not close further than to touch; those
    with it rebound once they have closed.

    Parameters
    ----------
    step : float
        The length of a step.

    Examples
    --------
    >>> y = st.coordinates("y")
    >>> ball = st.System(
    ...     kinetic=y.dot**2 / 2, potential=9.81 * y, contacts=[st.Contact(y, name="floor")]
    ... )
    >>> motion = st.simulate(ball, span=(0, 1), start={y: 1.0}, method=st.Moreau(step=1e-3))
    >>> motion.method, bool(abs(motion[y][-1]) < 1e-9)
    ('Moreau', True)
    """

    step: float

    def __post_init__(self):
        number = isinstance(self.step, (int, float, np.number)) and np.isfinite(self.step)
        if not (number and self.step > 0):
            raise StatementError(
                say(
                    "the step of a time stepping is a positive number.",
                    f"Found step={self.step!r}.",
                    "Give the length of a step, as in st.Moreau(step=1e-3).",
                )
            )


@lru_cache(maxsize=16)
def _look(touch: TouchGraph, signature: Any) -> Numeric:
    """Return M, force, rows of constraints, gaps and slips, limits, as one function; sparse."""
    graph = touch.graph
    kind: Any = ca.SX if graph.scalar else ca.MX
    sizes = [x.numel() for x in touch.arguments]
    t, q, v, p = (kind.sym(name, k) for name, k in zip("tqvp", (1, sizes[1], sizes[2], sizes[4])))
    slots = kind.sym("slots", 64)
    u = lowered(signature, graph.layout, t, q, v, p, slots)
    inner = (t, q, v, u, p)
    sense = kind.ones(sizes[5]) if sizes[5] else kind(0, 1)
    M, force = graph.dynamics(*inner)
    R, _, A, _, ahead = graph.constraints(*inner)
    value, rate, _, slope, drive = touch.rows(*inner, sense)
    _, now, _, back = touch.limits(*inner, sense)
    power = graph.energies(*inner)[3]
    outputs = [M, force, R, A, ahead, value, rate, slope, drive, now, back, power]
    made = ca.Function("moreau", [t, q, v, p, slots], outputs)
    return Numeric(made, frozenset({0, 3, 7}))


class Stepper:
    """One run of time steps."""

    def __init__(self, touch: TouchGraph, driven: Any, params: np.ndarray, rows: tuple[int, ...]):
        self.touch, self.driven, self.params, self.rows = touch, driven, params, list(rows)
        self.look = _look(touch, driven.signature)
        self.size = touch.graph.system.size
        self.changes: list[Change] = []
        self.shut = np.zeros(touch.gaps, dtype=bool)
        self.rubs = {rub.gap: rub for rub in touch.rubs if rub.gap is not None}
        self.heat = self.struck = self.work = 0.0

    def _at(self, t: float, q: np.ndarray, v: np.ndarray) -> list[Any]:
        slots = np.zeros(64)
        known = self.driven.slots(t)
        slots[: len(known)] = known
        return self.look(t, q, v, self.params, slots)

    def step(
        self, t: float, h: float, q: np.ndarray, v: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return places and velocities a step later, and the forces of all rows."""
        touch, gaps = self.touch, self.touch.gaps
        M, force, R, A, ahead, value, rate, slope, drive, now, back, power = self._at(t, q, v)
        solve = splu(M.tocsc()).solve
        free = v + h * solve(force)
        slope, A = slope.tocsr(), A.tocsr()[self.rows]
        gap = value[:gaps]
        # Without rebound a contact closes where it touches, at the end of a step; with it, once it
        # has. What rounding and bends leave of a violation goes slowly.
        soft = back == 0
        coming = gap + h * np.minimum(slope[:gaps] @ free + drive[:gaps], 0.0)
        near = np.where(soft, coming <= 0, gap <= 0) | (gap <= 0)
        ahead_of = np.where(gap > 0, gap, _PUSHED * gap) / h
        shift = np.where(soft, ahead_of, back * np.minimum(rate[:gaps], 0.0))
        problem = _Problem(M, free, h)
        problem.fix(A, ahead[self.rows] + R[self.rows] / h)
        places = np.flatnonzero(near)
        rough = [i for i in places.tolist() if i in self.rubs and now[self.rubs[i].entries[0]] > 0]
        plain = np.setdiff1d(places, rough)
        problem.push(slope[plain], drive[plain] + shift[plain], plain.tolist())
        for i in rough:
            rub = self.rubs[i]
            entries = [gaps + k for k in rub.entries]
            problem.contact(i, slope[[i]], drive[i] + shift[i], slope[entries], drive[entries],
                            entries, float(now[rub.entries[0]]))  # fmt: skip
        for rub in touch.rubs:
            if rub.gap is None:
                entries = [gaps + k for k in rub.entries]
                problem.rub(slope[entries], drive[entries], entries, h * now[rub.entries[0]])
        after, pushes = problem.solved(len(value))
        self._account(t, h, (v, after), rate, slope, drive, pushes, near, power)
        z = np.concatenate([problem.fixed / h, pushes / h])
        return q + h * after, after, z

    def _account(
        self, t: float, h: float, pair: Any, rate: np.ndarray, slope: Any, drive: np.ndarray,
        pushes: np.ndarray, near: np.ndarray, power: np.ndarray,
    ) -> None:  # fmt: skip
        """Note what friction and impacts took, and what changed."""
        gaps, (before, after) = self.touch.gaps, pair
        speeds = slope @ ((before + after) / 2) + drive
        self.heat -= float(pushes[gaps:] @ speeds[gaps:])
        self.struck -= float(pushes[:gaps] @ speeds[:gaps])
        self.work += h * float(power[0]) - float(pushes @ drive)
        shut = pushes[:gaps] > 0
        for i in np.flatnonzero(shut & ~self.shut):
            push = float(pushes[i])
            self.changes.append(Change(float(t + h), "impact", self.touch.names[i], push))
        for i in np.flatnonzero(self.shut & ~shut):
            self.changes.append(Change(float(t + h), "lift", self.touch.names[i]))
        self.shut = shut


class _Problem:
    """min ½ (v − v₀)ᵀ M (v − v₀) + Σ limit |slip| so that contacts do not close, in cones."""

    def __init__(self, M: Any, free: np.ndarray, h: float):
        self.M, self.free, self.h = M, free, h
        self.package = clarabel()
        self.blocks: list[tuple[Any, np.ndarray, Any]] = []
        self.owners: list[tuple[list[int], float]] = []
        self.speeds: list[tuple[int, Any, np.ndarray, float]] = []
        self.costs: list[float] = []
        self.fixed = np.zeros(0)
        self.count = 0

    def fix(self, A: Any, ahead: np.ndarray) -> None:
        """Keep constraints."""
        self.count = A.shape[0]
        if self.count:
            self.blocks.append((A, ahead, self.package.ZeroConeT(self.count)))
            self.owners.append(([], 0.0))

    def push(self, G: Any, ahead: np.ndarray, rows: list[int]) -> None:
        """Keep contacts without friction from closing."""
        if rows:
            self.blocks.append((G, ahead, self.package.NonnegativeConeT(len(rows))))
            self.owners.append((rows, -1.0))

    def contact(
        self, row: int, G: Any, ahead: float, B: Any, c: np.ndarray, slips: list[int], mu: float
    ) -> None:
        """Keep a contact from closing, with friction along its slips."""
        self.speeds.append((len(self.blocks), B, c, mu))
        cone = self.package.SecondOrderConeT(1 + len(slips))
        self.blocks.append((sparse.vstack([G, mu * B]), np.append(ahead, mu * c), cone))
        self.owners.append(([row, *slips], mu))

    def rub(self, B: Any, c: np.ndarray, slips: list[int], limit: float) -> None:
        """Let friction of a limit act along slips."""
        self.costs.append(limit)
        width = B.shape[0]
        cone = self.package.SecondOrderConeT(1 + width)
        top = sparse.csr_matrix((1, B.shape[1]))
        self.blocks.append((sparse.vstack([top, B]), np.append(0.0, c), cone))
        self.owners.append(([-1, *slips], 1.0))

    def solved(self, rows: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the velocities and the impulses of all rows."""
        if not self.blocks:
            return self.free, np.zeros(rows)
        n, extra = len(self.free), len(self.costs)
        A = sparse.vstack([b[0] for b in self.blocks]).tocsc()
        ahead = np.concatenate([b[1] for b in self.blocks])
        starts = np.cumsum([0, *(len(b[1]) for b in self.blocks)])
        free = [k for k, (owner, _) in enumerate(self.owners) if owner[:1] == [-1]]
        slack = sparse.csc_matrix(
            (np.ones(extra), (starts[free], np.arange(extra))), shape=(A.shape[0], extra)
        )
        # In units of its own, for tolerances are numbers: momenta of the size of the largest, rows
        # of the size one, those of one cone alike.
        D = 1 / np.sqrt(self.M.diagonal())
        rows_of = np.repeat(np.arange(len(self.blocks)), np.diff(starts))
        sizes = np.zeros(len(self.blocks))
        np.maximum.at(
            sizes, rows_of, np.asarray(abs(A @ sparse.diags(D)).max(axis=1).todense()).ravel()
        )
        each = (1 / np.where(sizes > 0, sizes, 1.0))[rows_of]
        unit = max(np.abs(self.free / D).max(initial=0.0), np.abs(each * ahead).max()) or 1.0
        P = sparse.block_diag(
            [sparse.diags(D) @ self.M @ sparse.diags(D), sparse.csc_matrix((extra, extra))]
        ).tocsc()
        costs = np.asarray(self.costs) / (unit * each[starts[free]])
        linear = np.concatenate([-D * (self.M @ self.free) / unit, costs])
        whole = -sparse.hstack([sparse.diags(each) @ A @ sparse.diags(D), slack]).tocsc()
        cones = [b[2] for b in self.blocks]
        settings = self.package.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
        v, before = self.free, None
        z = np.zeros(len(ahead))
        for _ in range(_ROUNDS):
            # A slip opens no gap: what the cone adds to it is taken back.
            for k, B, c, mu in self.speeds:
                ahead[starts[k]] = self.blocks[k][1][0] + mu * float(np.linalg.norm(B @ v + c))
            found = self.package.DefaultSolver(
                sparse.triu(P).tocsc(), linear, whole, each * ahead / unit, cones, settings
            ).solve()
            v, z = unit * D * np.array(found.x)[:n], unit * each * np.array(found.z)
            moved = np.inf if before is None else np.abs((v - before) / D).max()
            size = np.abs(v / D).max(initial=0.0) + np.abs(self.free / D).max(initial=0.0)
            if not self.speeds or moved <= _AGREE * size:
                break
            before = v
        pushes = np.zeros(rows)
        for k, (owner, mu) in enumerate(self.owners):
            part = z[starts[k] : starts[k + 1]]
            if not owner:
                self.fixed = part
            elif mu < 0:
                pushes[owner] = part
            else:
                if owner[0] >= 0:
                    pushes[owner[0]] = part[0]
                pushes[owner[1:]] = mu * part[1:]
        # Where nothing pushes, interior points leave a trace.
        pushes[np.abs(pushes) <= 1e-10 * np.abs(pushes).max(initial=0.0)] = 0.0
        return v, pushes


def stepped(
    touch: TouchGraph, driven: Any, params: np.ndarray, rows: tuple[int, ...], q: np.ndarray,
    v: np.ndarray, grid: np.ndarray, method: Moreau,
) -> tuple[Stepper, np.ndarray, np.ndarray, np.ndarray, Status]:  # fmt: skip
    """Return the stepper, output times, states there, forces, and how it ended.

    States are places, velocities, and what was supplied, rubbed off and struck off.
    """
    stepper = Stepper(touch, driven, params, rows)
    count = max(1, int(np.ceil((grid[-1] - grid[0]) / method.step * (1 - 1e-12))))
    h = (grid[-1] - grid[0]) / count
    states = [np.concatenate([q, v, np.zeros(3)])]
    forces = [np.zeros(len(rows) + touch.gaps + len(touch.dry))]
    times = [float(grid[0])]
    progress = Progress(touch.graph.system.name or "simulate")
    status = Status("done", "reached the end of the span")
    wanted = set(np.unique(np.round((grid - grid[0]) / h)).astype(int).tolist())
    try:
        for k in range(count):
            t = grid[0] + k * h
            q, v, z = stepper.step(float(t), h, q, v)
            if k + 1 in wanted:
                times.append(float(grid[0] + (k + 1) * h))
                more = [stepper.work, stepper.heat, stepper.struck]
                states.append(np.concatenate([q, v, more]))
                forces.append(z)
            progress.show((k + 1) / count)
    except KeyboardInterrupt:
        status = Status("interrupted", "stopped from the keyboard; what there is was kept")
    finally:
        progress.close()
    return stepper, np.array(times), np.array(states), np.array(forces), status
