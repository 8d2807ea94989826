"use strict";
// The mechanics. A state is y = (q, v, w): places, velocities, and the work that has been done on
// the system by all that is not in its potential energy.

function erf(x) {
  const a = Math.abs(x);
  if (a < 2.5) {
    let term = a, sum = a;
    for (let k = 1; k < 80; k++) {
      term *= -a * a / k;
      sum += term / (2 * k + 1);
    }
    return Math.sign(x) * 2 / Math.sqrt(Math.PI) * sum;
  }
  // The continued fraction of the complement, from far inside.
  let tail = 0;
  for (let k = 60; k > 0; k--) tail = k / 2 / (a + tail);
  return Math.sign(x) * (1 - Math.exp(-a * a) / Math.sqrt(Math.PI) / (a + tail));
}
function copysign(x, y) {
  const negative = y < 0 || Object.is(y, -0);
  return negative ? -Math.abs(x) : Math.abs(x);
}
function remainder(x, y) {
  let whole = Math.round(x / y);
  if (Math.abs(x / y - whole) === 0.5 && whole % 2) whole -= 1;
  return x - whole * y;
}

// L D Lᵀ of a symmetric matrix whose pattern never changes; its upper half is given by columns.
class Factors {
  constructor(size, columns) {
    this.size = size;
    this.start = new Int32Array(size + 1);
    columns.forEach((rows, k) => { this.start[k + 1] = this.start[k] + rows.length; });
    this.rows = Int32Array.from(columns.flat());
    this.values = new Float64Array(this.rows.length);
    this.parent = new Int32Array(size).fill(-1);
    this.flag = new Int32Array(size);
    this.count = new Int32Array(size);
    for (let k = 0; k < size; k++) {
      this.flag[k] = k;
      for (let e = this.start[k]; e < this.start[k + 1]; e++) {
        for (let i = this.rows[e]; this.flag[i] !== k; i = this.parent[i]) {
          if (this.parent[i] < 0) this.parent[i] = k;
          this.count[i]++;
          this.flag[i] = k;
        }
      }
    }
    this.first = new Int32Array(size + 1);
    for (let k = 0; k < size; k++) this.first[k + 1] = this.first[k] + this.count[k];
    this.lower = new Float64Array(this.first[size]);
    this.below = new Int32Array(this.first[size]);
    this.diagonal = new Float64Array(size);
    this.row = new Float64Array(size);
    this.path = new Int32Array(size);
  }
  factor() {
    const { size, start, rows, values, parent, flag, count, first, lower, below, diagonal } = this;
    const { row, path } = this;
    count.fill(0);
    this.negative = 0;
    for (let k = 0; k < size; k++) {
      let top = size;
      row[k] = 0;
      flag[k] = k;
      for (let e = start[k]; e < start[k + 1]; e++) {
        let i = rows[e], length = 0;
        row[i] += values[e];
        for (; flag[i] !== k; i = parent[i]) { path[length++] = i; flag[i] = k; }
        while (length > 0) path[--top] = path[--length];
      }
      let pivot = row[k];
      row[k] = 0;
      for (; top < size; top++) {
        const i = path[top], entry = row[i], last = first[i] + count[i];
        row[i] = 0;
        for (let e = first[i]; e < last; e++) row[below[e]] -= lower[e] * entry;
        const share = entry / diagonal[i];
        pivot -= share * entry;
        below[last] = k;
        lower[last] = share;
        count[i]++;
      }
      diagonal[k] = pivot;
      // What is zero or no number counts as neither sign.
      this.negative += pivot < 0 ? 1 : pivot > 0 ? 0 : NaN;
    }
  }
  solve(x) {
    const { size, first, count, lower, below, diagonal } = this;
    for (let k = 0; k < size; k++) {
      const value = x[k];
      for (let e = first[k]; e < first[k] + count[k]; e++) x[below[e]] -= lower[e] * value;
    }
    for (let k = size - 1; k >= 0; k--) {
      let value = x[k] / diagonal[k];
      for (let e = first[k]; e < first[k] + count[k]; e++) value -= lower[e] * x[below[e]];
      x[k] = value;
    }
  }
}

