// What the reader can set, and take away.
// -- knobs ---------------------------------------------------------------------------------------
function element(tag, text, attributes = {}) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}
function slider(knob, values, change) {
  const row = element("div", undefined, { class: "knob" });
  const id = `knob-${knob.kind}-${knob.place}`;
  const label = element("label", knob.name, { for: id });
  const range = element("input", undefined, { type: "range", id, min: knob.low, max: knob.high, step: "any" });
  const exact = element("input", undefined, { type: "number", step: "any", "aria-label": `${knob.name}, exact` });
  const unit = element("span", knob.unit || "", { class: "unit" });
  const put = () => { range.value = values[knob.place]; exact.value = +Number(values[knob.place]).toPrecision(8); };
  const take = text => {
    const value = Number(text);
    if (text === "" || !isFinite(value)) return;
    values[knob.place] = value;
    put();
    change();
  };
  range.oninput = () => take(range.value);
  exact.onchange = () => take(exact.value);
  row.append(label, range, exact, unit);
  row.put = put;
  put();
  return row;
}
let rowsOfKnobs = [];
function knobs() {
  const box = $("knobs");
  for (const [kind, title] of [["p", "Parameters"], ["given", "Inputs"]]) {
    const these = page.knobs.filter(k => k.kind === kind);
    if (!these.length) continue;
    box.append(element("h2", title));
    for (const knob of these) {
      const row = slider(knob, settings[kind], () => main().rows.length < 2 ? restart() : resume({ repair: true }));
      rowsOfKnobs.push(row);
      box.append(row);
    }
  }
  if (page.starts) box.append(element("h2", "Start"));
  const list = element("div", undefined, { class: "starts" });
  for (let k = 0; k < page.starts; k++)
    for (const rate of [0, 1]) {
      const name = page.names[k] + (rate ? "′" : "");
      const input = element("input", undefined, { type: "number", step: "any", "aria-label": `start of ${name}` });
      input.onchange = () => {
        if (input.value === "" || !isFinite(+input.value)) return fields();
        settings.y[rate * n + k] = +input.value;
        restart();
      };
      input.place = rate * n + k;
      list.append(element("label", name), input);
    }
  box.append(list);
  if (page.rests.length) {
    box.append(element("h2", "States of rest"));
    const rests = element("div", undefined, { class: "rests" });
    page.rests.forEach(rest => {
      const button = element("button", rest.name, { type: "button", class: rest.stable ? "good" : "bad" });
      button.onclick = () => {
        settings.y = [...rest.q, ...new Array(n).fill(0), 0];
        restart();
      };
      rests.append(button);
    });
    box.append(rests);
  }
}
function fields() {
  document.querySelectorAll(".starts input").forEach(input => {
    if (document.activeElement !== input) input.value = +settings.y[input.place].toPrecision(8);
  });
  rowsOfKnobs.forEach(row => row.put());
}
function chips() {
  const box = $("chips");
  page.quantities.forEach((name, k) => {
    const chip = element("button", name, { type: "button", class: "chip" });
    const paint = () => {
      const at = show.chosen.indexOf(k);
      chip.setAttribute("aria-pressed", at >= 0);
      chip.style.setProperty("--chip", at >= 0 ? page.colors[at % page.colors.length] : "var(--grid)");
    };
    chip.onclick = () => {
      const at = show.chosen.indexOf(k);
      if (at >= 0) show.chosen.splice(at, 1); else show.chosen.push(k);
      box.querySelectorAll("button").forEach(b => b.paint());
      draw();
    };
    chip.paint = paint;
    paint();
    box.append(chip);
  });
  page.names.forEach((name, k) => $("coordinate").append(element("option", name, { value: k })));
  $("coordinate").onchange = () => { show.portrait = +$("coordinate").value; draw(); };
  $("section").onclick = () => {
    show.section = !show.section;
    $("section").setAttribute("aria-pressed", show.section);
    draw();
  };
}
function numbers() {
  const row = now();
  engine.look(row[0], state(row));
  const values = { p: settings.p, u: engine.u, q: engine.q, v: engine.v };
  document.querySelectorAll("#equations [data-of]").forEach(e => {
    const x = values[e.dataset.of][+e.dataset.place], text = x < 0 ? `(${short(x)})` : short(x);
    if (e.dataset.now === text) return;
    e.dataset.now = text;
    const factor = e.previousElementSibling && e.previousElementSibling.tagName !== "mo";
    e.innerHTML = `${factor ? "<mo>·</mo>" : ""}<mn>${text}</mn>`;
  });
}

// -- links and files -----------------------------------------------------------------------------
function link() {
  const kept = { p: settings.p, g: settings.given, y: settings.y, s: settings.speed, w: settings.twin,
                 c: show.chosen, o: [show.trails, show.velocities, show.forces, show.section, show.portrait] };
  const text = btoa(JSON.stringify(kept)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
  return location.href.split("#")[0] + "#" + text;
}
function follow(fragment) {
  try {
    const kept = JSON.parse(atob(fragment.replace(/-/g, "+").replace(/_/g, "/")));
    const list = (x, length) => Array.isArray(x) && x.length === length && x.every(Number.isFinite);
    if (!list(kept.p, settings.p.length) || !list(kept.g, settings.given.length) || !list(kept.y, size))
      throw new Error("other numbers");
    kept.p.forEach((x, k) => { settings.p[k] = x; });
    kept.g.forEach((x, k) => { settings.given[k] = x; });
    settings.y = kept.y;
    settings.speed = Number.isFinite(kept.s) ? kept.s : settings.speed;
    settings.twin = list(kept.w, size) ? kept.w : null;
    if (Array.isArray(kept.c)) show.chosen = kept.c.filter(k => Number.isInteger(k) && k >= 0 && k < page.quantities.length);
    if (Array.isArray(kept.o)) {
      [show.trails, show.velocities, show.forces, show.section] = kept.o.map(Boolean);
      show.portrait = Number.isInteger(kept.o[4]) && kept.o[4] >= 0 && kept.o[4] < n ? kept.o[4] : 0;
    }
  } catch (error) {
    notice = "the link's settings are of another page: the page's own are shown";
  }
}
function csv() {
  const quoted = name => /[",\n]/.test(name) ? `"${name.replace(/"/g, '""')}"` : name;
  const safe = name => /^[=+\-@]/.test(name) ? `'${name}` : name;
  const head = ["t", ...page.names, ...page.names.map(x => x + "'"), "work", ...page.rows.map(x => `lam ${x}`), "T", "U", "E"];
  const lines = [head.map(safe).map(quoted).join(","), ...main().rows.map(r => Array.from(r).join(","))];
  return lines.join("\n") + "\n";
}
function save(name, text, type) {
  const made = element("a", undefined, { download: name });
  made.href = URL.createObjectURL(new Blob([text], { type }));
  made.click();
  setTimeout(() => URL.revokeObjectURL(made.href), 1000);
}
