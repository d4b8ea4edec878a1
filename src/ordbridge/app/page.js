// The page of the app. All text from files goes in by textContent, never as markup.
const TOKEN = document.body.dataset.token, MEGABYTES = Number(document.body.dataset.megabytes);
const $ = id => document.getElementById(id);
const ROLES = ["participant", "item", "system", "rating", "criterion"];
let study = null;

function make(tag, text = "", attributes = {}) {
  const made = document.createElement(tag);
  made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

async function ask(path, body, method = "POST") {
  let answer;
  try {
    answer = await fetch(path, {method, body, headers: {"X-Token": TOKEN}});
  } catch {
    throw new Error("ordbridge does not answer; is it still running in the terminal?");
  }
  const said = await answer.json();
  if (!answer.ok) throw new Error(said.error ?? "something went wrong");
  return said;
}

const post = (path, content) => ask(path, JSON.stringify(content));
const wait = milliseconds => new Promise(done => setTimeout(done, milliseconds));

function duration(seconds) {
  const s = Math.round(seconds);
  return s < 60 ? `${s} s` : s < 3600 ? `${Math.floor(s / 60)} min ${s % 60} s` : `${Math.floor(s / 3600)} h ${Math.floor(s % 3600 / 60)} min`;
}

async function ensureStudy() {
  if (study === null) study = (await ask("/studies", "")).study;
  return study;
}

// Runs a job and returns its result; `place` shows how far it is, with a button that cancels it.
async function work(kind, options, place) {
  const at = await ensureStudy();
  const {job} = await post(`/studies/${at}/jobs`, {...options, kind});
  const bar = make("progress", "", {"aria-label": "progress"}), told = make("span", "starting", {role: "status"});
  const cancel = make("button", "cancel", {type: "button"});
  cancel.addEventListener("click", () => post(`/studies/${at}/jobs/${job}/cancel`, {}).catch(() => {}));
  place.replaceChildren(bar, " ", told, " ", cancel);
  for (let pause = 150; ; pause = Math.min(1000, pause * 1.2)) {
    await wait(pause);
    const state = await ask(`/studies/${at}/jobs/${job}`, undefined, "GET");
    if (state.state === "running") {
      if (state.total) { bar.max = state.total; bar.value = state.done; pause = Math.min(pause, 400); }
      told.textContent = state.text + (state.left && !state.text.includes("left") ? `, ${duration(state.left)} left` : "");
    } else if (state.state === "done") {
      place.replaceChildren();
      return {...state.result, base: `/studies/${at}/jobs/${job}/files/`};
    } else {
      throw new Error(state.state === "cancelled" ? "cancelled" : state.error);
    }
  }
}

const failed = (place, error) => place.replaceChildren(make("p", error.message, {class: "error", role: "alert"}));

function showResult(place, {headline, files, base}) {
  const address = (name, keep) => `${base}${encodeURIComponent(name)}?token=${encodeURIComponent(TOKEN)}${keep ? "&keep=1" : ""}`;
  const links = make("p", "keep: ", {class: "files"});
  for (const name of files) links.append(make("a", name, {href: address(name, true), download: name}));
  const frame = make("iframe", "", {src: address("report.html", false), title: "report", sandbox: "allow-scripts"});
  place.replaceChildren(make("p", headline, {class: "headline"}), links, frame);
}

function chosen() {
  const options = {};
  for (const role of ROLES) {
    const menu = $(`role-${role}`);
    if (menu && menu.value) options[role] = menu.value;
  }
  return options;
}

function showRecognised(found) {
  $("counted").textContent = `${found.ratings.toLocaleString("en")} ratings`;
  const before = chosen();
  $("roles").replaceChildren(...ROLES.map(role => {
    const label = make("label", `${role}: `), menu = make("select", "", {id: `role-${role}`});
    const taken = found.recognised[role] || "nothing";
    menu.append(make("option", before[role] ? `as recognised` : `as recognised: ${taken}`, {value: ""}));
    for (const column of found.columns) menu.append(make("option", column, {value: column}));
    menu.value = before[role] ?? "";
    menu.addEventListener("change", recognise);
    label.append(menu);
    return label;
  }));
  $("notes").replaceChildren(...found.notes.map(note => make("li", note)));
  const head = make("tr"), names = Object.keys(found.rows[0] ?? {});
  head.append(...names.map(name => make("th", name, {scope: "col"})));
  const rows = found.rows.map(row => { const line = make("tr"); line.append(...names.map(n => make("td", row[n]))); return line; });
  $("rows").replaceChildren(head, ...rows);
  $("checks").replaceChildren(...(found.checks.length ? found.checks.map(row =>
    make("p", `${row.what}${row.rows ? ` (rows ${row.rows})` : ""}. ${row.remedy}`, {class: row.severity === "note" ? "note" : "warning"}))
    : [make("p", "Nothing is wrong.")]));
  $("reference").replaceChildren(make("option", "all with each other", {value: ""}),
    ...found.systems.map(name => make("option", name, {value: name})));
  for (const id of ["recognised", "checked", "compare", "raters"]) $(id).hidden = false;
}

async function recognise() {
  const place = $("file-status");
  try {
    showRecognised(await work("recognise", chosen(), place));
    place.textContent = "read";
  } catch (error) { failed(place, error); }
}

async function open(name, content) {
  const place = $("file-status");
  for (const id of ["recognised", "checked", "compare", "raters"]) $(id).hidden = true;
  for (const one of document.querySelectorAll(".job")) one.replaceChildren();
  $("roles").replaceChildren();
  if (content && content.size > MEGABYTES * 2 ** 20) {
    return failed(place, new Error(`the file is larger than ${MEGABYTES} MB; use the command line`));
  }
  place.textContent = `reading ${name}`;
  try {
    const before = study;
    study = (await ask(`/studies?name=${encodeURIComponent(name)}`, content ?? "")).study;
    if (before) post(`/studies/${before}/forget`, {}).catch(() => {});
    await recognise();
  } catch (error) { failed(place, error); }
}

$("file").addEventListener("change", event => { const [file] = event.target.files; if (file) open(file.name, file); });
$("demo").addEventListener("click", () => open("demo", null));
for (const kind of ["dragover", "drop"]) document.addEventListener(kind, event => event.preventDefault());
$("drop").addEventListener("dragover", () => $("drop").classList.add("over"));
$("drop").addEventListener("dragleave", () => $("drop").classList.remove("over"));
$("drop").addEventListener("drop", event => {
  $("drop").classList.remove("over");
  const [file] = event.dataTransfer.files;
  if (file) open(file.name, file);
});

const SLIDERS = ["items", "ratings", "points", "price", "spread"];
const sliders = () => ({...Object.fromEntries(SLIDERS.map(id => [id, Number($(id).value)])), setting: $("setting").value});

for (const button of document.querySelectorAll("button[data-job]")) {
  button.addEventListener("click", async () => {
    const kind = button.dataset.job, place = document.querySelector(`.job[data-of=${kind}]`);
    const options = kind === "confirm" || kind === "plan" ? sliders()
      : {...chosen(), reference: $("reference").value, engine: $("engine").value};
    button.disabled = true;
    try { showResult(place, await work(kind, options, place)); }
    catch (error) { failed(place, error); }
    button.disabled = false;
  });
}

function svg(tag, attributes, text = "") {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

function draw(curve, items, power) {
  const x = n => 50 + 570 * Math.min(n, 600) / 600, y = p => 260 - 230 * p, parts = [];
  for (const p of [0, 0.2, 0.4, 0.6, 0.8, 1]) {
    parts.push(svg("line", {x1: 50, x2: 620, y1: y(p), y2: y(p), class: p === 0.8 ? "target" : "axis"}));
    parts.push(svg("text", {x: 42, y: y(p) + 4, "text-anchor": "end"}, `${Math.round(100 * p)} %`));
  }
  for (const n of [0, 100, 200, 300, 400, 500, 600]) parts.push(svg("text", {x: x(n), y: 280, "text-anchor": "middle"}, n));
  parts.push(svg("text", {x: 335, y: 297, "text-anchor": "middle"}, "items"));
  parts.push(svg("polyline", {class: "line", points: curve.map(([n, p]) => `${x(n)},${y(p)}`).join(" ")}));
  parts.push(svg("circle", {cx: x(items), cy: y(power), r: 6}));
  $("curve").replaceChildren(...parts);
}

let moving = false, again = false;
async function move() {
  for (const id of SLIDERS) $(id).parentElement.querySelector("output").textContent = $(id).value;
  if (moving) { again = true; return; }
  moving = true;
  try {
    const asked = sliders(), found = await post("/power", asked);
    draw(found.curve, asked.items, found.power);
    const money = asked.price ? `, which cost ${found.cost.toLocaleString("en", {minimumFractionDigits: 2})}` : "";
    $("power").textContent = `about ${Math.round(100 * found.power)} % power: ${found.ratings.toLocaleString("en")} ratings by ` +
      `${found.participants} participants${money}`;
  } catch (error) { $("power").textContent = error.message; }
  moving = false;
  if (again) { again = false; move(); }
}
for (const id of [...SLIDERS, "setting"]) $(id).addEventListener("input", move);
move();

// A tab that is closed is forgotten, with its file; one that says nothing for long, too.
setInterval(() => { if (study) post(`/studies/${study}/alive`, {}).catch(() => {}); }, 20000);
addEventListener("pagehide", event => {
  if (study && !event.persisted) navigator.sendBeacon(`/studies/${study}/forget?token=${encodeURIComponent(TOKEN)}`, "{}");
});
