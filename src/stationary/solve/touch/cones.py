"""The law of a step as cone programs: the judge where an active set goes in circles.

Friction that follows the force of its contact is the bipotential of G. de Saxcé and Z.-Q. Feng,
Math. Comput. Modelling 28 (1998) 225: one convex program after another until the speeds of slip and
the impulses of contacts have found each other.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sparse

from stationary.solve.sliding.convex.cones import Cones, Solution

# To what, of velocities, programs are solved; and, for a second try, by what they are made less
# flat: both in their own units, in which masses and velocities are one.
_CLOSE, _FLAT = 1e-10, 1e-10

# By what rows give way that say the same, as those of discs do that lie on each other: with the
# solver's own 1e-8 its last digits take as many iterations again.
_GIVE = 1e-12


class Unsolved(Exception):
    """Raised where the solver of cone programs gives up; `word` is its own."""

    def __init__(self, word: str):
        self.word = word


class Programs:
    """The programs of one law, one after another.

    Contacts are left out that open faster than others close, as long as they do not close; `closed`
    are those that touched before. They are solved until they are so `close`, of velocities.
    """

    def __init__(self, law: Any, closed: np.ndarray, close: float = _CLOSE):
        rates = (law.C @ law.free + law.c)[law.normal]
        self.law, self.close = law, close
        self.kept = closed | (rates <= max(-float(rates.min(initial=0.0)), 0.0))
        self._choose()

    def _choose(self) -> None:
        small, self.rows = part(self.law, np.flatnonzero(self.kept))
        self.program = _Scaled(small, self.close)

    def after(self, v: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Return velocities and impulses of all rows, with speeds of slip as they are in v.

        Without v what slides opens its gap by as much as friction is rough: the convex law of
        M. Anitescu, Math. Program. 105 (2006) 113, the same for steps that vanish.
        """
        law = self.law
        while True:
            new, impulses = self.program.solved(v)
            rates = (law.C @ new + law.c)[law.normal]
            below = ~self.kept & (rates < 0)
            if not below.any():
                z = np.zeros(len(law.c))
                z[self.rows] = impulses
                return new, z
            self.kept |= below
            self._choose()


def _ranges(first: np.ndarray, width: np.ndarray) -> np.ndarray:
    """Return the rows first, first + 1, … of all units, one unit after the other."""
    ends = np.cumsum(width)
    return np.repeat(first - ends + width, width) + np.arange(int(ends[-1]) if len(ends) else 0)


def part(law: Any, kept: np.ndarray) -> tuple[Any, np.ndarray]:
    """Return a law of some of the contacts, and which of the rows it has."""
    place = np.full(len(law.normal) + 1, -1)
    place[kept] = np.arange(len(kept))
    units = np.flatnonzero((law.owner < 0) | (place[law.owner] >= 0))
    width = law.width[units]
    slips = _ranges(law.first[units], width)
    rows = np.concatenate([np.arange(law.fixed), law.normal[kept], slips]).astype(int)
    owner = np.where(law.owner[units] < 0, -1, place[law.owner[units]])
    return replace(
        law, C=law.C[rows], c=law.c[rows], normal=law.fixed + np.arange(len(kept)),
        first=(law.fixed + len(kept) + np.cumsum(width) - width).astype(int),
        width=width, owner=owner, grip=law.grip[units],
    ), rows  # fmt: skip


