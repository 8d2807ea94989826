// The page's motions, its clock and its pictures. These files are one function's body, in order.
const $ = id => document.getElementById(id);
const { n, m } = model, size = 2 * n + 1, width = 1 + size + m + 3;
const engine = new Engine(model, code), view = new View($("stage"), model, page.picture);
const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
const settings = { p: [...model.p], given: [...model.given], y: [...model.start], t: model.begin,
                   speed: page.speed, twin: null };
const show = { trails: true, velocities: false, forces: false, numbers: false, section: false,
               over: "time", chosen: page.chosen.slice(), portrait: 0 };
let playing = false, shown = 0, hand = null, turning = null, wall = 0, status = "", notice = "", slow = 1;
let scale = 0, energyError = 0;

// -- mechanics, one worker for every motion ------------------------------------------------------
class Run {
  constructor() {
    this.rows = [];
    this.waiting = new Map();
    this.count = 0;
    try {
      const text = $("mechanics").textContent;
      this.worker = new Worker(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
      this.worker.onmessage = event => this.hear(event.data);
      // A page around this one may forbid workers: that is told later, and by an event.
      this.worker.onerror = event => { event.preventDefault(); this.within(); };
    } catch (error) { this.within(); }
  }
  // Where no worker may be started the mechanics run in the page.
  within() {
    if (this.worker) this.worker.terminate();
    const answer = serve(message => this.hear(message)), row = this.last();
    if (row) answer({ kind: "set", t: row[0], y: state(row), p: settings.p, given: settings.given });
    this.worker = { postMessage: message => setTimeout(() => answer(message)), terminate() {} };
    for (const [message] of this.waiting.values()) this.worker.postMessage(message);
  }
  last() { return this.rows[this.rows.length - 1]; }
  hear(message) {
    const [, done] = this.waiting.get(message.id) || [];
    this.waiting.delete(message.id);
    if (done) done(message);
  }
  ask(message) {
    const id = ++this.count, asked = { ...message, id };
    return new Promise(done => {
      this.waiting.set(id, [asked, done]);
      this.worker.postMessage(asked);
    });
  }
  async set(t, y, options = {}) {
    const answer = await this.ask({ kind: "set", t, y, p: settings.p, given: settings.given, ...options });
    if (options.keep === undefined) { this.rows = []; this.origin = answer.rows; this.singular = false; }
    else this.rows.length = options.keep;
    this.rows.push(answer.rows);
    this.status = answer.status;
    return answer;
  }
  async go(grid, budget) {
    const answer = await this.ask({ kind: "go", grid, budget });
    for (let k = 0; k < answer.rows.length; k += width)
      this.rows.push(answer.rows.slice(k, k + width));
    this.status = answer.status;
    this.singular = this.singular || answer.singular;
    return answer;
  }
}
let runs = [new Run()];
const main = () => runs[0];
const last = () => main().last();
const now = () => main().rows[Math.min(shown, main().rows.length - 1)];
// Which state of a motion is seen: of another start the one of the same time, or the last before.
function index(run) {
  const { rows } = run, until = now()[0];
  let low = 0, high = rows.length - 1;
  if (run === main()) return Math.min(shown, high);
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (rows[middle][0] <= until) low = middle; else high = middle - 1;
  }
  return low;
}
const trouble = () => runs.map(run => run.status).find(Boolean) || "";
const state = row => row.slice(1, 1 + size);
const energy = row => row.slice(1 + size + m);