const NOT_CONVEX = "the masses are not all positive here: nothing can move";
class Engine {
  constructor(model, code) {
    this.model = model;
    this.code = code;
    const { n, m } = model, size = n + m;
    this.size = 2 * n + 1;
    this.p = Float64Array.from(model.p);
    this.given = Float64Array.from(model.given);
    this.time = new Float64Array(1);
    this.q = new Float64Array(n);
    this.v = new Float64Array(n);
    this.u = new Float64Array(model.inputs.length);
    this.M = new Float64Array(model.mass.row.length);
    this.f = new Float64Array(n);
    this.A = new Float64Array(model.slope.row.length);
    this.R = new Float64Array(m);
    this.Rdot = new Float64Array(m);
    this.gamma = new Float64Array(m);
    this.drive = new Float64Array(m);
    this.wanted = new Float64Array(m);
    this.e = new Float64Array(4);
    this.x = new Float64Array(size);
    this.lam = new Float64Array(m);
    this.P = new Float64Array(model.points * model.dimension);
    this.Pdot = new Float64Array(model.points * model.dimension);
    this.J = new Float64Array(model.places.row.length);
    this.angles = new Float64Array(model.angles);
    this.shown = new Float64Array(model.shown.length);
    this.hand = null;
    this.pull = new Float64Array(n);
    this.evaluations = 0;
    this.assemble(n, m);
    this.stages = Array.from({ length: 16 }, () => new Float64Array(this.size));
    this.trial = new Float64Array(this.size);
    this.next = new Float64Array(this.size);
    this.dense = Array.from({ length: 7 }, () => new Float64Array(this.size));
  }

