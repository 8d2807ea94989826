// The conversation between the page and the mechanics, which live in a worker of their own.
function serve(post) {
  const engine = new Engine(model, code);
  const { n, m } = model, width = 1 + engine.size + m + 3;
  const spare = new Float64Array(engine.size);
  function row(t, y, out) {
    out[0] = t;
    out.set(y, 1);
    if (m) {
      engine.rates(t, y, spare);
      out.set(engine.lam, 1 + engine.size);
    }
    out.set(engine.energies(t, y).subarray(0, 3), 1 + engine.size + m);
  }
  return message => {
    if (message.kind === "set") {
      const y = Float64Array.from(message.y), rows = new Float64Array(width);
      engine.p.set(message.p);
      engine.given.set(message.given);
      engine.hand = message.hand || null;
      if (message.repair) engine.repair(message.t, y);
      const held = !message.repair || engine.held;
      if (!held) y.set(message.y);
      engine.pending = 0;
      // What changes the numbers of the system, or puts it elsewhere, works on it.
      const work = engine.energies(message.t, y)[2] - message.energy;
      if (isFinite(work)) y[2 * n] += work;
      engine.begin(message.t, y);
      if (!held) engine.status = "no position satisfies the constraints here";
      row(message.t, y, rows);
      post({ kind: "set", id: message.id, rows, status: engine.status });
    }
    if (message.kind === "go") {
      const deadline = performance.now() + message.budget;
      const rows = new Float64Array(width * message.grid.length);
      let count = 0;
      const whole = engine.advance(message.grid[message.grid.length - 1], message.grid, (t, y) => {
        row(t, y, rows.subarray(width * count, width * ++count));
      }, () => performance.now() > deadline);
      post({ kind: "go", id: message.id, rows: rows.subarray(0, width * count), whole,
             status: engine.status, singular: engine.singular, evaluations: engine.evaluations });
    }
  };
}
if (typeof WorkerGlobalScope !== "undefined") {
  const answer = serve(message => postMessage(message));
  onmessage = event => answer(event.data);
}