class _Scaled:
    """A law in units of its own, for tolerances are numbers: rows of one cone stay alike."""

    def __init__(self, law: Any, close: float):
        self.close = close
        self.D = 1 / np.sqrt(law.M.diagonal())
        C = sparse.csr_matrix(law.C) @ sparse.diags(self.D)
        size = np.asarray(abs(C).max(axis=1).todense()).ravel() if C.shape[0] else np.zeros(0)
        unit = np.repeat(np.arange(len(law.first)), law.width)
        slips = _ranges(law.first, law.width)
        most = np.zeros(len(law.first))
        np.maximum.at(most, unit, size[slips])
        own = law.owner >= 0
        most[own] = np.maximum(most[own], size[law.normal[law.owner[own]]])
        size[slips] = most[unit]
        size[law.normal[law.owner[own]]] = most[own]
        self.each = 1 / np.where(size > 0, size, 1.0)
        self.unit = max(
            np.abs(law.free / self.D).max(initial=0.0), np.abs(self.each * law.c).max(initial=0.0)
        ) or 1.0  # fmt: skip
        grip = law.grip.copy()
        grip[~own] /= self.unit * self.each[law.first[~own]]
        M = sparse.csc_matrix(
            sparse.diags(self.D) @ sparse.csc_matrix(law.M) @ sparse.diags(self.D)
        )
        self.law = replace(
            law, M=M, free=law.free / self.D / self.unit, grip=grip,
            C=sparse.csr_matrix(sparse.diags(self.each) @ C), c=self.each * law.c / self.unit,
        )  # fmt: skip

    def solved(self, v: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Return velocities and impulses, with speeds of slip as they are in v."""
        v, z = _solved(self.law, None if v is None else v / self.D / self.unit, self.close)
        return self.unit * self.D * v, self.unit * self.each * z


def _solved(law: Any, v: np.ndarray | None, close: float) -> tuple[np.ndarray, np.ndarray]:
    """Return velocities and impulses of the convex program of a law."""
    n, own = len(law.free), law.owner >= 0
    units = np.concatenate([np.flatnonzero(own & (law.grip > 0)), np.flatnonzero(~own)])
    rubs = np.flatnonzero(~own)
    plain = np.ones(len(law.normal), dtype=bool)
    plain[law.owner[own & (law.grip > 0)]] = False
    width = law.width[units]
    slips, mine = _ranges(law.first[units], width), np.repeat(np.arange(len(units)), width)
    # What follows the force of a contact slides on its cone; what has a limit has a slack instead.
    tops = np.cumsum(width + 1) - width - 1
    below = tops[mine] + 1 + np.arange(len(slips)) - (np.cumsum(width) - width)[mine]
    rows, scale = np.full(len(units) + len(slips), len(law.c)), np.ones(len(units) + len(slips))
    at_contact = own[units]
    rows[tops[at_contact]] = law.normal[law.owner[units[at_contact]]]
    rows[below] = slips
    scale[below] = np.where(at_contact, law.grip[units], 1.0)[mine]
    C = sparse.vstack([law.C, sparse.csr_matrix((1, n))]).tocsr()
    c = np.append(law.c, 0.0)
    slack = sparse.csr_matrix(
        (np.ones(len(rubs)), (tops[~at_contact], np.arange(len(rubs)))),
        shape=(len(rows), len(rubs)),
    )
    wide = sparse.csr_matrix((law.fixed + int(plain.sum()), len(rubs)))
    program = Cones(n + len(rubs))
    program.P = sparse.block_diag([law.M, sparse.csc_matrix((len(rubs), len(rubs)))], format="csc")
    program.cost = np.concatenate([-law.M @ law.free, law.grip[rubs]])
    smooth = law.normal[plain]
    program.zero(-sparse.hstack([C[: law.fixed], wide[: law.fixed]]), c[: law.fixed])
    program.least(-sparse.hstack([C[smooth], wide[law.fixed :]]), c[smooth])
    known = scale * c[rows]
    # A slip opens no gap: what the cone adds to it is taken back.
    if v is not None:
        speed = np.sqrt(np.bincount(mine, (law.C[slips] @ v + law.c[slips]) ** 2, len(units)))
        known[tops] += np.where(at_contact, law.grip[units] * speed, 0.0)
    cone = program.package.SecondOrderConeT
    every = sparse.hstack([sparse.diags(scale) @ C[rows], slack])
    program.add(-every, known, *(cone(int(k) + 1) for k in width))
    solution = _trusted(program, close)
    z, impulses = solution.z, np.zeros(len(law.c) + 1)
    impulses[: law.fixed] = z[: law.fixed]
    first = law.fixed + len(smooth)
    impulses[smooth] = z[law.fixed : first]
    impulses[rows] = scale * z[first : first + len(rows)]
    return solution.x[:n], impulses[:-1]


def _trusted(program: Cones, close: float) -> Solution:
    """Return the solution of a program, or say that there is none that can be used."""
    solution = program.solve(close, _GIVE)
    if not solution.solved:
        # What is flat along some directions is solved when it is a little less so.
        program.P = program.P + _FLAT * sparse.identity(program.unknowns, format="csc")
        solution = program.solve(close)
    if not solution.solved:
        raise Unsolved(solution.word)
    return solution
