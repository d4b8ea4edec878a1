// The page of the app. All text from files goes in by textContent, never as markup.
const ROOM = `/${document.body.dataset.room}`, MEGABYTES = Number(document.body.dataset.megabytes);
const $ = id => document.getElementById(id);
const ROLES = {participant: "who rated", item: "what was rated", system: "which system made it", rating: "the rating",
  criterion: "what was asked (criterion)"};
const STEPS = ["recognised", "checked", "compare", "raters"];
let study = null, fileName = "";
history.replaceState(null, "", `${ROOM}/`);  // the key is not to be seen over a shoulder; the cookie lets a reload in

function make(tag, text = "", attributes = {}) {
  const made = document.createElement(tag);
  made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

const option = (value, text = value) => make("option", text, {value});

async function ask(path, body, method = "POST") {
  let answer;
  try {
    answer = await fetch(ROOM + path, {method, body});
  } catch {
    throw new Error("ordbridge does not answer; is it still running in the terminal?");
  }
  const said = await answer.json();
  if (!answer.ok) throw new Error(said.error ?? "something went wrong; load the page again");
  return said;
}

const post = (path, content) => ask(path, JSON.stringify(content));
const wait = milliseconds => new Promise(done => setTimeout(done, milliseconds));

function duration(seconds) {
  const s = Math.max(1, Math.round(seconds)), m = Math.floor(s / 60);
  return s < 60 ? `${s} s` : s < 3600 ? `${m} min ${s % 60} s` : `${Math.floor(m / 60)} h ${m % 60} min`;
}

async function ensureStudy() {
  if (study === null) study = (await ask("/studies", "")).study;
  return study;
}

// Runs a job and returns its result; `place` shows how far it is, with a button that cancels it.
async function work(kind, options, place) {
  const at = await ensureStudy();
  const {job} = await post(`/studies/${at}/jobs`, {...options, kind});
  const row = make("div", "", {class: "working"}), began = performance.now();
  const bar = make("progress", "", {"aria-label": "progress"}), told = make("span", "starting");
  const cancel = make("button", "Cancel", {type: "button"});
  cancel.addEventListener("click", () => {
    cancel.disabled = true;
    post(`/studies/${at}/jobs/${job}/cancel`, {}).catch(() => {});
  });
  row.append(bar, told, cancel);
  place.replaceChildren(row);
  for (let pause = 60; ; pause = Math.min(1000, pause * 1.3)) {
    await wait(pause);
    const state = await ask(`/studies/${at}/jobs/${job}`, undefined, "GET");
    if (state.state === "running") {
      const left = state.left == null ? "" : `, at most ${duration(state.left)} left`;
      if (state.total) {
        bar.max = state.total;
        bar.value = state.done;
        pause = Math.min(pause, 400);
        told.textContent = `${state.done.toLocaleString("en")} of ${state.total.toLocaleString("en")} ${state.what}${left}`;
      } else {
        bar.removeAttribute("value");
        told.textContent = `${state.text}, ${duration((performance.now() - began) / 1000)} so far`;
      }
    } else if (state.state === "done") {
      place.replaceChildren();
      return {...state.result, job, base: `${ROOM}/studies/${at}/jobs/${job}/files/`};
    } else {
      throw new Error(state.state === "cancelled" ? "Cancelled." : state.error);
    }
  }
}

function failed(place, error) {
  const said = make("p", error.message, {class: "error", role: "alert"});
  place.replaceChildren(said);
}

const address = (base, name, keep) => `${base}${encodeURIComponent(name)}${keep ? "?keep=1" : ""}`;

function downloads({files, base}) {
  const links = make("div", "", {class: "files"});
  if (files.length) links.append(make("span", "Download:"));
  for (const {name, title} of files) links.append(make("a", title, {href: address(base, name, true), download: name}));
  return links;
}

function inShell(command) {
  const folded = make("details");
  folded.append(make("summary", "The same on the command line"), make("code", command));
  return folded;
}

function showResult(place, result) {
  const report = address(result.base, "report.html", false);
  const links = downloads(result);
  links.append(make("a", "open the report in a tab of its own", {href: report, target: "_blank", rel: "noopener"}));
  const frame = make("iframe", "", {src: report, title: "report", sandbox: "allow-scripts allow-modals", allow: "clipboard-write"});
  place.replaceChildren(make("p", result.headline, {class: "headline"}), links, frame, inShell(result.command));
}

// ---- the file, and what was recognised

const words = text => text.split(",").map(word => word.trim()).filter(word => word);

function chosen() {
  const options = {};
  for (const role of Object.keys(ROLES)) {
    const value = $(`role-${role}`)?.value;
    if (value) options[role] = role === "rating" ? [value] : value;
  }
  const ticked = [...document.querySelectorAll("#several input:checked")].map(box => box.value);
  if (ticked.length) options.rating = ticked;
  for (const id of ["format", "sheet", "columns", "where"]) if ($(id).value) options[id] = $(id).value;
  for (const id of ["levels", "ignore"]) if (words($(id).value).length) options[id] = words($(id).value);
  if ($("direction").value) options.direction = $("direction").value;
  if ($("lowest").value !== "" && $("highest").value !== "") options.scale = [Number($("lowest").value), Number($("highest").value)];
  return options;
}

function showMenus(found) {
  const before = chosen();
  $("roles").replaceChildren(...Object.entries(ROLES).map(([role, words]) => {
    const label = make("label", words), menu = make("select", "", {id: `role-${role}`});
    const mine = role === "rating" ? (before.rating?.length === 1 ? before.rating[0] : "") : before[role] ?? "";
    const taken = found.recognised?.[role];
    menu.append(option("", mine ? "as recognised" : taken ? `${taken} (recognised)` : "nothing recognised"));
    if (role === "participant" || role === "item") menu.append(option("row", "each row is another one"));
    if (role === "item") menu.append(option("none", "items have no names"));
    if (role === "participant") menu.append(option("none", "nobody knows"));
    menu.append(...(found.together?.[role] ?? []).map(both => option(both)));
    menu.append(...found.columns.map(column => option(column)));
    if (mine && ![...menu.options].some(one => one.value === mine)) menu.append(option(mine));
    menu.value = mine;
    menu.addEventListener("change", recognise);
    label.append(menu);
    return label;
  }));
  const ticked = before.rating?.length > 1 ? before.rating : [];
  $("several").replaceChildren(...found.columns.map(column => {
    const label = make("label"), box = make("input", "", {type: "checkbox", value: column});
    box.checked = ticked.includes(column);
    box.addEventListener("change", () => {
      $("role-rating").value = "";
      if (document.querySelectorAll("#several input:checked").length !== 1) recognise();
    });
    label.append(box, ` ${column}`);
    return label;
  }));
  $("sheet-label").hidden = found.sheets.length < 2;
  $("sheet").replaceChildren(option("", "as recognised"), ...found.sheets.map(name => option(name)));
  $("sheet").value = before.sheet ?? "";
}

const many = (n, one, more = `${one}s`) => `${n.toLocaleString("en")} ${n === 1 ? one : more}`;

function showRecognised(found) {
  showMenus(found);
  $("recognised").hidden = false;
  for (const id of STEPS.slice(1)) $(id).hidden = Boolean(found.problem);
  $("shown").hidden = Boolean(found.problem);
  if (found.problem) {
    $("more").open = true;
    $("counted").textContent = "";
    $("notes").replaceChildren();
    return failed($("file-status"), new Error(`${fileName} could be opened, but one thing is not clear: ${found.problem}. Choose it below.`));
  }
  const {participant, item, system, criterion} = found.counts;
  const parts = [many(participant, "participant"), many(item, "item"), many(system, "system")];
  if (criterion) parts.push(many(criterion, "criterion", "criteria"));
  $("counted").textContent = `${many(found.ratings, "rating")}: ${parts.join(", ")}`;
  $("notes").replaceChildren(...found.notes.map(note => make("li", note)));
  const head = make("tr"), names = Object.keys(found.rows[0] ?? {});
  head.append(...names.map(name => make("th", name, {scope: "col"})));
  const rows = found.rows.map(row => { const line = make("tr"); line.append(...names.map(n => make("td", row[n]))); return line; });
  $("rows").replaceChildren(head, ...rows);
  const kinds = {error: ["error", "Error: "], warning: ["warning", "Warning: "], note: ["soft", "Note: "]};
  $("checks").replaceChildren(...(found.checks.length ? found.checks.map(row => {
    const [style, word] = kinds[row.severity];
    return make("p", `${word}${row.what}${row.rows ? ` (row${row.count === 1 ? "" : "s"} ${row.rows})` : ""}. ${row.remedy}`, {class: style});
  }) : [make("p", "No problems found.", {class: "good"})]));
  $("check-files").replaceChildren(downloads(found), inShell(found.command));
  $("reference").replaceChildren(option("", "all with each other"), ...found.systems.map(name => option(name, `all others with ${name}`)));
  $("force-label").hidden = !found.checks.some(row => row.severity === "error");
  offerPilot(found);
  const next = make("a", "Compare the systems", {href: "#compare"});
  const said = make("p", `Read ${fileName}. Look at 2 and 3, then: `, {class: "good"});
  said.append(next);
  $("file-status").replaceChildren(said);
}

let turn = 0;
async function recognise() {
  const mine = ++turn, place = $("file-status");
  place.replaceChildren(make("p", `reading ${fileName}`));
  for (const one of document.querySelectorAll("[data-of=compare], [data-of=raters]")) one.replaceChildren();
  try {
    const found = await work("recognise", chosen(), place);
    if (mine === turn) showRecognised(found);
  } catch (error) { if (mine === turn) failed(place, error); }
}

async function open(name, content) {
  const place = $("file-status");
  turn += 1;
  fileName = content ? name : "the demo";
  for (const id of ["coming", ...STEPS]) $(id).hidden = true;
  for (const one of document.querySelectorAll("[data-of=compare], [data-of=raters]")) one.replaceChildren();
  for (const id of ["roles", "several", "sheet"]) $(id).replaceChildren();
  for (const id of ["format", "columns", "levels", "lowest", "highest", "second", "where", "ignore", "direction"]) $(id).value = "";
  $("no-second").hidden = true;
  $("more").open = $("force").checked = false;
  offerPilot(null);
  if (content && content.size > MEGABYTES * 2 ** 20) {
    return failed(place, new Error(`the file is larger than ${MEGABYTES} MB; start ordbridge app --megabytes ${Math.ceil(content.size / 2 ** 20)}, or use the command line`));
  }
  place.replaceChildren(make("p", `reading ${name}`));
  try {
    const before = study;
    study = (await ask(content ? `/studies?name=${encodeURIComponent(name)}` : "/studies?demo=1", content ?? "")).study;
    if (before) post(`/studies/${before}/forget`, {}).catch(() => {});
    for (const one of document.querySelectorAll(".job")) one.replaceChildren();
    confirmed = null;
    await recognise();
    if (!$("compare").hidden) askEngines();
  } catch (error) { failed(place, error); }
}

async function second(file) {
  try {
    if (file && file.size > MEGABYTES * 2 ** 20) throw new Error(`the file is larger than ${MEGABYTES} MB`);
    await ask(`/studies/${study}/second?name=${encodeURIComponent(file?.name ?? "")}`, file ?? "");
    $("no-second").hidden = !file;
    if (!file) $("second").value = "";
    await recognise();
  } catch (error) { failed($("file-status"), error); }
}

$("file").addEventListener("change", event => { const [file] = event.target.files; if (file) open(file.name, file); });
$("demo").addEventListener("click", () => open("the demo", null));
$("second").addEventListener("change", event => second(event.target.files[0]));
$("no-second").addEventListener("click", () => second(null));
for (const id of ["format", "sheet", "columns", "levels", "where", "ignore", "direction"]) $(id).addEventListener("change", recognise);
for (const id of ["lowest", "highest"]) {
  $(id).addEventListener("change", () => { if (($("lowest").value === "") === ($("highest").value === "")) recognise(); });
}
for (const kind of ["dragover", "drop"]) document.addEventListener(kind, event => event.preventDefault());
$("drop").addEventListener("dragover", () => $("drop").classList.add("over"));
$("drop").addEventListener("dragleave", () => $("drop").classList.remove("over"));
$("drop").addEventListener("drop", event => {
  $("drop").classList.remove("over");
  const {files, items} = event.dataTransfer, place = $("file-status");
  if (files.length > 1) return failed(place, new Error("these are several files; drop the one with the ratings, then add another under 2"));
  if (items[0]?.webkitGetAsEntry?.()?.isDirectory) {
    return failed(place, new Error("this is a folder; drop the file in it that has the ratings"));
  }
  if (files.length) open(files[0].name, files[0]);
});

// ---- jobs

async function askEngines() {
  const menu = $("engine"), note = $("engine-note");
  const usual = "R is the reference and may take a minute; the native engine fits the same models in about a second.";
  note.textContent ||= usual;
  try {
    const engines = await ask("/engines", undefined, "GET");
    const r = menu.querySelector("[value=r]");
    r.disabled = !engines.r;
    if (!engines.r) menu.value = "fast";
    note.textContent = engines.r ? `${usual} Found: R ${engines.version}.`
      : `R cannot be used on this machine (${engines.why}), so the native engine computes. For R see: ordbridge doctor`;
  } catch (error) { note.textContent = error.message; }
}

const SLIDERS = ["items", "ratings", "points", "price", "spend", "spread"];
const sliders = () => ({...Object.fromEntries(SLIDERS.map(id => [id, Number($(id).value)])), setting: $("setting").value,
  currency: $("currency").value, ...(pilot && $("setting").value === "pilot" ? {pilot: pilot.job, study} : {})});

for (const button of document.querySelectorAll("button[data-job]")) {
  button.addEventListener("click", async () => {
    const kind = button.dataset.job, place = document.querySelector(`.job[data-of=${kind}]`);
    const planning = kind === "confirm" || kind === "plan";
    const options = planning ? sliders()
      : {...chosen(), reference: $("reference").value, engine: $("engine").value, force: $("force").checked};
    button.disabled = true;
    place.replaceChildren(make("p", "starting"));
    try {
      const result = await work(kind, options, place);
      showResult(place, result);
      if (kind === "compare" && result.answered === false) $("force-label").hidden = false;
      if (planning) { confirmed = result.design && {...result.design, of: same(options)}; move(); }
    } catch (error) { failed(place, error); }
    button.disabled = false;
  });
}

// ---- the next study

let pilot = null, last = null, confirmed = null;
const same = options => JSON.stringify([options.ratings, options.points, options.spread, options.setting, options.pilot]);

function offerPilot(found) {
  const offered = $("setting").querySelector("[value=pilot]"), able = Boolean(found && found.systems.length > 1);
  offered.disabled = !able;
  if ($("setting").value === "pilot") { $("setting").value = "representative"; usePoints({min: 0.05, max: 1.5, step: 0.05, value: 0.4}); }
  pilot = null;
  $("pilot-choices").hidden = true;
  $("pilot-status").replaceChildren();
  if (able) {
    for (const [id, place] of [["pilot-first", 0], ["pilot-second", 1]]) {
      $(id).replaceChildren(...found.systems.map(name => option(name)));
      $(id).value = found.systems[place];
    }
    $("pilot-criterion").replaceChildren(...found.criteria.map(name => option(name)));
    $("pilot-criterion-label").hidden = !found.criteria.length;
  }
  move();
}

function usePoints({min, max, step, value}) {
  Object.assign($("points"), {min, max, step});
  $("points").value = value;
}

async function choosePilot() {
  const place = $("pilot-status"), wanted = $("setting").value === "pilot";
  $("pilot-choices").hidden = !wanted;
  place.replaceChildren();
  if (!wanted) {
    if (pilot) usePoints({min: 0.05, max: 1.5, step: 0.05, value: 0.4});
    pilot = null;
    return move();
  }
  try {
    const options = {...chosen(), systems: [$("pilot-first").value, $("pilot-second").value], of_criterion: $("pilot-criterion").value};
    pilot = await work("pilot", options, place);
    usePoints(pilot.points);
    place.replaceChildren(make("p", `Ratings ${pilot.scale.replace(/^whose ratings /, "")}. In your file ${pilot.systems[1]} and ${pilot.systems[0]} ` +
      `differ by ${pilot.observed.toPrecision(2)} points, which may be chance: set the smallest difference that would matter.`, {class: "soft"}));
    move();
  } catch (error) {
    pilot = null;
    $("setting").value = "representative";
    $("pilot-choices").hidden = true;
    failed(place, error);
    move();
  }
}
$("setting").addEventListener("change", choosePilot);
for (const id of ["pilot-first", "pilot-second", "pilot-criterion"]) $(id).addEventListener("change", choosePilot);

function svg(tag, attributes, text = "") {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

function draw({curve, power, affordable}, items, seen) {
  const place = $("curve"), width = Math.max(280, place.clientWidth || 640), left = 46, right = width - 14;
  const x = n => left + (right - left) * Math.min(n, 600) / 600, y = p => 252 - 230 * p, parts = [];
  place.setAttribute("viewBox", `0 0 ${width} 300`);
  if (affordable && affordable.items < 600) {
    parts.push(svg("rect", {x: x(affordable.items), y: y(1), width: right - x(affordable.items), height: y(0) - y(1), class: "beyond"}));
    parts.push(svg("line", {x1: x(affordable.items), x2: x(affordable.items), y1: y(1), y2: y(0), class: "money"}));
    const late = x(affordable.items) > (left + right) / 2;
    parts.push(svg("text", {x: x(affordable.items) + (late ? -6 : 6), y: y(0) - 8, "text-anchor": late ? "end" : "start"}, `${affordable.money} ends here`));
  }
  for (const p of [0, 0.2, 0.4, 0.6, 0.8, 1]) {
    parts.push(svg("line", {x1: left, x2: right, y1: y(p), y2: y(p), class: p === 0.8 ? "target" : "axis"}));
    parts.push(svg("text", {x: left - 6, y: y(p) + 4, "text-anchor": "end", class: p === 0.8 ? "strong" : ""}, `${Math.round(100 * p)} %`));
  }
  for (const n of width < 450 ? [0, 200, 400, 600] : [0, 100, 200, 300, 400, 500, 600]) parts.push(svg("text", {x: x(n), y: 270, "text-anchor": n === 600 ? "end" : "middle"}, n));
  parts.push(svg("text", {x: (left + right) / 2, y: 290, "text-anchor": "middle"}, "items"));
  parts.push(svg("text", {x: left, y: 12, "text-anchor": "start"}, "power"));
  parts.push(svg("polyline", {class: "line", points: curve.map(([n, p]) => `${x(n)},${y(p)}`).join(" ")}));
  parts.push(svg("circle", {cx: x(items), cy: y(power), r: 6, class: "here"}));
  if (seen) {
    parts.push(svg("line", {x1: x(seen.items), x2: x(seen.items), y1: y(seen.conf_low), y2: y(seen.conf_high), class: "seen"}));
    parts.push(svg("circle", {cx: x(seen.items), cy: y(seen.power), r: 4.5, class: "seen"}));
    const late = x(seen.items) > right - 90;
    parts.push(svg("text", {x: x(seen.items) + (late ? -10 : 10), y: y(seen.conf_low) + 12, "text-anchor": late ? "end" : "start", class: "strong"}, "simulated"));
  }
  place.replaceChildren(...parts);
}

function tellSliders() {
  const sign = $("currency").value, money = n => sign + n.toLocaleString("en", {minimumFractionDigits: 2, maximumFractionDigits: 2});
  const said = {price: n => n ? money(n) : "free", spend: n => n ? money(n) : "no limit",
    spread: n => n === 1 ? "as assumed" : `${n} times as much`};
  for (const id of SLIDERS) {
    const n = Number($(id).value), text = (said[id] ?? String)(n);
    $(id).parentElement.querySelector("output").textContent = text;
    $(id).setAttribute("aria-valuetext", text);
  }
}

let moving = false, again = false;
async function move() {
  tellSliders();
  if (moving) { again = true; return; }
  moving = true;
  try {
    const asked = sliders(), found = await post("/power", asked);
    last = [found, asked.items, confirmed?.of === same(asked) ? confirmed : null];
    draw(...last);
    const money = found.cost ? `, for ${found.cost}` : "";
    $("power").textContent = `about ${Math.round(100 * found.power)} % power: ${many(found.ratings, "rating")} by ` +
      `${many(found.participants, "participant")}${money}`;
    $("affordable").textContent = found.affordable ? `${found.affordable.money} buys ${many(found.affordable.items, "item")}: about ` +
      `${Math.round(100 * found.affordable.power)} % power.` : "";
    $("curve").setAttribute("aria-label", `Power over the number of items: ${$("power").textContent}`);
  } catch (error) { $("power").textContent = error.message; }
  moving = false;
  if (again) { again = false; move(); }
}
for (const id of [...SLIDERS, "currency"]) $(id).addEventListener("input", move);
addEventListener("resize", () => { if (last) draw(...last); });
move();

// A tab that is closed is forgotten, with its file; one that says nothing for long, too.
setInterval(() => { if (study) post(`/studies/${study}/alive`, {}).catch(() => {}); }, 20000);
addEventListener("pagehide", event => {
  if (study && !event.persisted) navigator.sendBeacon(`${ROOM}/studies/${study}/forget`, "{}");
});