  // -- M a = f + Aᵀλ, A a = what the constraints want ---------------------------------------------
  assemble(n, m) {
    const model = this.model, size = n + m;
    const place = new Int32Array(size);
    model.order.forEach((unknown, k) => { place[unknown] = k; });
    this.place = place;
    const columns = Array.from({ length: size }, () => new Map());
    const seat = (a, b) => {
      const [i, k] = [Math.min(place[a], place[b]), Math.max(place[a], place[b])];
      if (!columns[k].has(i)) columns[k].set(i, columns[k].size);
      return [k, columns[k].get(i)];
    };
    const once = (rows, cols) => {
      // Of a symmetric matrix every pair counts once.
      const chosen = [];
      for (let e = 0; e < rows.length; e++) if (rows[e] <= cols[e]) chosen.push(e);
      return chosen;
    };
    const mass = once(model.mass.row, model.mass.col);
    const seats = mass.map(e => seat(model.mass.row[e], model.mass.col[e]));
    const slopes = model.slope.row.map((r, e) => seat(n + r, model.slope.col[e]));
    const corners = Array.from({ length: size }, (_, i) => seat(i, i));
    const rows = Array.from({ length: m }, () => []);
    model.slope.row.forEach((r, e) => rows[r].push(e));
    this.rows = rows;
    const pairs = [];
    if (model.weights)
      rows.forEach((entries, r) => entries.forEach((e, a) => entries.slice(a).forEach(g => {
        pairs.push([r, e, g, seat(model.slope.col[e], model.slope.col[g])]);
      })));
    const factors = new Factors(size, columns.map(c => [...c.keys()]));
    const at = ([k, i]) => factors.start[k] + i;
    this.factors = factors;
    this.massFrom = Int32Array.from(mass);
    this.massTo = Int32Array.from(seats.map(at));
    this.slopeTo = Int32Array.from(slopes.map(at));
    this.cornerTo = Int32Array.from(corners.slice(n).map(at));
    this.pairs = pairs.map(([r, e, g, s]) => [r, e, g, at(s)]);
  }
  // Masses are positive along all that the constraints leave free exactly where the saddle point
  // has a negative pivot for every row and no other (Sylvester).
  get convex() { return this.factors.negative === this.model.m; }
  // How many rows say next to nothing new here: their pivots are little more than their damping.
  get idle() {
    const { n, m } = this.model, { diagonal } = this.factors;
    let count = 0;
    for (let r = 0; r < m; r++) if (-diagonal[this.place[n + r]] < 1e3 * this.damping) count++;
    return count;
  }
  load(t, y) {
    const n = this.model.n;
    this.time[0] = t;
    for (let i = 0; i < n; i++) { this.q[i] = y[i]; this.v[i] = y[n + i]; }
    this.code.inputs(this.time, this.q, this.v, this.given, this.p, this.u);
  }
  matrix() {
    const { model, factors, M, A } = this, values = factors.values;
    const { n, m } = model;
    this.code.dynamics(this.time, this.q, this.v, this.u, this.p, M, this.f);
    values.fill(0);
    let trace = 0, square = 0;
    for (let k = 0; k < this.massFrom.length; k++) values[this.massTo[k]] += M[this.massFrom[k]];
    for (let e = 0; e < M.length; e++) if (model.mass.row[e] === model.mass.col[e]) trace += M[e];
    if (m) {
      this.code.constraints(this.time, this.q, this.v, this.u, this.p,
                            this.R, this.Rdot, A, this.gamma, this.drive);
      for (let e = 0; e < A.length; e++) { values[this.slopeTo[e]] += A[e]; square += A[e] * A[e]; }
      this.damping = 1e-10 * square / trace;
      for (let r = 0; r < m; r++) values[this.cornerTo[r]] -= this.damping;
      if (model.weights) this.complete(trace);
    }
    factors.factor();
    return n;
  }
  // Where M has no pivot of its own, what the constraints hold is added to it.
  complete(trace) {
    const { model, A } = this, values = this.factors.values;
    const w = this.heavy = this.heavy || new Float64Array(model.m);
    const diagonal = this.diagonal = this.diagonal || new Float64Array(model.n);
    diagonal.fill(0);
    for (let e = 0; e < this.M.length; e++)
      if (model.mass.row[e] === model.mass.col[e]) diagonal[model.mass.row[e]] = this.M[e];
    let everything = 0;
    for (let i = 0; i < model.n; i++) everything += model.weights[i] * diagonal[i];
    this.rows.forEach((entries, r) => {
      let heavy = 0, square = 0;
      for (const e of entries) {
        const j = model.slope.col[e];
        heavy += model.weights[j] * diagonal[j];
        square += model.weights[j] * A[e] * A[e];
      }
      w[r] = square > 0 ? (heavy > 0 ? heavy : everything) / square : 0;
    });
    for (const [r, e, g, to] of this.pairs) values[to] += w[r] * A[e] * A[g];
  }
  // Solves for (a, −λ) with right sides of both; x comes back in the order of the statement.
  saddle(force, wanted) {
    const { model, x, place, factors, A } = this, { n, m } = model;
    const side = this.side = this.side || new Float64Array(n + m);
    const right = this.right = this.right || new Float64Array(n + m);
    for (let i = 0; i < n; i++) right[i] = force[i];
    for (let r = 0; r < m; r++) right[n + r] = wanted[r];
    if (model.weights && m)
      for (let r = 0; r < m; r++)
        for (const e of this.rows[r]) right[model.slope.col[e]] += this.heavy[r] * A[e] * wanted[r];
    for (let i = 0; i < n + m; i++) side[place[i]] = right[i];
    factors.solve(side);
    for (let i = 0; i < n + m; i++) x[i] = side[place[i]];
    for (let round = 0; round < (m ? 2 : 0); round++) {
      // The damping of the rows is taken out again; what that leaves is smaller each time.
      for (let i = 0; i < n; i++) side[place[i]] = 0;
      for (let r = 0; r < m; r++) {
        const last = round ? side[place[n + r]] : x[n + r];
        side[place[n + r]] = -this.damping * last;
      }
      factors.solve(side);
      for (let i = 0; i < n + m; i++) x[i] += side[place[i]];
    }
    return x;
  }
  rates(t, y, dy) {
    const { model, f } = this, { n, m } = model;
    this.evaluations++;
    this.load(t, y);
    this.matrix();
    let power = 0;
    if (this.hand) {
      this.pulled();
      for (let i = 0; i < n; i++) { f[i] += this.pull[i]; power += this.pull[i] * this.v[i]; }
    }
    const alpha = model.alpha;
    for (let r = 0; r < m; r++)
      this.wanted[r] = -(this.gamma[r] + 2 * alpha * this.Rdot[r] + alpha * alpha * this.R[r]);
    const x = this.saddle(f, this.wanted);
    for (let i = 0; i < n; i++) { dy[i] = y[n + i]; dy[n + i] = x[i]; }
    for (let r = 0; r < m; r++) {
      this.lam[r] = -x[n + r];
      power -= this.lam[r] * this.drive[r];
    }
    if (model.fed) {
      this.code.energies(this.time, this.q, this.v, this.u, this.p, this.e);
      power += this.e[3];
    }
    dy[2 * n] = power;
  }
  energies(t, y) {
    this.load(t, y);
    this.code.energies(this.time, this.q, this.v, this.u, this.p, this.e);
    return this.e;
  }
  look(t, y) {
    this.load(t, y);
    this.code.picture(this.time, this.q, this.v, this.u, this.p,
                      this.P, this.Pdot, this.J, this.angles, this.shown);
  }

