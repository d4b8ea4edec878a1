"""What 200 common designs can find, by the native engine: python benchmarks/study_sizes.py [FOLDER], resumable.

For each design studies are simulated and their linear mixed model is fitted. From the standard errors and the degrees
of freedom (Satterthwaite) of a difference follows the smallest difference that has a mean power of 80 %. Then studies
with just this difference are simulated, to see how often it is found. The table goes into docs/study-sizes.md.
"""

from __future__ import annotations

import json
import sys
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

import ordbridge as ob

FILE = Path(__file__).parents[1] / "docs" / "study-sizes.md"
ITEMS = (10, 20, 30, 40, 50, 75, 100, 150, 200, 300)
EVERYBODY, SHARED = (3, 4, 5, 8, 12), (1, 2, 3, 5, 10)
TEXTS_PER_RATER = 30
EDGES = np.array([-1.5, -0.5, 0.5, 1.6])
FORMULA = "rating ~ system + (1 | participant) + (1 | participant:system) + (1 | item)"
FITS, CHECKS, POWER = 48, 12, 0.80


def designs() -> list[dict[str, int | str]]:
    """Return the 200 designs: all raters rate everything, or each item, with all its systems, by a few of many."""
    crossed = [
        {"who": "all raters rate all texts", "items": i, "per_text": r, "raters": r, "systems": s}
        for i, r, s in product(ITEMS, EVERYBODY, (2, 3))
    ]
    shared = [
        {"who": "many raters, 30 texts each", "items": i, "per_text": k, "systems": s,
         "raters": max(3, k, -(-i * s * k // TEXTS_PER_RATER))}
        for i, k, s in product(ITEMS, SHARED, (2, 3))
    ]  # fmt: skip
    return [*crossed, *shared]


def study(design: dict[str, int | str], effect: float, random: np.random.Generator) -> pd.DataFrame:
    """Draw one study; the second system is ``effect`` above the first on the latent scale."""
    items, k, raters, systems = (int(design[name]) for name in ("items", "per_text", "raters", "systems"))
    item, system, turn = (grid.ravel() for grid in np.meshgrid(range(items), range(systems), range(k), indexing="ij"))
    text = item * systems + system
    rater = turn if raters == k else (item * k + turn) % raters
    latent = np.where(system == 1, effect, 0.0) + random.normal(0, 0.6, raters)[rater]
    latent += random.normal(0, 0.2, (raters, systems))[rater, system] + random.normal(0, 0.5, items)[item]
    latent += random.normal(0, 0.35, items * systems)[text] + random.normal(size=len(item)) + 0.5
    rating = 1 + (latent[:, None] > EDGES).sum(axis=1)
    names = {"participant": rater, "item": item, "system": system}
    return pd.DataFrame(
        {name: [f"{name[0]}{k:03d}" for k in codes] for name, codes in names.items()} | {"rating": rating}
    )


def test(design: dict[str, int | str], data: pd.DataFrame) -> tuple[float, float, float]:
    """Return standard error, degrees of freedom and p-value of the difference between the first two systems."""
    formula = FORMULA + (" + (1 | item:system)" if int(design["per_text"]) > 1 else "")
    row = next(r for r in ob.lmer(formula, data, engine="fast").tidy().to_pylist() if r["term"] == "systems001")
    return row["std_error"], max(row["df"], 1.0), row["p_value"]


def points(effect: float) -> float:
    """Return a latent difference in points of the scale, for the mean rater and text."""
    sd = np.sqrt(1 + 0.6**2 + 0.2**2 + 0.5**2 + 0.35**2)
    means = [1 + stats.norm.sf((EDGES - 0.5 - shift) / sd).sum() for shift in (0.0, effect)]
    return float(means[1] - means[0])


def latent(difference: float) -> float:
    """Return the latent difference that makes so many points."""
    grid = np.linspace(0, 4, 801)
    return float(np.interp(difference, [points(effect) for effect in grid], grid))


def smallest(design: dict[str, int | str], seed: int) -> dict[str, float | int | str]:
    """Return a design with the smallest difference that it finds, in points, and how often it was found."""
    random = np.random.default_rng(seed)
    alpha = 0.05 / (1 if design["systems"] == 2 else 3)  # all pairs, at their strictest
    errors, freedom, _ = (np.array(one) for one in zip(*(test(design, study(design, 0.4, random)) for _ in range(FITS)),
                                                       strict=True))  # fmt: skip
    edge = stats.t.ppf(1 - alpha / 2, freedom)
    low, high = 0.0, 4.0
    while high - low > 1e-4:  # of the difference at which the mean power over these studies is POWER
        found = (low + high) / 2
        enough = float(np.mean(stats.nct.sf(edge, freedom, found / errors))) >= POWER
        low, high = (low, found) if enough else (found, high)
    effect = latent(found)
    hits = sum(test(design, study(design, effect, random))[2] < alpha for _ in range(CHECKS))
    texts = int(design["items"]) * int(design["systems"])
    return {**design, "ratings": texts * int(design["per_text"]), "points": found, "hits": hits, "checks": CHECKS}


def main() -> None:
    """Compute what is missing, and write the page."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "runs/study-sizes")
    folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    rows = []
    for seed, design in enumerate(designs()):
        file = folder / f"{seed:03d}.json"
        if not file.exists():
            file.write_text(json.dumps(smallest(design, seed)), encoding="utf-8")
        rows.append(json.loads(file.read_text(encoding="utf-8")))
        print(seed, rows[-1], flush=True)
    text = FILE.read_text(encoding="utf-8")
    checks = sum(row["checks"] for row in rows)
    share = sum(row["hits"] for row in rows) / checks
    lines = ["| systems | items | ratings per text | raters | who rates | ratings | finds (points of 5) |",
             "|---:|---:|---:|---:|---|---:|---:|"]  # fmt: skip
    lines += [
        f"| {r['systems']} | {r['items']} | {r['per_text']} | {r['raters']} | {r['who']} | {r['ratings']:,} | "
        + (f"{r['points']:.2f} |" if r["points"] < 2 else "over 2 |")
        for r in rows
    ]
    head, _, _ = text.partition("<!-- table -->")
    said = f"In {checks:,} further studies with just these differences {share:.0%} were found."
    FILE.write_text(f"{head}<!-- table -->\n{said}\n\n" + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
