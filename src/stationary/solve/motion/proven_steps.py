"""Steps that the gate has looked at: what it does not believe is not gone on from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from stationary.solve.gate.discrete import discrete
from stationary.solve.gate.finding import Finding, refuted, worst
from stationary.solve.gate.followed import followed
from stationary.solve.integrators import Taylor, Variational
from stationary.solve.motion.legs import shortened
from stationary.solve.motion.ode import AbstractIntegrator, BlowUp, Ode, Piece, Stopped, trusted
from stationary.solve.motion.stabilize import sizes

# So often a step that is not proven is taken again, each time with this part of the tolerances.
_TRIES, _TIGHTER = 3, 0.1

# So many steps that are not proven have to have brought this part of the way.
_MOST_FAILURES, _SLOWEST = 100, 1e-2

Cut = Callable[[Piece, Ode, AbstractIntegrator], tuple[Piece, int | None]]


def proven_steps(
    by: AbstractIntegrator,
    ode: Ode,
    t: float,
    y: np.ndarray,
    end: float,
    outputs: Callable[[float, float], np.ndarray],
    cut: Cut,
    *,
    dense: bool,
    sound: Callable[[BlowUp], bool] = lambda _: False,
) -> Iterator[tuple[Piece, int | None]]:
    """Yield pieces of proven steps; from before one that is not, again with more care.

    `outputs` are those between two times. Pieces are `cut` where their law ends, and the border
    there is told.
    """
    careful, tried, failures, first, mark = ode, 0, 0, t, t
    while t < end:
        false = None
        pieces = by.pieces(careful, t, y, end, grid=outputs(t, end), dense=dense)
        for piece in trusted(pieces, sound):
            piece, border = cut(piece, ode, by)
            if tried and piece.sizes is not None:
                # What rounding may take is more beside smaller tolerances: it is not allowed more.
                size = sizes(ode, piece.t[0], y, end)[0]
                piece = replace(piece, sizes=(size, piece.sizes[1]))
            false = _false(by, ode, y, piece)
            if false is None:
                yield piece, border
                t, y = float(piece.t[-1]), piece.end
                tried = 0
                continue
            k, claim = false
            failures += 1
            tried = 0 if k else tried
            hopeless = tried == _TRIES or isinstance(by, Variational)
            if failures % _MOST_FAILURES == 0:
                hopeless, mark = hopeless or t - mark < _SLOWEST * (end - first), t
            if hopeless:
                raise Stopped("refuted", refuted(claim).message, t)
            if k:
                at = float(piece.t[k])
                piece = shortened(piece, at, piece.evaluate(piece.t[k : k + 1])[0])
                yield piece, None
                t, y = at, piece.end
            break
        if false is None:
            return
        tried += 1
        part = _TIGHTER**tried
        careful = replace(ode, rtol=part * ode.rtol, atol=part * ode.atol)


def _false(
    by: AbstractIntegrator, ode: Ode, y: np.ndarray, piece: Piece
) -> tuple[int, Finding] | None:
    """Return the first step of a piece that is not as it claims, if it begins with a state.

    Series prove themselves. A fixed step has no other to go on from. A piece that ends where it
    begins, on a border, has no steps.
    """
    if isinstance(by, Taylor) or len(piece.t) < 2:
        return None
    if isinstance(by, Variational):
        claim = worst(discrete(ode, y, piece))
        return None if claim is None else (0, claim)
    return followed(ode, y, piece)