  // -- the reader's hand: a spring and a damper between a point and the pointer -------------------
  pulled() {
    const { hand, model, P, Pdot, J, pull } = this, d = model.dimension;
    this.code.picture(this.time, this.q, this.v, this.u, this.p, P, Pdot, J, this.angles, this.shown);
    pull.fill(0);
    for (let e = 0; e < J.length; e++) {
      const row = model.places.row[e], k = row - hand.point * d;
      if (k < 0 || k >= d) continue;
      const force = hand.stiffness * (hand.target[k] - P[row]) - hand.damping * Pdot[row];
      pull[model.places.col[e]] += J[e] * force;
    }
  }
  // How a point moves under forces along the axes: a column of motions for each, and the products.
  yields(t, y, point) {
    const { model, J } = this, { n, m } = model, d = model.dimension;
    this.look(t, y);
    this.matrix();
    const columns = [], zero = new Float64Array(m);
    for (let k = 0; k < d; k++) {
      const side = new Float64Array(n);
      for (let e = 0; e < J.length; e++)
        if (model.places.row[e] === point * d + k) side[model.places.col[e]] = J[e];
      columns.push(Float64Array.from(this.saddle(side, zero)).subarray(0, n));
    }
    const W = columns.map(column => columns.map((_, l) => {
      let sum = 0;
      for (let e = 0; e < J.length; e++)
        if (model.places.row[e] === point * d + l) sum += J[e] * column[model.places.col[e]];
      return sum;
    }));
    return { columns, W, trace: W.reduce((sum, row, k) => sum + row[k], 0) };
  }
  weight(t, y, point) {
    const { trace } = this.yields(t, y, point);
    return trace > 0 ? this.model.dimension / trace : 0;
  }
  // Moves a point towards a target, as near as the constraints let it: least squares, damped so
  // that no step makes it worse.
  reach(t, y, point, target) {
    const { n } = this.model, d = this.model.dimension;
    const off = state => {
      this.look(t, state);
      return target.map((x, k) => x - this.P[point * d + k]);
    };
    let damping = 1e-3, gap = Math.hypot(...off(y));
    for (let round = 0; round < 40 && damping < 1e6; round++) {
      const { columns, W, trace } = this.yields(t, y, point);
      if (!(trace > 0)) return;
      const damped = W.map((row, k) => row.map((x, l) => x + (k === l ? damping * trace : 0)));
      const share = dense(damped, off(y)), trial = Float64Array.from(y);
      for (let i = 0; i < n; i++) for (let k = 0; k < d; k++) trial[i] += columns[k][i] * share[k];
      this.repair(t, trial);
      const next = Math.hypot(...off(trial));
      if (this.held && next < gap) {
        const settled = next > 0.999 * gap;
        y.set(trial);
        gap = next;
        damping = Math.max(1e-9, damping / 10);
        if (settled) return;
      } else damping *= 10;
    }
  }
  // Puts a state onto the constraints, and notes whether they hold it; returns how much is left.
  repair(t, y) {
    const { n, m } = this.model;
    this.held = true;
    if (!m) return 0;
    const zero = new Float64Array(n), ways = this.model.ways;
    let left = 0, most = 0, last = 0;
    for (let round = 0; round < 20; round++) {
      this.load(t, y);
      this.matrix();
      const before = left;
      left = this.R.reduce((largest, r) => Math.max(largest, Math.abs(r)), 0);
      most = Math.max(most, left);
      if (left === 0 || (round > 3 && left >= 0.5 * before)) break;
      for (let r = 0; r < m; r++) this.wanted[r] = this.model.holonomic[r] ? -this.R[r] : 0;
      const x = this.saddle(zero, this.wanted);
      last = 0;
      for (let i = 0; i < n; i++) { y[i] += x[i]; last = Math.max(last, Math.abs(x[i]) / ways[i]); }
    }
    // Newton's method either leaves rounding, or has not converged at all.
    this.held = left <= 1e-7 * most || last <= 1e-9;
    for (let round = 0; round < 2; round++) {
      this.load(t, y);
      this.matrix();
      for (let r = 0; r < m; r++) this.wanted[r] = -this.Rdot[r];
      const x = this.saddle(zero, this.wanted);
      for (let i = 0; i < n; i++) y[n + i] += x[i];
    }
    this.held = this.held && y.every(Number.isFinite);
    return left;
  }

