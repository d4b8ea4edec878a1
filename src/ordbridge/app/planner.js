// The planner: sliders, the curve, and the pilot.
const SLIDERS = ["items", "ratings", "points", "price", "spend", "spread"];
const sliders = () => ({...Object.fromEntries(SLIDERS.map(id => [id, Number($(id).value)])), setting: $("setting").value,
  currency: $("currency").value, ...(pilot && $("setting").value === "pilot" ? {pilot: pilot.job, study} : {})});

let pilot = null, last = null, confirmed = null;
const same = options => JSON.stringify([options.ratings, options.points, options.spread, options.setting, options.pilot]);

function offerPilot(found) {
  const offered = $("setting").querySelector("[value=pilot]"), able = Boolean(found && found.systems.length > 1);
  offered.disabled = !able;
  offered.textContent = able ? "my file, as a pilot" : "my file, as a pilot (drop one first)";
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
    if (error instanceof Replaced) return;
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
    parts.push(svg("text", {x: left - 6, y: y(p) + 4, "text-anchor": "end", class: p === 0.8 ? "strong" : ""}, `${Math.round(100 * p)}%`));
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
    const money = found.cost ? `, ${/^\d/.test(found.cost) ? "cost" : "for"} ${found.cost}` : "";
    $("power").textContent = `about ${Math.round(100 * found.power)}% power: ${many(found.ratings, "rating")} by ` +
      `${many(found.participants, "participant")}${money}`;
    $("affordable").textContent = found.affordable ? `${found.affordable.money} buys ${many(found.affordable.items, "item")}: about ` +
      `${Math.round(100 * found.affordable.power)}% power.` : "";
    $("curve").setAttribute("aria-label", `Power over the number of items: ${$("power").textContent}`);
  } catch (error) { $("power").textContent = error.message; }
  moving = false;
  if (again) { again = false; move(); }
}
for (const id of [...SLIDERS, "currency"]) $(id).addEventListener("input", move);
addEventListener("resize", () => { if (last) draw(...last); });
move();

if (location.hash === "#plan") showTab("next");

// A tab that is closed is forgotten, with its file; one that says nothing for long, too.
setInterval(() => { if (study) post(`/studies/${study}/alive`, {}).catch(() => {}); }, 20000);
addEventListener("pagehide", event => {
  if (study && !event.persisted) navigator.sendBeacon(`${ROOM}/studies/${study}/forget`, "{}");
});
