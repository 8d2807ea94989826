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

from stationary.solve.sliding.cones import clarabel

# Rounds in which speeds of slip and impulses of contacts find each other.
_ROUNDS = 40
_AGREE = 1e-9


def solved(law: Any, closed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return velocities and impulses of all rows; `closed` are the contacts that touched before.

    Contacts are left out that open faster than others close, as long as they do not close.
    """
    rates = (law.C @ law.free + law.c)[law.normal]
    kept = closed | (rates <= max(-float(rates.min(initial=0.0)), 0.0))
    z = np.zeros(len(law.c))
    while True:
        small, rows = _part(law, np.flatnonzero(kept))
        v, part = _scaled(small)
        rates = (law.C @ v + law.c)[law.normal]
        below = ~kept & (rates < 0)
        if not below.any():
            z[rows] = part
            return v, z
        kept |= below


def _part(law: Any, kept: np.ndarray) -> tuple[Any, np.ndarray]:
    """Return a law of some of the contacts, and which of the rows it has."""
    place = np.full(len(law.normal) + 1, -1)
    place[kept] = np.arange(len(kept))
    units = np.flatnonzero((law.owner < 0) | (place[law.owner] >= 0))
    slips = [law.first[k] + np.arange(law.width[k]) for k in units]
    rows = np.concatenate([np.arange(law.fixed), law.normal[kept], *slips]).astype(int)
    ends = law.fixed + len(kept) + np.cumsum([0, *law.width[units]])[:-1].astype(int)
    owner = np.where(law.owner[units] < 0, -1, place[law.owner[units]])
    return replace(
        law, C=law.C[rows], c=law.c[rows], normal=law.fixed + np.arange(len(kept)), first=ends,
        width=law.width[units], owner=owner, rough=law.rough[units],
    ), rows  # fmt: skip


def _scaled(law: Any) -> tuple[np.ndarray, np.ndarray]:
    """Solve in units of its own, for tolerances are numbers: rows of one cone stay alike."""
    D = 1 / np.sqrt(law.M.diagonal())
    C = sparse.csr_matrix(law.C) @ sparse.diags(D)
    size = np.asarray(abs(C).max(axis=1).todense()).ravel() if C.shape[0] else np.zeros(0)
    for k in range(len(law.first)):
        rows = law.first[k] + np.arange(law.width[k])
        if law.owner[k] >= 0:
            rows = np.append(rows, law.normal[law.owner[k]])
        size[rows] = size[rows].max()
    each = 1 / np.where(size > 0, size, 1.0)
    unit = max(np.abs(law.free / D).max(initial=0.0), np.abs(each * law.c).max(initial=0.0)) or 1.0
    rubs = law.owner < 0
    rough = np.where(
        rubs, law.rough / (unit * each[law.first]) if len(law.first) else 0.0, law.rough
    )
    M = sparse.csc_matrix(sparse.diags(D) @ sparse.csc_matrix(law.M) @ sparse.diags(D))
    v, z = _programs(
        replace(law, M=M, free=law.free / D / unit, C=sparse.csr_matrix(sparse.diags(each) @ C),
                c=each * law.c / unit, rough=rough)
    )  # fmt: skip
    return unit * D * v, unit * each * z


def _programs(law: Any) -> tuple[np.ndarray, np.ndarray]:
    package = clarabel()
    n = len(law.free)
    rubs = np.flatnonzero(law.owner < 0)
    rough = np.flatnonzero((law.owner >= 0) & (law.rough > 0))
    at = set(law.owner[rough].tolist())
    plain = [i for i in range(len(law.normal)) if i not in at]
    blocks, ahead, places, scales = [law.C[: law.fixed]], [law.c[: law.fixed]], [], []
    cones = [package.ZeroConeT(law.fixed)] if law.fixed else []
    if plain:
        rows = law.normal[plain]
        blocks.append(law.C[rows])
        ahead.append(law.c[rows])
        cones.append(package.NonnegativeConeT(len(rows)))
    start = law.fixed + len(plain)
    tops: list[int] = []
    for k in [*rough.tolist(), *rubs.tolist()]:
        slips = law.first[k] + np.arange(law.width[k])
        own = law.owner[k] >= 0
        mu = float(law.rough[k]) if own else 1.0
        top = law.C[[law.normal[law.owner[k]]]] if own else sparse.csr_matrix((1, n))
        blocks += [top, mu * law.C[slips]]
        ahead += [law.c[[law.normal[law.owner[k]]]] if own else np.zeros(1), mu * law.c[slips]]
        cones.append(package.SecondOrderConeT(1 + len(slips)))
        places.append(slips)
        scales.append(mu)
        tops.append(start)
        start += 1 + len(slips)
    extra = len(rubs)
    A = sparse.vstack(blocks).tocsr()
    slack = sparse.csr_matrix(
        (np.ones(extra), (tops[len(rough) :], np.arange(extra))), shape=(A.shape[0], extra)
    )
    whole = -sparse.hstack([A, slack]).tocsc()
    P = sparse.triu(sparse.block_diag([law.M, sparse.csc_matrix((extra, extra))])).tocsc()
    linear = np.concatenate([-law.M @ law.free, law.rough[rubs]])
    known = np.concatenate(ahead)
    settings = package.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    v, before, z = law.free, None, np.zeros(len(known))
    for _ in range(_ROUNDS):
        b = known.copy()
        for k, top in zip(rough.tolist(), tops):
            # A slip opens no gap: what the cone adds to it is taken back.
            slips = law.first[k] + np.arange(law.width[k])
            b[top] += law.rough[k] * np.linalg.norm(law.C[slips] @ v + law.c[slips])
        found = package.DefaultSolver(P, linear, whole, b, cones, settings).solve()
        v, z = np.array(found.x)[:n], np.array(found.z)
        moved = np.inf if before is None else np.abs(v - before).max()
        size = np.abs(v).max(initial=0.0) + np.abs(law.free).max(initial=0.0)
        if not len(rough) or moved <= _AGREE * size:
            break
        before = v
    made = np.zeros(len(law.c))
    made[: law.fixed] = z[: law.fixed]
    made[law.normal[plain]] = z[law.fixed : law.fixed + len(plain)]
    for k, top, slips, mu in zip([*rough, *rubs], tops, places, scales):
        if law.owner[k] >= 0:
            made[law.normal[law.owner[k]]] = z[top]
        made[slips] = mu * z[top + 1 : top + 1 + len(slips)]
    # Where nothing pushes, interior points leave a trace.
    made[np.abs(made) <= 1e-10 * np.abs(made).max(initial=0.0)] = 0.0
    return v, made