  // -- steps of order 8 (Dormand and Prince), with errors estimated twice --------------------------
  begin(t, y) {
    const n = this.model.n;
    this.t = t;
    this.y = Float64Array.from(y);
    this.rates(t, this.y, this.stages[0]);
    const k = this.stages[0];
    let place = 0, speed = 0, push = 0;
    for (let i = 0; i < n; i++) {
      place = Math.max(place, Math.abs(y[i]));
      speed = Math.max(speed, Math.abs(k[i]));
      push = Math.max(push, Math.abs(k[n + i]));
    }
    const bit = this.model.span / 100;
    const way = Math.max(place, speed * bit, push * bit * bit) || 1;
    const pace = 1 / Math.max(speed / way, Math.sqrt(push / way), 0.1 / bit);
    this.scale = new Float64Array(2 * n);
    for (let i = 0; i < n; i++) {
      const rate = Math.max(Math.abs(y[n + i]), pace * Math.abs(k[n + i]), 1e-3 * way / pace);
      this.scale[n + i] = rate;
      this.scale[i] = Math.max(Math.abs(y[i]), pace * rate, 1e-3 * way);
    }
    let fast = 0;
    for (let i = 0; i < 2 * n; i++) fast = Math.max(fast, Math.abs(k[i]) / this.scale[i]);
    this.h = Math.min(fast > 0 ? 0.01 / fast : Infinity, this.model.span / 16);
    this.redundant = this.idle;
    this.singular = false;
    this.status = !this.convex ? NOT_CONVEX
      : isFinite(k.reduce((sum, x) => sum + x, 0)) ? "" : "there is no acceleration here";
  }
  // One accepted step; false where none can be had.
  step() {
    const { model, stages, y, trial, next } = this, { rtol, atol } = model;
    const { nodes, lines, last, third, fifth } = model.tableau;
    const n2 = 2 * model.n;
    if (this.status) return false;
    for (let tries = 0; tries < 60; tries++) {
      const h = this.h;
      for (let s = 1; s < 12; s++) {
        combine(trial, y, h, lines[s], stages, this.size);
        this.rates(this.t + nodes[s] * h, trial, stages[s]);
      }
      combine(next, y, h, last, stages, this.size);
      let a = 0, b = 0;
      for (let i = 0; i < n2; i++) {
        const most = Math.max(Math.abs(y[i]), Math.abs(next[i]));
        const unit = 1 / (atol * this.scale[i] + rtol * most);
        let e3 = 0, e5 = 0;
        for (let s = 0; s < 12; s++) { e3 += third[s] * stages[s][i]; e5 += fifth[s] * stages[s][i]; }
        a += (e5 * unit) ** 2;
        b += (e3 * unit) ** 2;
      }
      const error = a === 0 && b === 0 ? 0 : Math.abs(h) * a / Math.sqrt((a + 0.01 * b) * n2);
      if (error <= 1) {
        this.rates(this.t + h, next, stages[12]);
        if (!this.convex) { this.status = NOT_CONVEX; return false; }
        // Where rows become idle, other ways of the mechanism branch off.
        if (this.idle > this.redundant) this.singular = true;
        this.taken = h;
        this.h = h * (error > 0 ? Math.min(6, 0.9 / Math.pow(error, 0.125)) : 6);
        this.h = Math.min(this.h, model.span);
        return true;
      }
      this.h = h * (error > 1 ? Math.max(0.2, 0.9 / Math.pow(error, 0.125)) : 0.1);
      if (!(this.h > 1e-14 * Math.max(Math.abs(this.t), model.span * 1e-3))) break;
    }
    this.status = "the motion leaves every bound, or jumps, here";
    return false;
  }
  // States anywhere inside the step just taken.
  interpolate() {
    const { stages, y, next, dense, trial, model, size } = this, h = this.taken;
    const { more, moreNodes, inner } = model.tableau;
    for (let s = 0; s < 3; s++) {
      combine(trial, y, h, more[s], stages, size);
      this.rates(this.t + moreNodes[s] * h, trial, stages[13 + s]);
    }
    for (let i = 0; i < size; i++) {
      const way = next[i] - y[i];
      dense[0][i] = way;
      dense[1][i] = h * stages[0][i] - way;
      dense[2][i] = 2 * way - h * (stages[12][i] + stages[0][i]);
    }
    for (let k = 0; k < 4; k++)
      for (let i = 0; i < size; i++) {
        let sum = 0;
        for (let s = 0; s < 16; s++) sum += inner[k][s] * stages[s][i];
        dense[3 + k][i] = h * sum;
      }
  }
  inside(share, out) {
    const { dense, y, size } = this;
    for (let i = 0; i < size; i++) {
      let value = 0;
      for (let k = 6; k >= 0; k--) value = (value + dense[k][i]) * ((6 - k) % 2 ? 1 - share : share);
      out[i] = y[i] + value;
    }
  }
  accept() {
    this.t += this.taken;
    this.y.set(this.next);
    [this.stages[0], this.stages[12]] = [this.stages[12], this.stages[0]];
  }
  // Moves to a time, or as far as `late()` allows, and hands over every state of a grid of times,
  // and the one at which it had to stop: whoever goes on asks for later ones.
  advance(until, grid, frame, late) {
    const out = new Float64Array(this.size);
    let k = 0;
    if (this.pending) {
      // Part of the last step is still to be shown.
      for (; k < grid.length && grid[k] <= this.t + this.pending; k++) this.show(grid[k], out, frame);
      if (k === grid.length) return true;
      this.accept();
      this.pending = 0;
    }
    while (k < grid.length) {
      if (!this.step()) return false;
      this.interpolate();
      this.pending = this.taken;
      for (; k < grid.length && grid[k] <= this.t + this.taken; k++) this.show(grid[k], out, frame);
      if (k === grid.length) return true;
      this.accept();
      this.pending = 0;
      if (late && late()) { frame(this.t, this.y); return true; }
    }
    return true;
  }
  show(at, out, frame) {
    if (at === this.t + this.taken) out.set(this.next);
    else this.inside((at - this.t) / this.taken, out);
    frame(at, out);
  }
}
function combine(out, y, h, line, stages, size) {
  for (let i = 0; i < size; i++) out[i] = 0;
  for (const [s, share] of line) {
    const stage = stages[s];
    for (let i = 0; i < size; i++) out[i] += share * stage[i];
  }
  for (let i = 0; i < size; i++) out[i] = y[i] + h * out[i];
}
function dense(matrix, right) {
  const a = matrix.map((row, i) => [...row, right[i]]), n = a.length;
  for (let k = 0; k < n; k++) {
    let best = k;
    for (let i = k + 1; i < n; i++) if (Math.abs(a[i][k]) > Math.abs(a[best][k])) best = i;
    [a[k], a[best]] = [a[best], a[k]];
    for (let i = k + 1; i < n; i++) {
      const share = a[i][k] / a[k][k];
      for (let j = k; j <= n; j++) a[i][j] -= share * a[k][j];
    }
  }
  const x = new Array(n).fill(0);
  for (let k = n - 1; k >= 0; k--) {
    let value = a[k][n];
    for (let j = k + 1; j < n; j++) value -= a[k][j] * x[j];
    x[k] = value / a[k][k];
  }
  return x;
}
