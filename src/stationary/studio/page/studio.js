"use strict";
// The studio's page: the text with its colours and completions, one tab for every question.
const $ = id => document.getElementById(id);
const text = $("text"), colors = $("colors"), choices = $("choices");
let socket = null, number = 0, seen = "", file = "", names = [], tab = "live", offered = ["live"];
let reading = 0, asking = 0, began = 0, wrong = 0, asked = {}, saved = "", wait = 300;

// -- the server ------------------------------------------------------------------------------------
function connect() {
  const token = new URLSearchParams(location.search).get("token") || "";
  socket = new WebSocket(`ws://${location.host}/talk?token=${encodeURIComponent(token)}`);
  socket.onopen = () => { wait = 300; status(""); };
  socket.onmessage = event => hear(JSON.parse(event.data));
  socket.onclose = event => {
    working(false);
    saving = again = false;
    if (event.code === 4403 || event.code === 1008) return status("this address is no longer valid", true);
    // The text is here: it waits for the server to come back.
    status("no server: waiting for it", true);
    setTimeout(connect, wait = Math.min(5000, 1.6 * wait));
  };
}
function tell(message) {
  if (socket.readyState !== WebSocket.OPEN) return 0;
  socket.send(JSON.stringify({ ...message, id: ++number }));
  return number;
}
function hear(message) {
  if (message.kind === "hello") {
    file = message.file;
    if (message.text !== null && !text.value) put(message.text, message.version);
    else if (message.text === null && !text.value) put(Object.values(known.starters)[0], "");
    else if (message.version !== seen && message.text !== null && message.text !== text.value) conflict(message);
    asked = {};
    title();
    read();
    if (message.error) notice(message.error, []);
  }
  if (message.kind === "read" && message.id === reading) {
    if (message.stopped) return;
    wrong = message.line || 0;
    $("message").textContent = message.error || "";
    status(message.error ? message.error.split("\n")[0] : message.told, Boolean(message.error));
    if (!message.error) {
      names = message.names;
      offered = message.questions;
      if (!offered.includes(tab)) tab = offered[0];
      tabs();
      ask();
    }
    paint();
    if (message.there === "" && seen) notice(`${file} is no longer there: saving writes it again.`, []);
    else if (message.there !== undefined && message.there !== seen && file && text.value === saved) reload();
  }
  if (message.kind === "ask" && message.id === asking) {
    working(false);
    if (message.stopped) return;
    if (message.error) return answer(`<pre style="font:14px monospace;white-space:pre-wrap;padding:1em">${escaped(message.error)}</pre>`, []);
    answer(message.html, message.evidence || []);
  }
  if (message.kind === "save") {
    saving = false;
    if (message.conflict) conflict(message);
    else if (message.error) notice(message.error, []);
    else {
      seen = message.version;
      file = message.file;
      saved = sent;
      notice("", []);
      title();
      if (again) { again = false; save(); }
    }
    if (!saving) again = false;
  }
}
const escaped = words => words.replace(/[&<>"]/g, c => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
function status(words, bad = false) {
  $("line").textContent = words || "";
  $("line").classList.toggle("bad", bad);
}
function notice(words, buttons) {
  const box = $("notice");
  box.hidden = !words;
  box.textContent = words;
  for (const [name, act] of buttons) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = name;
    button.onclick = () => { box.hidden = true; act(); };
    box.append(button);
  }
}
function conflict(message) {
  notice(`${message.file} was changed elsewhere since you read it.`, [
    ["take theirs", () => { put(message.text, message.version); read(); }],
    ["write mine over it", () => { seen = message.version; save(); }],
  ]);
}
function reload() {
  notice(`${file} was changed elsewhere.`, [["read it again", () => location.reload()]]);
}
function title() {
  $("file").textContent = (file || "not saved yet") + (text.value === saved ? "" : " •");
  document.title = `${file || "studio"}${text.value === saved ? "" : " •"}`;
}

// -- questions -------------------------------------------------------------------------------------
function read() { reading = tell({ kind: "read", text: text.value }); }
function ask() {
  if (asked.tab === tab && asked.text === text.value) return;
  asked = { tab, text: text.value };
  asking = tell({ kind: "ask", question: tab, text: text.value });
  if (asking) working(true);
}
function working(on) {
  $("work").hidden = true;
  clearInterval(working.timer);
  if (!on) return;
  began = performance.now();
  working.timer = setInterval(() => {
    const seconds = (performance.now() - began) / 1000;
    $("work").hidden = seconds < 0.6;
    $("seconds").textContent = `${known.tabs[tab]}: ${seconds.toFixed(0)} s`;
  }, 200);
}
$("stop").onclick = () => { tell({ kind: "stop" }); working(false); asked = {}; };
function answer(html, evidence) {
  $("answer").srcdoc = html;
  $("evidence").textContent = evidence.join(" · ");
}
function tabs() {
  const bar = $("tabs");
  bar.replaceChildren(...Object.entries(known.tabs).filter(([key]) => offered.includes(key)).map(([key, name]) => {
    const button = document.createElement("button");
    button.type = "button";
    button.role = "tab";
    button.textContent = name;
    button.setAttribute("aria-selected", key === tab);
    button.onclick = () => { tab = key; tabs(); ask(); };
    return button;
  }));
}
let sent = "", saving = false, again = false;
// One at a time: the next one must have seen what this one writes.
function save() {
  if (saving) { again = true; return; }
  let name = "";
  if (!file) {
    name = prompt("Name of the file", "model.toml");
    if (!name) return;
  }
  sent = text.value;
  saving = Boolean(tell({ kind: "save", text: text.value, seen, name }));
}
$("save").onclick = save;

// -- the text --------------------------------------------------------------------------------------
function put(content, version) {
  text.value = content;
  seen = version;
  saved = version ? content : "";
  asked = {};
  paint();
  title();
}
const TOKENS = /(#[^\n]*)|("(?:[^"\\\n]|\\.)*"?|'[^'\n]*'?)|^(\s*\[\[?[^\]\n]*\]?\]?)|^(\s*[\w."'-]+)(?=\s*=)|(\b\d[\d.e_]*\b)/gm;
function paint() {
  const kinds = ["note", "string", "table", "key", "number"];
  const lines = text.value.split("\n").map((line, k) => {
    const made = [];
    let last = 0;
    for (const match of line.matchAll(TOKENS)) {
      const kind = kinds[match.slice(1).findIndex(group => group !== undefined)];
      made.push(escaped(line.slice(last, match.index)), `<span class="${kind}">${escaped(match[0])}</span>`);
      last = match.index + match[0].length;
    }
    made.push(escaped(line.slice(last)));
    return k + 1 === wrong ? `<span class="wrong">${made.join("") || " "}</span>` : made.join("");
  });
  colors.innerHTML = lines.join("\n") + "\n";
  scroll();
}
function scroll() { colors.scrollTop = text.scrollTop; colors.scrollLeft = text.scrollLeft; }
text.onscroll = scroll;
let timer = 0;
text.oninput = () => {
  wrong = 0;
  paint();
  title();
  complete();
  clearTimeout(timer);
  timer = setTimeout(read, 350);
};

// -- completion: names of the model and its mathematics --------------------------------------------
let chosen = 0, start = 0;
function complete() {
  const end = text.selectionStart, before = text.value.slice(0, end);
  const word = before.match(/[A-Za-z_]\w*$/);
  const fits = word ? names.filter(n => n.startsWith(word[0]) && n !== word[0]).slice(0, 12) : [];
  choices.hidden = !fits.length;
  if (!fits.length) return;
  start = end - word[0].length;
  chosen = 0;
  choices.replaceChildren(...fits.map((name, k) => {
    const item = document.createElement("li");
    item.role = "option";
    item.textContent = name;
    item.onmousedown = event => { event.preventDefault(); take(name); };
    item.setAttribute("aria-selected", k === 0);
    return item;
  }));
  const line = before.split("\n").length, column = before.length - before.lastIndexOf("\n") - 1;
  choices.style.left = `${14 + 8.43 * column - text.scrollLeft}px`;
  choices.style.top = `${12 + 20 * line - text.scrollTop}px`;
}
function take(name) {
  const end = text.selectionStart;
  text.setRangeText(name, start, end, "end");
  choices.hidden = true;
  text.dispatchEvent(new Event("input"));
  choices.hidden = true;
}
text.onkeydown = event => {
  if (choices.hidden) return;
  const items = [...choices.children];
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    items[chosen].setAttribute("aria-selected", false);
    chosen = (chosen + (event.key === "ArrowDown" ? 1 : items.length - 1)) % items.length;
    items[chosen].setAttribute("aria-selected", true);
    items[chosen].scrollIntoView({ block: "nearest" });
    event.preventDefault();
  } else if (event.key === "Tab" || event.key === "Enter") {
    event.preventDefault();
    take(items[chosen].textContent);
  } else if (event.key === "Escape") choices.hidden = true;
};
text.onblur = () => { choices.hidden = true; };
document.addEventListener("keydown", event => {
  if ((event.ctrlKey || event.metaKey) && event.key === "s") { event.preventDefault(); save(); }
});
window.addEventListener("beforeunload", event => { if (text.value !== saved && file) event.preventDefault(); });

// -- the beginning ---------------------------------------------------------------------------------
for (const name of Object.keys(known.starters)) {
  const option = document.createElement("option");
  option.value = option.textContent = name;
  $("starters").append(option);
}
$("starters").onchange = () => {
  const name = $("starters").value;
  if (!name) return;
  const mine = text.value, version = seen;
  text.value = known.starters[name];
  $("starters").value = "";
  asked = {};
  wrong = 0;
  paint();
  title();
  read();
  if (mine.trim() && !Object.values(known.starters).includes(mine))
    notice("Your text was put aside.", [["bring it back", () => { text.value = mine; seen = version; asked = {}; paint(); title(); read(); }]]);
};
tabs();
connect();