let order = Promise.resolve();
// Everything that changes the motion waits for its turn.
function inTurn(work) {
  order = order.then(work, work);
  return order;
}
function restart() {
  return inTurn(async () => {
    await main().set(settings.t, settings.y, { repair: true });
    settings.y = Array.from(state(last()));
    if (settings.twin) {
      if (runs.length < 2) runs.push(new Run());
      await runs[1].set(settings.t, settings.twin, { repair: true });
    } else if (runs.length > 1) runs.pop().worker.terminate();
    shown = 0;
    scale = 0;
    energyError = 0;
    status = trouble();
    fields();
    draw();
  });
}
// Goes on from what is seen, with what has been changed.
function resume(options = {}) {
  return inTurn(async () => {
    const seen = runs.map(index);
    for (const [k, run] of runs.entries()) {
      const row = run.rows[seen[k]], held = hand && hand.run === k && !hand.sets ? hand : null;
      await run.set(row[0], state(row), { keep: seen[k], repair: options.repair, energy: energy(row)[2], hand: held });
    }
    shown = main().rows.length - 1;
    status = trouble();
    draw();
  });
}
const most = Math.max(400, Math.floor(4e6 / width));
// A portrait is drawn anew with every frame: of a long motion the end of it.
const LONGEST = 6000;
// Moves on by so many seconds of the motion, or by as much as one frame has time for.
async function forward(seconds) {
  const pieces = Math.max(1, Math.min(4, Math.ceil(seconds / (page.size_time / 60))));
  // Two starts keep step: the one that needs more work is waited for.
  const reached = () => Math.min(...runs.map(run => run.last()[0]));
  const from = reached(), until = from + seconds;
  const answers = await Promise.all(runs.map(run => {
    const begin = run.last()[0], grid = [];
    if (begin >= until) return { whole: true };
    for (let k = 1; k < pieces; k++) grid.push(begin + (until - begin) * k / pieces);
    return run.go([...grid, until], 30);
  }));
  slow += 0.1 * ((reached() - from) / seconds - slow);
  for (const run of runs) if (run.rows.length > most) run.rows.splice(0, run.rows.length - most);
  shown = main().rows.length - 1;
  if (answers.some(a => !a.whole)) { pause(); status = trouble(); }
}

// -- the clock -----------------------------------------------------------------------------------
let frames = 0, since = 0, rate = 0, busy = false;
function tick(time) {
  if (!playing) return;
  frames++;
  if (time - since > 1000) { rate = frames * 1000 / (time - since); frames = 0; since = time; }
  if (!busy) {
    busy = true;
    const elapsed = Math.max(0.004, (time - wall) / 1000);
    wall = time;
    inTurn(async () => {
      // After a pause of the whole page the motion does not leap.
      if (playing && last()) await forward(Math.min(0.25, elapsed) * settings.speed);
      busy = false;
      draw();
    });
  }
  requestAnimationFrame(tick);
}
function play() {
  if (playing) return;
  const go = () => {
    playing = true;
    wall = since = performance.now();
    frames = 0;
    $("play").textContent = "❚❚";
    $("play").setAttribute("aria-label", "pause");
    // Numbers that change with every frame are not read out.
    $("evidence").setAttribute("aria-live", "off");
    requestAnimationFrame(tick);
  };
  if (shown < main().rows.length - 1) resume().then(go);
  else go();
}
function pause() {
  playing = false;
  $("play").textContent = "▶";
  $("play").setAttribute("aria-label", "play");
  $("evidence").setAttribute("aria-live", "polite");
}
function step(sign) {
  pause();
  if (sign < 0) { shown = Math.max(0, shown - 1); return draw(); }
  if (shown < main().rows.length - 1) { shown++; return draw(); }
  return inTurn(async () => { await forward(page.size_time / 60); draw(); });
}

