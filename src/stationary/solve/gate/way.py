"""Coordinates go the way that velocities add up to, between all times that are told."""

from __future__ import annotations

import numpy as np

from stationary.result.slide import Slide
from stationary.solve.gate.finding import Finding
from stationary.solve.scales import Scales

# Gauss's nodes and weights on (−1, 1), and their doubles: what both differ by is not known.
_FEW, _MANY = (np.polynomial.legendre.leggauss(k) for k in (4, 7))
# Over so many intervals of one length velocities that are told add up by themselves (Boole's rule,
# and Simpson's beside it).
_WIDE = 4
# So many coordinates are looked at between times, in all.
_LOOKS = 400
# An interval that does not add up is divided into so many parts, so many times.
_PARTS, _FINER = 8, 3
_BOOLE = np.array([7, 32, 12, 32, 7]) / 90
_SIMPSON = np.array([1, 4, 2, 4, 1]) / 12


def way(slide: Slide, rtol: float, scales: Scales) -> list[Finding]:
    """Measure q(t₂) − q(t₁) − ∫ v dt, beside the lengths at work."""
    t, n = slide.t, slide.kernel.size
    span = float(t[-1] - t[0])
    if slide.dense is None or not span > 0:
        return []
    q, v = slide.y[:, :n], slide.y[:, n : 2 * n]
    # What hardly moves is measured by what bends.
    lengths = np.maximum(scales.length, 1e-3 * np.where(np.isfinite(scales.bend), scales.bend, 0.0))
    events = np.concatenate([np.ravel(e) for e in slide.events]) if slide.events else np.zeros(0)
    seen = np.zeros(len(t) - 1, dtype=bool)
    off, doubt, where = [], [], []
    rounding = np.spacing(np.abs(q).max(axis=0))
    for k in range(len(t) - _WIDE):
        last = k + _WIDE
        steps, near = np.diff(t[k : last + 1]), (t[k] - 1e-6 * span, t[last] + 1e-6 * span)
        if np.ptp(steps) > 1e-9 * span or np.any((events > near[0]) & (events < near[1])):
            continue
        wide = t[last] - t[k]
        went, less = (wide * (rule @ v[k : last + 1]) for rule in (_BOOLE, _SIMPSON))
        # Velocities that turn fast between two times are looked at more closely.
        if np.all(np.abs(went - less) <= 0.1 * rtol * lengths):
            seen[k:last] = True
            off.append(np.abs(q[last] - q[k] - went))
            doubt.append(np.abs(went - less) + 16 * rounding)
            where.append(t[last])
    # Looking between times is bounded work.
    looks = n * (np.count_nonzero(~seen) + len(events))
    for k in np.flatnonzero(~seen) if looks <= _LOOKS else ():
        inside = events[(events > t[k]) & (events < t[k + 1])]
        cuts = np.concatenate([[t[k]], np.sort(inside), [t[k + 1]]])
        gap = unsure = np.zeros(n)
        for _ in range(_FINER):
            went, less = (sum(_added(slide, a, b, rule) for a, b in zip(cuts, cuts[1:]))
                          for rule in (_MANY, _FEW))  # fmt: skip
            gap = np.abs(q[k + 1] - q[k] - went)
            # Where velocities grow without bound neither rule says much.
            unsure = 10 * np.abs(went - less) + 16 * rounding
            if np.all(gap <= rtol * lengths + unsure):
                break
            # Velocities that turn almost at once, as where a foot nearly rests, deceive both rules.
            cuts = np.linspace(cuts[:-1], cuts[1:], _PARTS, endpoint=False).T.ravel()
            cuts = np.append(cuts, t[k + 1])
        off.append(gap)
        doubt.append(unsure)
        where.append(t[k + 1])
    if not off:
        return []
    allowed = rtol * lengths + np.array(doubt) + 1e-300
    i, j = np.unravel_index(np.argmax(np.array(off) / allowed), allowed.shape)
    name = f"'{slide.kernel.layout.name(int(j))}' up to t = {where[i]:.6g}"
    return [Finding("it goes where velocities lead:", name, float(off[i][j]), float(allowed[i, j]))]


def _added(slide: Slide, a: float, b: float, rule: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    nodes, weights = rule
    assert slide.dense is not None
    n = slide.kernel.size
    states = slide.dense((a + b) / 2 + (b - a) / 2 * nodes)
    return (b - a) / 2 * (weights @ states[:, n : 2 * n])
