"""A film for systems without positions: a point that runs along its phase portrait."""

from __future__ import annotations

from html import escape

import numpy as np

import stationary as st
from stationary.report.numbers import beside

_WIDTH, _HEIGHT, _EDGE, _POINTS = 520, 400, 46, 400


def phase_film(motion: st.Motion) -> str:
    """Return a drawing that moves by itself, without a program."""
    name = motion.system.scalars()[0].name
    times = np.linspace(motion.t[0], motion.t[-1], _POINTS)
    part = motion.at(times)
    q, v = np.asarray(part[name]), np.asarray(part[f"{name}.dot"])
    x = _EDGE + _scaled(q) * (_WIDTH - 2 * _EDGE)
    y = _HEIGHT - _EDGE - _scaled(v) * (_HEIGHT - 2 * _EDGE)
    line = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y))
    length = float(np.clip(motion.t[-1] - motion.t[0], 2.0, 20.0))

    def moved(which: str, values: np.ndarray) -> str:
        listed = ";".join(f"{a:.1f}" for a in values)
        return (f'<animate attributeName="{which}" values="{listed}" dur="{length:g}s" '
                'repeatCount="indefinite"/>')  # fmt: skip

    title = escape(f"{name} and its velocity, from {motion.t[0]:g} to {motion.t[-1]:g} s")
    return f"""<figure class="film"><svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img"
 aria-label="{title}" style="background:#fff; border:1px solid #d9dfe5; border-radius:8px">
<polyline points="{line}" fill="none" stroke="#0072B2" stroke-width="1.5" opacity="0.6"/>
<circle r="7" fill="#D55E00" cx="{x[0]:.1f}" cy="{y[0]:.1f}">
{moved("cx", x)}{moved("cy", y)}</circle>
<g font-family="sans-serif" font-size="13" fill="#333">
<text x="{_WIDTH / 2}" y="{_HEIGHT - 8}" text-anchor="middle">{escape(name)}:
 {_ends(q)}</text>
<text transform="translate(18 {_HEIGHT / 2}) rotate(-90)" text-anchor="middle">{escape(name)}.dot:
 {_ends(v)}</text></g>
</svg></figure>"""


def _ends(values: np.ndarray) -> str:
    low, high = beside(values, [values.min(), values.max()])
    return f"{low:.3g} … {high:.3g}"


def _scaled(values: np.ndarray) -> np.ndarray:
    low, high = float(values.min()), float(values.max())
    return (values - low) / (high - low) if high > low else np.full(len(values), 0.5)
