// Buttons are made here and not in the page, so that a page without scripts has none that do nothing.
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  const value = (row, i) => row.cells[i].dataset.v ?? row.cells[i].textContent;
  const compare = (a, b) => {
    if (a === "–" || b === "–") return (a === "–") - (b === "–");
    const numbers = Number.isFinite(a - b);
    return numbers ? a - b : a.localeCompare(b, "en", {numeric: true});
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
  const copy = document.createElement("button");
  copy.type = "button";
  copy.className = "copy";
  copy.textContent = "copy table";
  copy.addEventListener("click", async () => {
    const lines = [heads.map(head => head.textContent)];
    for (const row of body.rows) lines.push([...row.cells].map(cell => cell.textContent));
    const text = lines.map(line => line.join("\t")).join("\n");
    try { await navigator.clipboard.writeText(text); }
    catch {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
      copy.focus();
    }
    copy.textContent = "copied";
    setTimeout(() => { copy.textContent = "copy table"; }, 1500);
  });
  table.parentElement.after(copy);
}
