// The page of the app. All text from files goes in by textContent, never as markup.
const ROOM = `/${document.body.dataset.room}`, MEGABYTES = Number(document.body.dataset.megabytes);
const $ = id => document.getElementById(id);
const ROLES = {participant: "who rated", item: "what was rated", system: "which system made it", rating: "the rating",
  criterion: "what was asked (criterion)"};
const AT_ONCE = 100000;  // ratings; more are compared when somebody asks for it
const STEPS = ["recognised", "checked", "compare", "raters"];
let study = null, fileName = "";
history.replaceState(null, "", `${ROOM}/${location.hash}`);  // the key is not to be seen over a shoulder; the cookie lets a reload in

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
const active = new Map();  // the job that each place is waiting for; a new one takes its place
function stop(place) {
  const {at, job} = active.get(place) ?? {};
  active.delete(place);
  if (job) post(`/studies/${at}/jobs/${job}/cancel`, {}).catch(() => {});
}

class Replaced extends Error {}

async function work(kind, options, place, first = "starting") {
  stop(place);
  const mine = {};
  active.set(place, mine);
  const at = await ensureStudy();
  const {job} = await post(`/studies/${at}/jobs`, {...options, kind});
  if (active.get(place) !== mine) {
    post(`/studies/${at}/jobs/${job}/cancel`, {}).catch(() => {});
    throw new Replaced();
  }
  Object.assign(mine, {at, job});
  const row = make("div", "", {class: "working"}), began = performance.now();
  const bar = make("progress", "", {"aria-label": "progress"}), told = make("span", first);
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
    if (active.get(place) !== mine) throw new Replaced();
    if (state.state === "running") {
      const left = state.left == null ? "" : `, at most ${duration(state.left)} left`;
      if (state.total) {
        bar.max = state.total;
        bar.value = state.done;
        pause = Math.min(pause, 400);
        told.textContent = `${state.done.toLocaleString("en")} of ${state.total.toLocaleString("en")} ${state.what}${left}`;
      } else {
        bar.removeAttribute("value");
        told.textContent = `${state.text === "starting" ? first : state.text}, ${duration((performance.now() - began) / 1000)} so far`;
      }
    } else if (state.state === "done") {
      active.delete(place);
      keepFocus(place);
      place.replaceChildren();
      return {...state.result, job, base: `${ROOM}/studies/${at}/jobs/${job}/files/`};
    } else {
      active.delete(place);
      keepFocus(place);
      throw new Error(state.state === "cancelled" ? "Cancelled." : state.error);
    }
  }
}

// What is about to go away may have the focus, such as Cancel: the heading of its section takes it.
function keepFocus(place) {
  if (place.contains(document.activeElement)) place.closest("section").querySelector("h2").focus();
}

const announce = text => { $("announced").textContent = text; };

