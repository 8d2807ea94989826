"""Which of many modes can be left out at once: all are solved together, and coarsely."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from stationary.solve.touch.laws import Choice, Law

# A mode is left out whose law is missed by more than this of all that is at work: many times more
# than what is rounding there, and than what the little that rows give way does to forces that are
# no stronger than the next number allows.
_CLEARLY = 1e-5
_GIVE, _STRONG = 1e-12, 1e5


def sieved(law: Law, modes: list[tuple[Choice, ...]]) -> list[tuple[Choice, ...]]:
    """Return the modes that may agree with a law, in their order.

    Those whose rows follow from each other, or whose directions of slip are to be found, stay in.
    """
    used = [*range(law.fixed)]
    for unit in law.units:
        used += [*(() if unit.gap is None else (unit.gap,)), *unit.slips]
    place = {row: k for k, row in enumerate(used)}
    size, count = len(used), len(modes)
    scale = np.sqrt(np.maximum(np.diag(law.W)[used], 1e-300))
    W, w0 = law.W[np.ix_(used, used)] / scale[:, None] / scale, law.w0[used] / scale
    held, known = np.zeros((count, size), dtype=bool), np.ones(count, dtype=bool)
    held[:, : law.fixed] = True
    # Forces are z = D x + shift, x those of rows that are held.
    D, shift = np.tile(np.eye(size), (count, 1, 1)), np.zeros((count, size))
    kinds = np.array([[choice.kind for choice in mode] for mode in modes])
    for k, unit in enumerate(law.units):
        slips, kind = [place[row] for row in unit.slips], kinds[:, k]
        if unit.gap is not None:
            held[:, place[unit.gap]] = kind != "open"
        held[np.ix_(kind == "stick", slips)] = True
        for b in np.flatnonzero(kind == "slide").tolist():
            along = modes[b][k].along
            known[b] &= along is not None
            for row, d in zip(slips, along or ()):
                against = -unit.moving * d * scale[row]
                if unit.gap is None:
                    shift[b, row] = against
                else:
                    D[b, row, place[unit.gap]] = against / scale[place[unit.gap]]
    both = held[:, :, None] & held[:, None, :]
    K = np.where(both, W @ D, 0.0) + (_GIVE + ~held)[:, :, None] * np.eye(size)
    try:
        inverse = np.linalg.inv(K)
    except np.linalg.LinAlgError:
        return modes
    known &= np.abs(inverse).max(axis=(1, 2)) < _STRONG
    aim = np.where(held, -(w0 + shift @ W.T), 0.0)
    z = (D @ (inverse @ aim[:, :, None]))[:, :, 0] + shift
    w = w0 + z @ W.T
    pushes = np.abs(z) @ np.abs(W).T
    floor = law.floor(np.zeros_like(law.w0))[used] / scale
    room = _CLEARLY * ((law.sizes[used] / scale).max() + pushes.max(axis=1)) + 10 * floor.max()
    false = np.zeros(count, dtype=bool)
    for k, unit in enumerate(law.units):
        slips, kind = [place[row] for row in unit.slips], kinds[:, k]
        push = np.ones(count)
        if unit.gap is not None:
            gap = place[unit.gap]
            false |= np.where(kind == "open", w[:, gap], z[:, gap]) < -room
            push = (z[:, gap] + room) / scale[gap]
        if not slips:
            continue
        force = np.linalg.norm(z[:, slips] / scale[slips], axis=1)
        false |= (kind == "stick") & (force > unit.rest * push + room / scale[slips].min())
        if len(slips) == 1 and not unit.runs:
            way = np.array([(mode[k].along or (0.0,))[0] for mode in modes])
            false |= (kind == "slide") & (way * w[:, slips[0]] < -room)
    return [mode for mode, out in zip(modes, false & known) if not out]
