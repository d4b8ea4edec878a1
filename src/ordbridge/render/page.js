// Buttons are made here and not in the page, so that a page without scripts has none that do nothing.
const LATEX = {"\\": "\\textbackslash{}", "~": "$\\sim$", "^": "\\textasciicircum{}", "`": "\\textasciigrave{}",
  "<": "$<$", ">": "$>$", "|": "\\textbar{}", "−": "$-$", "–": "--", "…": "\\ldots{}", "[": "{[}", "]": "{]}", "*": "{*}",
  "\"": "''", ...Object.fromEntries([..."_%&#${}"].map(c => [c, "\\" + c]))};
const line = text => text.replace(/\s+/g, " ").trim();
const WRITERS = {
  CSV: (head, rows) => [head, ...rows].map(row => row.map(({text, raw}) => {
    const value = raw ?? (/^(?![+-]?[\d.,]+(e[+-]?\d+)?%?$)[=+\-@\t\r]./i.test(text) ? "'" + text : text);
    return /[",\n\r]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
  }).join(",")).join("\n"),
  Markdown: (head, rows) => {
    const cell = ({text}) => line(text).replace(/([\\`*\[\]$|])/g, "\\$1").replaceAll("<", "&lt;");
    const rule = head.map(({number}) => number ? "--:" : ":--");
    return [head.map(cell), rule, ...rows.map(row => row.map(cell))].map(row => `| ${row.join(" | ")} |`).join("\n");
  },
  LaTeX: (head, rows) => {
    const cell = ({text}) => /^[-−][\d.]+$/.test(text) ? `$${text.replace("−", "-")}$` : [...line(text)].map(c => LATEX[c] ?? c).join("");
    const body = list => list.map(row => row.map(cell).join(" & ") + " \\\\").join("\n");
    return `\\begin{tabular}{${head.map(({number}) => number ? "r" : "l").join("")}}\n\\toprule\n${body([head])}\n` +
      `\\midrule\n${body(rows)}\n\\bottomrule\n\\end{tabular}`;
  },
};

async function copy(text, button) {
  try { await navigator.clipboard.writeText(text); }
  catch {
    const area = document.createElement("textarea");
    area.value = text;
    area.setAttribute("aria-label", "text to copy");
    button.after(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    button.focus();
  }
}

function sortable(table, heads) {
  const body = table.tBodies[0];
  const value = (row, i) => row.cells[i].dataset.v ?? row.cells[i].textContent;
  const compare = (a, b) => {
    if (a === "–" || b === "–") return (a === "–") - (b === "–");
    return Number.isFinite(a - b) ? a - b : a.localeCompare(b, "en", {numeric: true});
  };
  heads.forEach((head, i) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    button.title = "sort";
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach(other => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...body.rows].sort((a, b) => {
        const order = compare(value(a, i), value(b, i));
        return down && value(a, i) !== "–" && value(b, i) !== "–" ? -order : order;
      });
      body.append(...rows);
    });
  });
}

function copyable(table, heads, region) {
  const tools = document.createElement("div"), told = document.createElement("span"), cue = document.createElement("span");
  tools.className = "tools";
  cue.className = "cue";
  cue.textContent = "scroll for more columns →";
  told.setAttribute("role", "status");
  tools.append(cue, "copy as ");
  for (const [kind, write] of Object.entries(WRITERS)) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = kind;
    button.addEventListener("click", async () => {
      const head = heads.map(cell => ({text: cell.textContent, number: cell.classList.contains("n")}));
      const rows = [...table.tBodies[0].rows].map(row =>
        [...row.cells].map(cell => ({text: cell.textContent, raw: cell.dataset.v})));
      await copy(write(head, rows), button);
      told.textContent = "copied";
      setTimeout(() => { told.textContent = ""; }, 2000);
    });
    tools.append(button);
  }
  const more = heads.filter(cell => cell.classList.contains("more")).length;
  if (more) {
    const all = document.createElement("button");
    all.type = "button";
    const show = few => {
      table.classList.toggle("short", few);
      all.textContent = few ? `show ${more} more columns` : "show fewer columns";
    };
    all.addEventListener("click", () => show(!table.classList.contains("short")));
    show(true);
    tools.prepend(all);
  }
  tools.append(told);
  region.after(tools);
  new ResizeObserver(() => region.classList.toggle("overflows", region.scrollWidth > region.clientWidth + 1)).observe(region);
}

for (const table of document.querySelectorAll("table")) {
  const heads = [...table.tHead.rows[0].cells];
  sortable(table, heads);
  copyable(table, heads, table.parentElement);
}

// Pictures: what is on the screen as SVG and, from it, as PNG. The PDF is a link. In a frame that forbids it none can be saved.
function save(name, href) {
  const link = document.createElement("a");
  link.download = name;
  link.href = href;
  document.body.append(link);
  link.click();
  link.remove();
}

function drawn(figure) {
  const copy = figure.querySelector("svg").cloneNode(true);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  return new XMLSerializer().serializeToString(copy);
}

function png(figure, name, told) {
  const picture = new Image(), scale = 4;
  const {width, height} = figure.querySelector("svg").viewBox.baseVal;
  picture.addEventListener("load", () => {
    const canvas = document.createElement("canvas"), pen = canvas.getContext("2d");
    canvas.width = width * scale;
    canvas.height = height * scale;
    pen.fillStyle = "#fff";
    pen.fillRect(0, 0, canvas.width, canvas.height);
    pen.drawImage(picture, 0, 0, canvas.width, canvas.height);
    save(`${name}.png`, canvas.toDataURL("image/png"));
  });
  picture.addEventListener("error", () => { told.textContent = "this browser cannot draw it; take the PDF"; });
  picture.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(drawn(figure));
}

for (const figure of document.querySelectorAll("figure")) {
  const row = figure.querySelector(".save"), {name} = figure.dataset;
  if (window.origin === "null" && location.protocol !== "file:") { row.remove(); continue; }
  const told = document.createElement("span");
  told.setAttribute("role", "status");
  for (const [kind, act] of [
    ["SVG", () => save(`${name}.svg`, "data:image/svg+xml;charset=utf-8," + encodeURIComponent(drawn(figure)))],
    ["PNG", () => png(figure, name, told)],
  ]) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = kind;
    button.addEventListener("click", act);
    row.append(button);
  }
  row.append(told);
}
