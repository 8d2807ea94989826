"""Films in space that can be turned: a page draws the bodies itself, and needs nothing else."""

from __future__ import annotations

import json
from base64 import b64encode
from html import escape
from typing import Any

import numpy as np

from stationary.plot.scene import Scene, Stroke


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
    page = _PAGE.replace("TITLE", escape(name or "motion", quote=True))
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


_PAGE = """<figure class="film turntable">
<canvas width="900" height="760" aria-label="TITLE: drag to turn" tabindex="0"
 style="width:100%;max-width:600px;touch-action:none;cursor:grab"></canvas><br>
<button type="button" aria-label="play or pause">pause</button>
<input type="range" min="0" value="0" aria-label="frame">
<figcaption>drag to turn, wheel to come closer</figcaption>
<script>
(function (film) {
  const scene = SCENE;
  const [canvas, button, slider] = ["canvas", "button", "input"].map(n => film.querySelector(n));
  const pen = canvas.getContext("2d");
  const floats = text => {
    const bytes = Uint8Array.from(atob(text), c => c.charCodeAt(0));
    return new Float32Array(bytes.buffer);
  };
  scene.solids.forEach(s => { s.poses = floats(s.poses); });
  scene.strokes.forEach(s => { s.path = floats(s.path); });
  let turn = -1.05, tilt = 0.35, near = 1, playing = true, frame = 0, held = null;
  const light = [-0.35, -0.55, 0.76], far = 2.6;

  function view(x, y, z) {
    const a = Math.cos(turn), b = Math.sin(turn), c = Math.cos(tilt), d = Math.sin(tilt);
    const right = -b * x + a * y, ahead = a * x + b * y;
    const up = c * z - d * ahead, depth = far - (c * ahead + d * z);
    const scale = near * 1.9 * canvas.height / depth;
    return [canvas.width / 2 + scale * right, canvas.height / 2 - scale * up, depth];
  }
  function point(stroke, k, i) {
    const at = 3 * (k * stroke.points + i);
    return view(stroke.path[at], stroke.path[at + 1], stroke.path[at + 2]);
  }
  function surface(solid, k, out) {
    const p = solid.poses.subarray(12 * k, 12 * k + 12);
    const placed = solid.vertices.map(v => [0, 1, 2].map(
      i => p[i] + v[0] * p[3 + i] + v[1] * p[6 + i] + v[2] * p[9 + i]));
    const seen = placed.map(v => view(v[0], v[1], v[2]));
    for (const face of solid.faces) {
      const [a, b, c] = [placed[face[0]], placed[face[1]], placed[face[2]]];
      const d = placed[face[face.length - 1]];
      const cross = (u, v) => [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2],
                               u[0] * v[1] - u[1] * v[0]];
      const less = (u, v) => [u[0] - v[0], u[1] - v[1], u[2] - v[2]];
      const m = cross(less(b, a), less(c, a)), q = cross(less(c, a), less(d, a));
      const n = [m[0] + q[0], m[1] + q[1], m[2] + q[2]];
      const size = Math.hypot(n[0], n[1], n[2]) || 1;
      const shine = (n[0] * light[0] + n[1] * light[1] + n[2] * light[2]) / size;
      const glow = 0.6 + 0.4 * Math.max(0, shine);
      const corners = face.map(i => seen[i]);
      const depth = corners.reduce((sum, e) => sum + e[2], 0) / corners.length;
      const color = `rgb(${solid.color.map(e => Math.round(e * glow)).join(",")})`;
      out.push([depth, () => {
        pen.beginPath();
        corners.forEach((e, i) => i ? pen.lineTo(e[0], e[1]) : pen.moveTo(e[0], e[1]));
        pen.closePath();
        pen.fillStyle = pen.strokeStyle = color;
        pen.globalAlpha = 1; pen.lineWidth = 0.7; pen.fill(); pen.stroke();
      }]);
    }
  }
  function line(a, b, color, width, alpha, out) {
    if (!isFinite(a[0] + b[0])) return;
    out.push([(a[2] + b[2]) / 2, () => {
      pen.beginPath(); pen.moveTo(a[0], a[1]); pen.lineTo(b[0], b[1]);
      pen.strokeStyle = color; pen.lineWidth = 1.5 * width; pen.globalAlpha = alpha;
      pen.lineCap = "round"; pen.stroke();
    }]);
  }
  function draw() {
    pen.globalAlpha = 1; pen.fillStyle = "#fff";
    pen.fillRect(0, 0, canvas.width, canvas.height);
    const out = [];
    scene.solids.forEach(s => surface(s, frame, out));
    for (const s of scene.strokes) {
      for (let i = 0; s.line && i + 1 < s.points; i++)
        line(point(s, frame, i), point(s, frame, i + 1), s.color, s.width, 1, out);
      for (let i = 0; s.dots && i < s.points; i++) {
        const e = point(s, frame, i);
        out.push([e[2], () => {
          pen.globalAlpha = 1; pen.fillStyle = s.color;
          pen.beginPath(); pen.arc(e[0], e[1], 9, 0, 7); pen.fill();
        }]);
      }
      const past = Math.min(frame, Math.round(1000 / INTERVAL));
      for (let k = 0; s.trail && k < past; k++)
        line(point(s, frame - k, 0), point(s, frame - k - 1, 0), s.color, 1.2,
             0.7 * (1 - k / (past + 1)), out);
    }
    out.sort((a, b) => b[0] - a[0]).forEach(e => e[1]());
    pen.globalAlpha = 1; pen.fillStyle = "#333"; pen.font = "26px sans-serif";
    pen.fillText(`t = ${scene.times[frame].toPrecision(4)} s`, 20, 40);
  }
  const show = k => { frame = k; slider.value = k; draw(); };
  slider.max = scene.frames - 1;
  slider.oninput = () => { playing = false; button.textContent = "play"; show(+slider.value); };
  button.onclick = () => { playing = !playing; button.textContent = playing ? "pause" : "play"; };
  canvas.onpointerdown = e => {
    held = [e.clientX, e.clientY]; canvas.setPointerCapture(e.pointerId);
  };
  canvas.onpointerup = () => { held = null; };
  canvas.onpointermove = e => {
    if (!held) return;
    turn -= (e.clientX - held[0]) / 150;
    tilt = Math.max(-1.5, Math.min(1.5, tilt + (e.clientY - held[1]) / 150));
    held = [e.clientX, e.clientY]; draw();
  };
  canvas.onkeydown = e => {
    const step = { ArrowLeft: [0.1, 0], ArrowRight: [-0.1, 0], ArrowUp: [0, 0.1],
                   ArrowDown: [0, -0.1] }[e.key];
    if (step) { turn += step[0]; tilt += step[1]; draw(); e.preventDefault(); }
  };
  canvas.onwheel = e => { near *= Math.exp(-e.deltaY / 900); draw(); e.preventDefault(); };
  setInterval(() => { if (playing) show((frame + 1) % scene.frames); }, INTERVAL);
  show(0);
})(document.currentScript.parentElement);
</script>
</figure>"""
