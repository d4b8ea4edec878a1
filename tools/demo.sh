#!/usr/bin/env bash
# From an installation to the answer of a study: compare, report, the same p-value from plain R, a power curve. All in demo/.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p demo
ordbridge=.venv/bin/ordbridge
FORMULA="rating ~ system + (1 | worker_id) + (1 | doc)"

step() { printf '[%3d s] %s\n' "$SECONDS" "$*" >&2; }

step "writing a study into demo/: 8 people rated summaries of 4 systems"
$ordbridge examples demo >/dev/null
step "comparing the systems with R, and writing a report"
$ordbridge compare demo/summaries.csv --html demo/report.html --plot demo/answer.png --json demo/answer.json --quiet >demo/answer.txt
step "fitting R's clmm through ordbridge"
$ordbridge fit demo/summaries.csv --model clmm --formula "$FORMULA" --json demo/fit.json >/dev/null
step "fitting the same in plain Rscript"
Rscript --vanilla -e 'd <- read.csv("demo/summaries.csv"); d$rating <- factor(d$rating)
m <- ordinal::clmm(rating ~ system + (1 | worker_id) + (1 | doc), data = d)
cat(format(summary(m)$coefficients["systemhuman", "Pr(>|z|)"], digits = 10), "\n")' >demo/p-of-R.txt
step "simulating studies for a power curve"
$ordbridge power --preset howcroft2021 --variance low --items 20 50 --ratings-per-text 3 --effect 0 0.2 0.4 0.6 --models clmm \
  --engine fast --datasets 100 --seed 1 --jobs 2 --store demo/power --plot demo/power.png --json demo/power.json --quiet >/dev/null
step "done"

.venv/bin/python - <<'PYTHON'
import json, pathlib

folder = pathlib.Path("demo")
read = lambda name: json.loads((folder / name).read_text(encoding="utf-8"))
pairs = read("answer.json")["tables"]["pairs"]
print(f"\n{read('answer.json')['answer']}")
print(f"{sum(row['p_adjusted'] < 0.05 for row in pairs)} of {len(pairs)} pairs of systems differ (Holm-corrected).")
print(f"Report: {(folder / 'report.html').resolve()}")
ours = next(row["p_value"] for row in read("fit.json")["tables"]["tidy"] if row["term"] == "systemhuman")
plain = float((folder / "p-of-R.txt").read_text())
print("\nThe same test by R's clmm (human against abstractive, latent scale):")
print(f"  ordbridge p = {ours:.9g}\n  Rscript   p = {plain:.9g}")
print("\nPower to find a difference (simulated, effect in latent units; picture: demo/power.png)")
rows = [row for row in read("power.json")["tables"]["power"]]
for items in sorted({row["items"] for row in rows}):
    found = [f"{row['effect']:g}: {row['power']:4.0%}" for row in rows if row["items"] == items and row["effect"]]
    print(f"  {items} items   {'   '.join(found)}")
print("\nNext, with your own file (CSV, Excel, Qualtrics, Label Studio, …):")
print("  .venv/bin/ordbridge compare your-ratings.csv --html report.html")
print("  .venv/bin/ordbridge app            the same in the browser: drop the file on a page")
PYTHON
