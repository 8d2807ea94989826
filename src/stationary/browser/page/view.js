// The picture: parts in the plane or in space, on a canvas.
class View {
  constructor(canvas, model, picture) {
    this.canvas = canvas;
    this.model = model;
    // Links lie under what they join.
    const above = ["rod", "spring", "damper", "outline", "solid", "curve", "body", "points", "particle"];
    picture.items.sort((a, b) => above.indexOf(a.kind) - above.indexOf(b.kind));
    this.picture = picture;
    this.pen = canvas.getContext("2d");
    this.home();
  }
  home() {
    const { low, high } = this.picture;
    this.middle = low.map((x, k) => (x + high[k]) / 2);
    this.reach = Math.max(...low.map((x, k) => high[k] - x)) || 1;
    this.near = 1;
    this.turn = -1.05;
    this.tilt = 0.35;
  }
  // The part of the canvas that is drawn on, in pixels of the page.
  frame(x, y, width, height) {
    Object.assign(this, { x0: x, y0: y, width, height });
    const { low, high } = this.picture;
    const wide = (high[0] - low[0]) || this.reach, tall = (high[1] - low[1]) || this.reach;
    this.scale = [0.9 * width / wide, 0.9 * height / tall];
    if (this.picture.equal) this.scale.fill(Math.min(...this.scale));
  }
  see(p) {
    if (this.model.dimension === 2) {
      const [a, b] = this.scale;
      return [this.x0 + this.width / 2 + this.near * a * (p[0] - this.middle[0]),
              this.y0 + this.height / 2 - this.near * b * (p[1] - this.middle[1]), 0];
    }
    const [x, y, z] = p.map((e, k) => (e - this.middle[k]) / this.reach);
    const a = Math.cos(this.turn), b = Math.sin(this.turn);
    const c = Math.cos(this.tilt), d = Math.sin(this.tilt);
    const right = -b * x + a * y, ahead = a * x + b * y;
    const up = c * z - d * ahead, depth = 2.6 - (c * ahead + d * z);
    const scale = this.near * 1.9 * Math.min(this.width, this.height) / Math.max(depth, 0.1);
    return [this.x0 + this.width / 2 + scale * right, this.y0 + this.height / 2 - scale * up, depth];
  }
  // The point of space behind a place of the canvas, as deep as another point.
  find(px, py, like) {
    if (this.model.dimension === 2) {
      const [a, b] = this.scale;
      return [this.middle[0] + (px - this.x0 - this.width / 2) / (this.near * a),
              this.middle[1] - (py - this.y0 - this.height / 2) / (this.near * b)];
    }
    const depth = this.see(like)[2];
    const scale = this.near * 1.9 * Math.min(this.width, this.height) / Math.max(depth, 0.1);
    const right = (px - this.x0 - this.width / 2) / scale;
    const up = -(py - this.y0 - this.height / 2) / scale, deep = 2.6 - depth;
    const a = Math.cos(this.turn), b = Math.sin(this.turn);
    const c = Math.cos(this.tilt), d = Math.sin(this.tilt);
    const ahead = c * deep - d * up, z = d * deep + c * up;
    return [a * ahead - b * right, b * ahead + a * right, z].map(
      (e, k) => this.middle[k] + e * this.reach);
  }
  point(P, k) {
    const d = this.model.dimension;
    return Array.from(P.subarray(k * d, k * d + d));
  }
  // -- strokes: [depth, what draws it] -------------------------------------------------------------
  line(a, b, color, width, alpha = 1) {
    if (!isFinite(a[0] + b[0] + a[1] + b[1])) return;
    this.strokes.push([(a[2] + b[2]) / 2, pen => {
      pen.globalAlpha = alpha; pen.strokeStyle = color; pen.lineWidth = width; pen.lineCap = "round";
      pen.beginPath(); pen.moveTo(a[0], a[1]); pen.lineTo(b[0], b[1]); pen.stroke();
    }]);
  }
  polygon(corners, fill, edge, depth = corners.reduce((s, e) => s + e[2], 0) / corners.length) {
    this.strokes.push([depth, pen => {
      pen.globalAlpha = 1; pen.fillStyle = fill; pen.strokeStyle = edge; pen.lineWidth = 1;
      pen.beginPath();
      corners.forEach((e, k) => k ? pen.lineTo(e[0], e[1]) : pen.moveTo(e[0], e[1]));
      pen.closePath(); pen.fill(); pen.stroke();
    }]);
  }
  dot(e, radius, color, edge) {
    this.strokes.push([e[2] - 1e-3, pen => {
      pen.globalAlpha = 1; pen.fillStyle = color; pen.strokeStyle = edge; pen.lineWidth = 1;
      pen.beginPath(); pen.arc(e[0], e[1], radius, 0, 2 * Math.PI); pen.fill();
      if (edge) pen.stroke();
    }]);
  }
  link(kind, a, b, ink) {
    const along = [b[0] - a[0], b[1] - a[1]], length = Math.hypot(...along);
    const side = length ? [-along[1] / length, along[0] / length] : [0, 0];
    const at = (share, off) => [a[0] + share * along[0] + off * side[0],
                                a[1] + share * along[1] + off * side[1],
                                a[2] + share * (b[2] - a[2])];
    if (kind === "spring") {
      let last = at(0, 0);
      const marks = [[0.12, 0]];
      for (let k = 0; k < 12; k++) marks.push([0.12 + 0.76 * (k + 0.5) / 12, k % 2 ? -7 : 7]);
      marks.push([0.88, 0], [1, 0]);
      for (const mark of marks) { const next = at(...mark); this.line(last, next, ink, 1.5); last = next; }
    } else if (kind === "damper") {
      for (const [p, q] of [[[0, 0], [0.3, 0]], [[0.68, 7], [0.3, 7]], [[0.3, 7], [0.3, -7]],
                            [[0.3, -7], [0.68, -7]], [[0.52, 5], [0.52, -5]], [[0.52, 0], [1, 0]]])
        this.line(at(...p), at(...q), ink, 1.5);
    } else this.line(a, b, ink, 2.5);
  }
  solid(item, P, ink) {
    const [centre, ...axes] = item.at.map(([k]) => this.point(P, k));
    const placed = item.vertices.map(v => [0, 1, 2].map(
      i => centre[i] + v[0] * axes[0][i] + v[1] * axes[1][i] + v[2] * axes[2][i]));
    const seen = placed.map(p => this.see(p)), light = [-0.35, -0.55, 0.76];
    const less = (u, v) => [u[0] - v[0], u[1] - v[1], u[2] - v[2]];
    const cross = (u, v) => [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2],
                             u[0] * v[1] - u[1] * v[0]];
    for (const face of item.faces) {
      const [a, b, c] = face.map(k => placed[k]), d = placed[face[face.length - 1]];
      const m = cross(less(b, a), less(c, a)), q = cross(less(c, a), less(d, a));
      const normal = [m[0] + q[0], m[1] + q[1], m[2] + q[2]], size = Math.hypot(...normal) || 1;
      const shine = normal.reduce((s, e, k) => s + e * light[k], 0) / size;
      const glow = 0.6 + 0.4 * Math.max(0, shine);
      const color = `rgb(${item.color.map(e => Math.round(e * glow)).join(",")})`;
      this.polygon(face.map(k => seen[k]), color, color);
    }
  }
  arrow(a, b, color) {
    const along = [b[0] - a[0], b[1] - a[1]], length = Math.hypot(...along);
    if (!(length > 3)) return;
    this.line(a, b, color, 2);
    const [x, y] = along.map(e => e / length), h = Math.min(9, length / 2);
    this.polygon([b, [b[0] - h * x - h / 2 * y, b[1] - h * y + h / 2 * x, b[2]],
                  [b[0] - h * x + h / 2 * y, b[1] - h * y - h / 2 * x, b[2]]], color, color);
  }
  parts(engine, ink) {
    const P = engine.P, edge = ink, supports = [];
    for (const item of this.picture.items) {
      const seen = item.at.map(group => group.map(k => this.see(this.point(P, k))));
      if (item.kind === "solid") this.solid(item, P, ink);
      else if (["rod", "spring", "damper"].includes(item.kind)) {
        const [a, b] = seen, count = Math.max(a.length, b.length);
        const kind = count > 20 ? "rod" : item.kind;
        for (let k = 0; k < count; k++) this.link(kind, a[a.length > 1 ? k : 0], b[b.length > 1 ? k : 0], ink);
        item.fixed.forEach((fixed, k) => { if (fixed) supports.push(seen[k][0]); });
      } else if (item.kind === "outline") this.polygon(seen.flat(), item.color, edge);
      else if (item.kind === "curve")
        seen[0].forEach((e, k) => { if (k) this.line(seen[0][k - 1], e, item.color, 3); });
      else if (item.kind === "body") this.box(seen[0][0], item.angle === null ? 0 : engine.angles[item.angle], item.color, edge);
      else {
        const dots = seen.flat(), radius = item.kind === "points" || dots.length > 20 ? 3 : 8;
        dots.forEach(e => this.dot(e, radius, item.color, radius > 3 ? edge : null));
      }
    }
    supports.forEach(e => this.support(e, ink));
  }
  support(e, ink) {
    this.strokes.push([e[2] - 1e-3, pen => {
      pen.globalAlpha = 1; pen.fillStyle = ink; pen.fillRect(e[0] - 4, e[1] - 4, 8, 8);
    }]);
  }
  box(e, angle, color, edge) {
    const c = Math.cos(angle), s = Math.sin(angle), a = 22, b = 13;
    const corners = [[-a, -b], [a, -b], [a, b], [-a, b]].map(
      ([x, y]) => [e[0] + c * x - s * y, e[1] - (s * x + c * y), e[2]]);
    this.polygon(corners, color, edge, e[2]);
  }
  // Points that a reader can take hold of.
  get grips() {
    if (this._grips) return this._grips;
    const held = this.picture.items.filter(i => ["particle", "body", "points", "curve"].includes(i.kind));
    let grips = held.flatMap(i => i.at.flat());
    grips.push(...this.picture.items.filter(i => i.kind === "solid").map(i => i.at[0][0]));
    if (!grips.length)
      grips = this.picture.items.filter(i => i.kind !== "solid").flatMap(i => i.at.flat());
    const moving = new Set(this.model.places.row.map(r => Math.floor(r / this.model.dimension)));
    return this._grips = [...new Set(grips)].filter(k => moving.has(k));
  }
  nearest(P, px, py, within = 30) {
    let best = -1, least = within;
    for (const k of this.grips) {
      const e = this.see(this.point(P, k)), off = Math.hypot(e[0] - px, e[1] - py);
      if (off < least) { best = k; least = off; }
    }
    return best;
  }
  draw(engine, options, colors) {
    this.strokes = [];
    this.parts(engine, colors.ink);
    if (options.trails) this.trails(options.trails, colors);
    if (options.velocities) {
      let most = 0;
      for (const x of engine.Pdot) most = Math.max(most, Math.abs(x));
      this.fastest = Math.max(most, this.fastest || 0);
      for (const k of this.grips.length > 60 ? [] : this.grips) {
        const a = this.point(engine.P, k), v = this.point(engine.Pdot, k);
        const b = a.map((x, i) => x + 0.25 * this.reach * v[i] / (this.fastest || 1));
        this.arrow(this.see(a), this.see(b), colors.velocity);
      }
    }
    if (options.forces) options.forces.forEach(([k, force]) => {
      const a = this.point(engine.P, k), b = a.map((x, i) => x + force[i]);
      this.arrow(this.see(a), this.see(b), colors.force);
    });
    if (options.hand) {
      const e = this.see(options.hand.target), a = this.see(this.point(engine.P, options.hand.point));
      this.link("spring", a, e, colors.velocity);
    }
    const pen = this.pen;
    pen.save();
    pen.beginPath(); pen.rect(this.x0, this.y0, this.width, this.height); pen.clip();
    if (this.model.dimension === 3) this.strokes.sort((a, b) => b[0] - a[0]);
    for (const [, stroke] of this.strokes) stroke(pen);
    pen.restore();
    pen.globalAlpha = 1;
  }
  trails(paths, colors) {
    const kept = this.strokes;
    this.strokes = [];
    paths.forEach((path, k) => {
      const seen = path.map(p => this.see(p));
      for (let i = 1; i < seen.length; i++)
        this.line(seen[i - 1], seen[i], colors.series[k % colors.series.length], 1.5, 0.7 * i / seen.length);
    });
    this.strokes = this.strokes.concat(kept);
  }
}