// -- drawing -------------------------------------------------------------------------------------
function palette() {
  const style = getComputedStyle(document.documentElement), get = name => style.getPropertyValue(name).trim();
  return { ink: get("--ink"), soft: get("--soft"), grid: get("--grid"), velocity: get("--velocity"),
           force: get("--force"), series: page.colors };
}
function paths(run, upto, seconds) {
  const grips = view.grips.slice(0, view.grips.length > 20 ? 0 : 20);
  const made = grips.map(() => []), until = run.rows[upto][0];
  let from = upto;
  while (from > 0 && until - run.rows[from - 1][0] <= seconds) from--;
  const stride = Math.max(1, Math.floor((upto - from) / 150));
  for (let k = from; k <= upto; k += stride) {
    engine.look(run.rows[k][0], state(run.rows[k]));
    grips.forEach((g, i) => made[i].push(view.point(engine.P, g)));
  }
  return made;
}
function forces(row) {
  if (!m) return null;
  const d = model.dimension, spare = new Float64Array(size);
  engine.rates(row[0], state(row), spare);
  const held = new Float64Array(n);
  model.slope.row.forEach((r, e) => { held[model.slope.col[e]] += engine.A[e] * engine.lam[r]; });
  engine.look(row[0], state(row));
  const made = [];
  let largest = 0;
  for (const k of view.grips.length > 60 ? [] : view.grips) {
    const W = Array.from({ length: d }, () => new Array(d).fill(0)), right = new Array(d).fill(0);
    for (let e = 0; e < engine.J.length; e++) {
      const a = model.places.row[e] - k * d;
      if (a < 0 || a >= d) continue;
      right[a] += engine.J[e] * held[model.places.col[e]];
      for (let g = 0; g < engine.J.length; g++) {
        const b = model.places.row[g] - k * d;
        if (b >= 0 && b < d && model.places.col[g] === model.places.col[e])
          W[a][b] += engine.J[e] * engine.J[g];
      }
    }
    const trace = W.reduce((s, r, i) => s + r[i], 0);
    if (!(trace > 0)) continue;
    const force = dense(W.map((r, a) => r.map((x, b) => x + (a === b ? 1e-12 * trace : 0))), right);
    largest = Math.max(largest, Math.hypot(...force));
    made.push([k, force]);
  }
  forces.most = Math.max(largest, forces.most || 0);
  return made.map(([k, f]) => [k, f.map(x => 0.25 * view.reach * x / (forces.most || 1))]);
}
function draw() {
  if (!main().rows.length) return;
  const colors = palette(), stage = $("stage");
  engine.p.set(settings.p);
  engine.given.set(settings.given);
  const [, wide, high] = fit(stage), share = runs.length;
  runs.forEach((run, k) => {
    if (!run.rows.length || !model.dimension) return;
    const seen = index(run), row = run.rows[seen];
    view.frame(k * wide / share, 0, wide / share, high);
    const trails = show.trails ? paths(run, seen, 1.2 * settings.speed) : null;
    const arrows = show.forces ? forces(row) : null;
    engine.look(row[0], state(row));
    view.draw(engine, { trails, velocities: show.velocities, forces: arrows,
                        hand: hand && runs[hand.run] === run && hand }, colors);
  });
  words();
  curves(colors);
  if (show.numbers) numbers();
  const scrub = $("scrub");
  scrub.max = main().rows.length - 1;
  scrub.value = shown;
}
function balance(run) {
  const first = run.origin, row = run.rows[index(run)], a = energy(first), b = energy(row);
  let largest = 0;
  for (const r of [first, row]) {
    const e = energy(r);
    largest = Math.max(largest, Math.abs(e[0]), Math.abs(e[1]), Math.abs(r[size]));
  }
  scale = Math.max(scale, largest);
  return (b[2] - row[size] - a[2] + first[size]) / (scale || 1);
}
// Times to a hundredth of a second of the watch, whatever the motion's own pace is.
function seconds(t) {
  const digits = Math.ceil(2 - Math.log10(page.size_time));
  return digits <= 6 ? t.toFixed(Math.max(0, digits)) : (+t.toPrecision(4)).toExponential().replace("-", "−");
}
function words() {
  const row = now();
  $("clock").textContent = `t = ${seconds(row[0])} s`;
  energyError = balance(main());
  const parts = [energyError ? `energy error ${Math.abs(energyError).toExponential(1).replace("-", "−")}` : "no energy error",
                 `steps to ${model.rtol.toExponential(0).replace("-", "−")}`];
  if (playing && slow < 0.9) parts.push(`${short(slow * settings.speed)} × real time`);
  if (playing && rate) parts.push(`${rate.toFixed(0)} frames a second`);
  const branched = runs.some(run => run.singular) && "it went through a singular configuration, from which other ways lead on";
  for (const word of [status, branched, notice]) if (word) parts.push(word);
  $("evidence").textContent = parts.join(" · ");
  $("evidence").classList.toggle("bad", Boolean(status) || Math.abs(energyError) > 1e-6);
}
const quantity = k => row => {
  if (k < size - 1) return row[1 + k];
  k -= size - 1;
  if (k < m) return row[1 + size + k];
  k -= m;
  engine.look(row[0], state(row));
  return engine.shown[k];
};
function window_of(run) {
  const end = index(run), until = run.rows[end][0];
  let from = end;
  while (from > 0 && until - run.rows[from][0] < page.window) from--;
  return run.rows.slice(from, end + 1);
}
function curves(colors) {
  const over = [], energies = [], portrait = [];
  runs.forEach((run, twin) => {
    if (!run.rows.length) return;
    const rows = window_of(run), t = rows.map(r => r[0]), dash = twin ? [5, 4] : [];
    show.chosen.forEach((k, i) => over.push({ x: t, y: rows.map(quantity(k)), dash,
                                              color: colors.series[i % colors.series.length] }));
    if (!twin) {
      const names = [0, 1, 2].map(k => rows.map(r => energy(r)[k]));
      names.forEach((y, k) => energies.push({ x: t, y, color: colors.series[k] }));
      if (model.fed || rows.some(r => r[size] !== 0))
        energies.push({ x: t, y: rows.map(r => r[size]), color: colors.series[3], dash: [2, 3] });
    }
    const c = show.portrait;
    if (!show.section) {
      const end = index(run) + 1, all = run.rows.slice(Math.max(0, end - LONGEST), end);
      portrait.push({ x: all.map(r => r[1 + c]), y: all.map(r => r[1 + n + c]), dash,
                      color: colors.series[twin ? 1 : 0] });
      const r = all[all.length - 1];
      portrait.push({ x: [r[1 + c]], y: [r[1 + n + c]], dots: 4, color: colors.series[twin ? 1 : 0] });
    } else portrait.push({ ...section(run, c), dots: 2, color: colors.series[twin ? 1 : 0] });
  });
  const rows = window_of(main()), from = rows[0][0];
  const span = [from, Math.max(from + page.window, rows[rows.length - 1][0])];
  plot($("over"), over, { x: "t (s)", span }, colors);
  plot($("energies"), energies, { x: "t (s)", span }, colors);
  const name = page.names[show.portrait];
  const axes = { x: show.section ? `${name}, ${name}′ where ${page.names[other(show.portrait)]}′ = 0 rising` : `${name} and ${name}′` };
  plot($("portrait"), portrait, axes, colors);
  // What has no position is seen by its portrait.
  if (!model.dimension) plot($("stage"), portrait, axes, colors);
}
const other = c => n > 1 ? (c + 1) % n : c;
// Where another coordinate's velocity rises through zero, by the cubic between two states.
function section(run, c) {
  const x = [], y = [], o = n + other(c);
  for (let k = 1, end = index(run); k <= end; k++) {
    const a = run.rows[k - 1], b = run.rows[k];
    if (!(a[1 + o] < 0 && b[1 + o] >= 0)) continue;
    const s = a[1 + o] / (a[1 + o] - b[1 + o]), h = b[0] - a[0];
    const cubic = i => {
      const p = a[1 + i], q = b[1 + i], u = h * a[1 + n + i], v = h * b[1 + n + i];
      return p + s * (u + s * (3 * (q - p) - 2 * u - v + s * (2 * (p - q) + u + v)));
    };
    x.push(cubic(c));
    y.push(a[1 + n + c] + s * (b[1 + n + c] - a[1 + n + c]));
  }
  return { x, y };
}