function failed(place, error) {
  if (error instanceof Replaced) return;
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

function grid({caption, columns, marked, rest}) {
  const region = make("div", "", {class: "scroll", tabindex: "0", role: "region", "aria-label": caption || "Table"});
  const table = make("table"), head = make("tr", "", {class: "head"});
  if (caption) table.append(make("caption", caption));
  const kind = ({number}) => number ? {class: "n"} : {};
  head.append(...columns.map(column => make("th", column.title, {scope: "col", ...kind(column)})));
  table.append(head);
  for (let row = 0; row < (columns[0]?.cells.length ?? 0); row++) {
    const line = make("tr", "", marked.includes(row) ? {class: "chosen"} : {});
    line.append(...columns.map(column => make("td", column.cells[row].replace(/^-(?=[\d.])/, "−"), kind(column))));
    table.append(line);
  }
  region.append(table);
  if (rest) region.append(make("p", `and ${rest.toLocaleString("en")} more rows in the report`, {class: "soft"}));
  return region;
}

// A picture is an image, in which nothing can run, and not part of this page.
async function picture({base, picture: caption, files}) {
  if (!caption || !files.some(({name}) => name === "picture.svg")) return null;
  const answer = await fetch(address(base, "picture.svg", false));
  if (!answer.ok) return null;
  return make("img", "", {src: `data:image/svg+xml,${encodeURIComponent(await answer.text())}`, alt: caption});
}

function parts(result) {
  const report = address(result.base, "report.html", false), links = downloads(result);
  links.append(make("a", "open the report", {href: report, target: "_blank", rel: "noopener"}));
  return [links, inShell(result.command)];
}

async function showResult(place, result) {
  const shown = make("div", "", {class: "result"});
  shown.append(make("p", result.headline, {class: "headline"}), ...result.more.map(line => make("p", line, {class: "more"})));
  const drawn = await picture(result);
  if (drawn) shown.append(drawn);
  shown.append(...result.tables.map(grid));
  if (result.counted) shown.append(make("p", result.counted, {class: "counted"}));
  const told = [...$("notes").children].map(note => note.textContent); // beside what was recognised
  for (const {severity, text} of result.findings) {
    if (!told.includes(text)) shown.append(make("p", text, {class: severity === "note" ? "soft" : severity}));
  }
  shown.append(...parts(result));
  place.replaceChildren(shown);
  announce(result.headline);
}

// What R says beside what the native engine has said of the same ratings: numbers first, then whether a verdict changes.
function showConfirmed(place, mine, result) {
  const far = k => Math.max(0, ...result.numbers.map((row, i) => Math.abs((row[k] ?? 0) - (mine.numbers[i]?.[k] ?? 0))));
  const verdicts = ({numbers, alpha}) => numbers.map(([, p]) => p !== null && p < alpha).join();
  const same = result.numbers.length === mine.numbers.length && verdicts(result) === verdicts(mine);
  const close = n => n < 5e-7 ? "0.000001" : Number(n.toPrecision(1)).toString();
  const said = same ? `R confirms it: differences agree within ${close(far(0))}, p-values within ${close(far(1))}.`
    : `R does not agree on every pair. R says: ${result.headline}`;
  place.replaceChildren(make("p", said, {class: same ? "good" : "warning"}), ...(same ? [] : result.tables.map(grid)), ...parts(result));
  announce(said);
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
  if (words($("weights").value).length) options.weights = words($("weights").value);
  if ($("direction").value) options.direction = $("direction").value;
  if ($("lowest").value !== "" && $("highest").value !== "") options.scale = [Number($("lowest").value), Number($("highest").value)];
  return options;
}

function showMenus(found) {
  const before = chosen(), focused = document.activeElement?.id;
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
  if (focused && document.activeElement?.id !== focused) $(focused)?.focus();  // the menu was made anew
}

const many = (n, one, more = `${one}s`) => `${n.toLocaleString("en")} ${n === 1 ? one : more}`;

function showRecognised(found) {
  showMenus(found);
  $("recognised").hidden = false;
  $("analyse").classList.remove("empty");
  for (const id of STEPS.slice(1)) $(id).hidden = Boolean(found.problem);
  const votes = Boolean(found.preferences);
  for (const id of ["checked", "raters"]) $(id).hidden ||= votes;
  for (const one of document.querySelectorAll(".of-ratings")) one.hidden = votes;
  $("roles").hidden = votes;
  $("first").hidden = Boolean(found.problem);
  if (found.problem) {
    $("more").open = true;
    $("counted").textContent = "";
    $("notes").replaceChildren();
    return failed($("file-status"), new Error(`${fileName} could be opened, but one thing is not clear: ${found.problem}. Choose it below.`));
  }
  const {participant, item, system, criterion} = found.counts;
  const parts = [many(participant, "participant"), many(item, "item"), many(system, "system")];
  if (criterion) parts.push(many(criterion, "criterion", "criteria"));
  $("counted").textContent = `${many(found.ratings, votes ? "comparison" : "rating")}: ${parts.join(", ")}`;
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
  $("check-files").replaceChildren(downloads(found), ...(found.command ? [inShell(found.command)] : []));
  $("reference").replaceChildren(option("", "all with each other"), ...found.systems.map(name => option(name, `all others with ${name}`)));
  for (const [id, none] of [["covariates", "none"], ["blocks", "none"]]) {
    const before = $(id).value;
    $(id).replaceChildren(option("", none), ...found.others.map(name => option(name)));
    $(id).value = found.others.includes(before) ? before : "";
  }
  $("force-label").hidden = !found.checks.some(row => row.severity === "error");
  offerPilot(votes ? null : found);
  $("file-status").replaceChildren(make("p", `Read ${fileName}.`, {class: "good"}));
  if (found.ratings <= AT_ONCE) compare();
  else ANSWERS[0].replaceChildren(make("p", `${many(found.ratings, "rating")}: a comparison may take minutes. Press Compare to start it.`));
  $("again").textContent = found.ratings <= AT_ONCE ? "Compare again" : "Compare";
}

let turn = 0;
async function recognise() {
  const mine = ++turn, place = $("file-status");
  forgetAnswers();
  try {
    const found = await work("recognise", chosen(), place, `reading ${fileName}`);
    if (mine === turn) showRecognised(found);
  } catch (error) { if (mine === turn) failed(place, error); }
}

const ANSWERS = ["compare", "confirm-r", "raters"].map(name => document.querySelector(`[data-of=${name}]`));
function forgetAnswers() {
  for (const place of ANSWERS) { stop(place); place.replaceChildren(); }
  compared = null;
}

const size = bytes => bytes < 2 ** 20 ? `${Math.max(1, Math.round(bytes / 1000))} kB` : `${Math.round(bytes / 2 ** 20)} MB`;

async function open(files) {
  const place = $("file-status"), demo = !files.length;
  const mine = ++turn;
  showTab("analyse");
  stop(place);
  const all = files.reduce((sum, file) => sum + file.size, 0);
  const names = files.length > 1 ? `${files.length} files` : files[0]?.name;
  fileName = demo ? "the demo" : `${names} (${size(all)})`;
  for (const id of STEPS) $(id).hidden = true;
  forgetAnswers();
  for (const id of ["roles", "several", "sheet"]) $(id).replaceChildren();
  for (const id of ["format", "columns", "levels", "lowest", "highest", "weights", "second", "where", "ignore", "direction", "file", "planfile"]) $(id).value = "";
  for (const id of ["no-second", "no-plan"]) $(id).hidden = true;
  $("more").open = $("force").checked = false;
  offerPilot(null);
  const large = files.find(file => file.size > MEGABYTES * 2 ** 20);
  if (large) {
    return failed(place, new Error(`the file is larger than ${MEGABYTES} MB; start ordbridge app --megabytes ${Math.ceil(large.size / 2 ** 20)}, or use the command line`));
  }
  place.replaceChildren(make("p", `reading ${fileName}`));
  try {
    const before = study, [first, ...rest] = files;
    const opened = (await ask(demo ? "/studies?demo=1" : `/studies?name=${encodeURIComponent(first.name)}`, first ?? "")).study;
    for (const file of rest) await ask(`/studies/${opened}/more?name=${encodeURIComponent(file.name)}`, file);
    if (mine !== turn) { post(`/studies/${opened}/forget`, {}).catch(() => {}); return; }
    study = opened;
    if (before) post(`/studies/${before}/forget`, {}).catch(() => {});
    for (const one of document.querySelectorAll(".job")) one.replaceChildren();
    confirmed = null;
    askEngines();
    await recognise();
  } catch (error) { if (mine === turn) failed(place, error); }
}

async function plan(file) {
  try {
    await ask(`/studies/${study}/plan?name=${encodeURIComponent(file?.name ?? "")}`, file ?? "");
    $("no-plan").hidden = !file;
    if (!file) $("planfile").value = "";
    for (const id of ["reference", "covariates", "blocks"]) { if (file) $(id).value = ""; $(id).disabled = Boolean(file); }
    compare();
  } catch (error) { failed(document.querySelector("[data-of=compare]"), error); }
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

$("file").addEventListener("change", event => { if (event.target.files.length) open([...event.target.files]); });
$("demo").addEventListener("click", () => open([]));
$("planfile").addEventListener("change", event => { if (event.target.files.length) plan(event.target.files[0]); });
$("no-plan").addEventListener("click", () => plan(null));
$("second").addEventListener("change", event => second(event.target.files[0]));
$("no-second").addEventListener("click", () => second(null));
for (const id of ["format", "sheet", "columns", "levels", "weights", "where", "ignore", "direction"]) $(id).addEventListener("change", recognise);
for (const id of ["lowest", "highest"]) {
  $(id).addEventListener("change", () => { if (($("lowest").value === "") === ($("highest").value === "")) recognise(); });
}
const over = yes => document.body.classList.toggle("over", yes);
document.addEventListener("dragover", event => { event.preventDefault(); over(true); });
document.addEventListener("dragleave", event => { if (!event.relatedTarget) over(false); });
document.addEventListener("drop", event => {
  event.preventDefault();
  over(false);
  const {files, items} = event.dataTransfer;
  if (items[0]?.webkitGetAsEntry?.()?.isDirectory) {
    showTab("analyse");
    return failed($("file-status"), new Error("this is a folder; drop the files in it that have the ratings"));
  }
  if (files.length) open([...files]);
});

// ---- tabs

const TABS = {analyse: $("tab-analyse"), next: $("tab-next")};
function showTab(name, focus = false) {
  for (const [id, tab] of Object.entries(TABS)) {
    $(id).hidden = id !== name;
    tab.setAttribute("aria-selected", id === name);
    tab.tabIndex = id === name ? 0 : -1;
  }
  if (focus) TABS[name].focus();
  if (name === "next" && last) draw(...last);
  history.replaceState(null, "", name === "next" ? "#plan" : location.pathname);
}
for (const [id, tab] of Object.entries(TABS)) {
  tab.addEventListener("click", () => showTab(id));
  tab.addEventListener("keydown", event => {
    if (["ArrowLeft", "ArrowRight"].includes(event.key)) showTab(id === "next" ? "analyse" : "next", true);
  });
}

// ---- jobs

const NATIVE = "Computed at once by the native engine, which fits the same models as R.";
async function askEngines() {
  const note = $("engine-note"), button = document.querySelector("[data-job=confirm-r]");
  note.textContent ||= NATIVE;
  try {
    const engines = await ask("/engines", undefined, "GET");
    button.hidden = !engines.r;
    note.textContent = engines.r ? `${NATIVE} R ${engines.version} is here to confirm it; that may take a minute.`
      : `${NATIVE} R cannot be used on this machine (${engines.why}) to confirm it. For R see: ordbridge doctor`;
  } catch (error) { note.textContent = error.message; }
}

let compared = null;
const asked = engine => ({...chosen(), reference: $("reference").value, covariates: $("covariates").value, blocks: $("blocks").value,
  engine, force: $("force").checked});

async function compare() {
  const [place, confirmation] = ANSWERS;
  stop(confirmation);
  confirmation.replaceChildren();
  compared = null;
  try {
    const result = await work("compare", asked("fast"), place, "comparing the systems");
    compared = result;
    await showResult(place, result);
    if (result.answered === false) $("force-label").hidden = false;
  } catch (error) { failed(place, error); }
}
for (const id of ["reference", "covariates", "blocks", "force"]) $(id).addEventListener("change", compare);

async function confirmWithR() {
  const place = ANSWERS[1];
  if (!compared) return failed(place, new Error("there is no answer to confirm yet"));
  const mine = compared;
  try {
    const result = await work("compare", asked("r"), place, "R is starting");
    if (mine === compared) showConfirmed(place, mine, result);
  } catch (error) { failed(place, error); }
}

async function doJob(kind, place) {
  const planning = kind === "confirm" || kind === "plan", options = planning ? sliders() : {...chosen(), force: $("force").checked};
  try {
    const result = await work(kind, options, place);
    await showResult(place, result);
    if (planning) { confirmed = result.design && {...result.design, of: same(options)}; move(); }
  } catch (error) { failed(place, error); }
}

for (const button of document.querySelectorAll("button[data-job]")) {
  button.addEventListener("click", async () => {
    if (button.getAttribute("aria-disabled") === "true") return;
    const kind = button.dataset.job, place = document.querySelector(`.job[data-of=${kind}]`);
    button.setAttribute("aria-disabled", "true");  // and not disabled, which would lose the focus
    place.replaceChildren(make("p", "starting"));
    await (kind === "compare" ? compare() : kind === "confirm-r" ? confirmWithR() : doJob(kind, place));
    button.removeAttribute("aria-disabled");
  });
}
