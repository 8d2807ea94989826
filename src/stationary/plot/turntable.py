"""Films in space that can be turned: a page draws the bodies itself, and needs nothing else."""

from __future__ import annotations

import json
from base64 import b64encode
from html import escape
from typing import Any

import numpy as np

from stationary.plot.scene import Scene, Stroke
from stationary.plot.style import markup


def turntable(drawn: Scene, name: str, fps: float, every: int) -> str:
    """Return a film as a piece of HTML in which the scene is turned by dragging.

    Parameters
    ----------
    drawn : Scene
        In space, its strokes and solids sampled `every` times as finely as the frames.
    name : str
    fps : float
    every : int
    """
    frames = slice(None, None, every)
    middle, size = (drawn.low + drawn.high) / 2, float(np.max(drawn.high - drawn.low))
    scene = {
        "frames": len(drawn.t[frames]),
        "times": [float(f"{x:.6g}") for x in drawn.t[frames]],
        "solids": [
            {
                "color": [round(255 * c) for c in solid.color],
                "vertices": np.round(solid.vertices / size, 5).tolist(),
                "faces": solid.faces,
                "poses": _packed(
                    np.concatenate(
                        [
                            (solid.centre - middle)[frames] / size,
                            solid.axes[frames].reshape(-1, 9),
                        ],
                        axis=1,
                    )
                ),
            }
            for solid in drawn.solids
        ],
        "strokes": [_stroke(s, middle, size, frames) for s in drawn.strokes],
    }
    page = markup("turntable").replace("TITLE", escape(name or "motion", quote=True))
    return page.replace("INTERVAL", f"{1000 / fps:g}").replace("SCENE", json.dumps(scene))


def _stroke(stroke: Stroke, middle: np.ndarray, size: float, frames: slice) -> dict[str, Any]:
    import matplotlib.colors

    path = (stroke.path[frames] - middle) / size
    style = stroke.style
    color = style.get("facecolor", style.get("color", "0.3"))
    return {
        "color": matplotlib.colors.to_hex(color),
        "points": path.shape[1],
        "path": _packed(path.reshape(len(path), -1)),
        "dots": style.get("ls") == "none" and style.get("marker") != "none",
        "line": style.get("ls") != "none" or stroke.filled,
        "width": float(style.get("lw", 1.5)),
        "trail": stroke.trail,
    }


def _packed(values: np.ndarray) -> str:
    return b64encode(np.ascontiguousarray(values, dtype="<f4").tobytes()).decode()
