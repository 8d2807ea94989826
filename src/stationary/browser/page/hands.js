// Pointers, buttons and keys, and the beginning.
// -- hands ---------------------------------------------------------------------------------------
const stage = $("stage");
const where = event => {
  const box = stage.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
};
// Frames one of the motions, and puts the engine where it is.
function seat(run) {
  const wide = stage.clientWidth / runs.length, rows = runs[run].rows;
  view.frame(run * wide, 0, wide, stage.clientHeight);
  const row = rows[index(runs[run])];
  engine.p.set(settings.p);
  engine.given.set(settings.given);
  engine.look(row[0], state(row));
  return row;
}
stage.addEventListener("pointerdown", event => {
  if (!model.dimension || !main().rows.length) return;
  const [x, y] = where(event), run = Math.floor(x / stage.clientWidth * runs.length);
  stage.setPointerCapture(event.pointerId);
  stage.focus();
  const row = seat(run);
  const point = view.nearest(engine.P, x, y);
  if (point < 0) { turning = [x, y]; return; }
  const target = view.find(x, y, view.point(engine.P, point));
  if (playing) {
    // As heavy as the point is, so that it follows in a third of a second.
    const weight = engine.weight(row[0], state(row), point);
    const pace = 2 * Math.PI * 2 / settings.speed;
    hand = { run, point, target, stiffness: weight * pace * pace, damping: weight * pace };
    resume();
  } else hand = { run, point, target, sets: true };
});
let moving = false, later = false;
stage.addEventListener("pointermove", event => {
  const [x, y] = where(event);
  if (turning) {
    view.turn -= (x - turning[0]) / 150;
    view.tilt = Math.max(-1.5, Math.min(1.5, view.tilt + (y - turning[1]) / 150));
    if (model.dimension === 2) {
      view.middle[0] -= (x - turning[0]) / (view.near * view.scale[0]);
      view.middle[1] += (y - turning[1]) / (view.near * view.scale[1]);
    }
    turning = [x, y];
    return draw();
  }
  if (!hand) {
    if (!main().rows.length || !model.dimension) return;
    seat(Math.min(runs.length - 1, Math.max(0, Math.floor(x / stage.clientWidth * runs.length))));
    stage.style.cursor = view.nearest(engine.P, x, y) >= 0 ? "grab" : model.dimension === 3 ? "move" : "default";
    return;
  }
  seat(hand.run);
  hand.target = view.find(x, y, view.point(engine.P, hand.point));
  // Of places that come faster than they are reached the last one counts.
  if (moving) later = true;
  else follows();
});
function follows() {
  const row = seat(hand.run);
  moving = true;
  later = false;
  const done = () => { moving = false; if (hand && later) follows(); };
  if (hand.sets) {
    const start = state(row);
    start.fill(0, n);
    engine.reach(row[0], start, hand.point, hand.target);
    if (!start.every(Number.isFinite)) return done();
    if (hand.run) settings.twin = Array.from(start);
    else settings.y = Array.from(start);
    restart().then(done);
  } else resume().then(done);
}
const release = () => {
  turning = null;
  if (!hand) return;
  const pulled = !hand.sets;
  hand = null;
  if (pulled) resume();
  else draw();
};
stage.addEventListener("pointerup", release);
stage.addEventListener("pointercancel", release);
stage.addEventListener("wheel", event => {
  view.near *= Math.exp(-event.deltaY / 900);
  draw();
  event.preventDefault();
}, { passive: false });

// -- buttons and keys ----------------------------------------------------------------------------
if (location.hash.length > 1) follow(location.hash.slice(1));
const toggle = (id, key, after) => {
  const button = $(id);
  const paint = () => button.setAttribute("aria-pressed", Boolean(show[key]));
  button.onclick = () => { show[key] = !show[key]; paint(); if (after) after(); draw(); };
  paint();
};
const compare = () => {
  if (settings.twin) settings.twin = null;
  else {
    settings.twin = settings.y.slice();
    settings.twin[0] += page.nudge;
  }
  $("compare").setAttribute("aria-pressed", Boolean(settings.twin));
  restart();
};
const actions = {
  play: () => playing ? pause() : play(),
  back: () => step(-1),
  step: () => step(1),
  reset: () => { const was = playing; pause(); restart().then(() => { if (was) play(); }); },
  faster: () => pace(2), slower: () => pace(0.5),
};
function pace(factor) {
  // A motion of microseconds has a pace of its own, and so has one of years.
  settings.speed = Math.min(64 * page.speed, Math.max(page.speed / 64, settings.speed * factor));
  const { speed } = settings, plain = x => x < 1e5 ? +x.toPrecision(3) : short(x, 3);
  $("speed").textContent = `× ${speed >= 1 ? plain(speed) : "1/" + plain(1 / speed)}`;
}
$("play").onclick = actions.play;
$("back").onclick = actions.back;
$("step").onclick = actions.step;
$("reset").onclick = actions.reset;
$("faster").onclick = actions.faster;
$("slower").onclick = actions.slower;
$("compare").onclick = compare;
$("compare").setAttribute("aria-pressed", Boolean(settings.twin));
toggle("trails", "trails");
toggle("velocities", "velocities");
toggle("forces", "forces");
if (!m) $("forces").hidden = true;
if ($("numbers")) {
  const texts = new Map();
  toggle("numbers", "numbers", () => {
    document.querySelectorAll("#equations [data-of]").forEach(e => {
      if (show.numbers) texts.set(e, e.innerHTML);
      else if (texts.has(e)) { e.innerHTML = texts.get(e); delete e.dataset.now; }
    });
  });
}
$("link").onclick = async () => {
  const text = link();
  history.replaceState(null, "", text);
  try { await navigator.clipboard.writeText(text); $("link").textContent = "copied"; }
  catch (error) { $("link").textContent = "in the address"; }
  setTimeout(() => { $("link").textContent = "copy link"; }, 1500);
};
if (location.protocol === "about:") $("link").hidden = true;
$("csv").onclick = () => save("motion.csv", csv(), "text/csv");
$("scrub").oninput = () => { pause(); shown = +$("scrub").value; draw(); };
document.addEventListener("keydown", event => {
  if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) && event.target.type !== "range") return;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const key = { " ": "play", ArrowRight: "step", ArrowLeft: "back", r: "reset", "+": "faster", "-": "slower" }[event.key];
  const onRange = event.target.type === "range" && key !== "play";
  if (!key || onRange || (event.target.tagName === "BUTTON" && event.key === " ")) return;
  actions[key]();
  event.preventDefault();
});
// A link that is put into the address of the open page counts as if the page were opened by it.
window.addEventListener("hashchange", () => location.reload());
window.addEventListener("resize", draw);
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);

pace(1);
knobs();
chips();
$("section").setAttribute("aria-pressed", show.section);
$("coordinate").value = show.portrait;
const ready = restart().then(() => { if (!still && !page.paused) play(); });
// What tests and curious readers call.
window.live = {
  ready, settings, show, link, csv, view, rows: () => main().rows, playing: () => playing,
  times: () => runs.map(run => run.rows[index(run)][0]),
  rate: () => rate, pause, restart, error: () => energyError, status: () => status,
  async run(seconds) {
    pause();
    await order;
    await restart();
    const until = settings.t + seconds;
    await inTurn(async () => {
      for (;;) {
        const answer = await main().go([until], 1e4);
        if (!answer.whole || last()[0] === until) break;
      }
      shown = main().rows.length - 1;
      draw();
    });
    return Array.from(state(last()));
  },
};
