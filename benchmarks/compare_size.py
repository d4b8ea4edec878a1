"""How often ``ob.compare`` finds a difference in points that is not there, what its intervals cover, and its power.

    python benchmarks/compare_size.py STORE.parquet --datasets 1000 [--jobs 2] [--effect 0.5]
    python benchmarks/compare_size.py STORE.parquet --report

Several processes have a store each (``--first``), which ``--merge`` puts together.

Every study has real random slopes, and without an effect all systems have the same expected rating: the latent quality
of each is chosen so, because systems that spread differently have other expected ratings at the same quality. The cells
are a fraction of

    systems 2, 3, 4 × raters 3, 5, 9, 10, 30 × crossed, 25 items each, between raters × 5-point, 7-point, 0–100
    × equal spread, unequal spread in the slopes, unequal residual spread, thresholds off centre (with unequal slopes)

in which every two levels of two factors occur together (FRACTION of them, chosen by a greedy search that knows nothing
of results), and the cells in which version 0.2.0 failed. Between raters, the number of raters is that of each system.
``--effect`` raises the latent quality of the last system by so much; then ``compare`` stands beside the linear mixed
model of all systems and a t test over the means of raters, each with Holm's correction.

Counted are studies with any false pair after Holm (family-wise) and 95 % intervals of pairs that contain the true
difference. Only the linear models are fitted (``model="lmer"``): the ordinal one has no part in the decision, which
``tests/comparison/test_estimand.py`` checks. STORE keeps every p-value; what it has is not computed again.
"""

from __future__ import annotations

import argparse
import os
from itertools import combinations, product
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
import pyarrow as pa
from joblib import Parallel, delayed
from scipy import optimize, stats

from ordbridge.comparison.analysis import Request, analyse
from ordbridge.comparison.points import expected_ratings
from ordbridge.models.inference.adjust import adjusted_p

FRACTION = 60
BLOCK = 100  # datasets after which the store is written
ASKED = Request("points", None, "lmer", None, "logit", "fast", "auto", 0.95, None, 0, 1, None)
LEVELS: dict[str, tuple[Any, ...]] = {
    "systems": (2, 3, 4),
    "raters": (3, 5, 9, 10, 30),
    "design": ("crossed", "25 items each", "between"),
    "points": (5, 7, 101),
    "spread": ("equal", "slopes", "residual", "off centre"),
}
CENTRED = {5: np.array([-1.5, -0.5, 0.5, 1.5]), 7: np.linspace(-2, 2, 6), 101: np.linspace(-2.5, 2.5, 100)}
OFF_CENTRE = {
    5: np.array([-1.6, -1.1, -0.6, 0.0]),
    7: np.array([-2.2, -1.7, -1.2, -0.7, -0.2, 0.3]),
    101: np.linspace(-4, 0.6, 100),
}
QUALITY = 0.8  # latent, of the first system


class Cell(NamedTuple):
    """One kind of study."""

    systems: int
    raters: int
    design: str
    points: int
    spread: str
    items: int


class Truth(NamedTuple):
    """Standard deviations on the latent scale; those of slopes and residuals for each system."""

    rater: float
    item: float
    rater_slopes: np.ndarray
    item_slopes: np.ndarray
    residual: np.ndarray
    thresholds: np.ndarray

    def total(self) -> np.ndarray:
        """Return the standard deviation of the latent rating of each system."""
        parts = (self.rater_slopes, self.item_slopes, self.residual)
        return np.sqrt(self.rater**2 + self.item**2 + sum(part**2 for part in parts))


def fraction() -> list[Cell]:
    """Choose cells so that every two levels of two factors occur together about equally often."""
    names = list(LEVELS)
    pairs = list(combinations(range(len(names)), 2))
    seen: dict[tuple[int, int, Any, Any], int] = {}
    rest = list(product(*LEVELS.values()))
    np.random.default_rng(1).shuffle(rest)  # type: ignore[arg-type]
    chosen = []
    for _ in range(FRACTION):
        gains = [sum(1.0 / (1 + seen.get((i, j, one[i], one[j]), 0)) for i, j in pairs) for one in rest]
        best = rest.pop(int(np.argmax(gains)))
        for i, j in pairs:
            key = (i, j, best[i], best[j])
            seen[key] = seen.get(key, 0) + 1
        chosen.append(Cell(*best, items=20 if best[1] == 30 else 40))  # type: ignore[misc]
    assert all(seen.get((i, j, a, b)) for i, j in pairs for a in LEVELS[names[i]] for b in LEVELS[names[j]])
    return sorted(chosen)


FAILED = [
    *(
        Cell(2, raters, "crossed", 5, spread, items)
        for raters, items in ((3, 40), (5, 40), (9, 60), (10, 60), (30, 40))
        for spread in ("items", "items and raters")
    ),
    Cell(4, 3, "crossed", 5, "equal", 40),
    Cell(3, 10, "crossed", 5, "equal", 40),
    Cell(4, 10, "crossed", 5, "equal", 40),
    Cell(4, 30, "incomplete", 5, "equal", 40),
    Cell(2, 30, "between", 5, "equal", 20),
]
"""Where 0.2.0 called half of all null studies different, and the designs in which it had more than .065."""


def truth_of(cell: Cell) -> Truth:
    """Return how the ratings of a cell vary."""
    one, rising = np.ones(cell.systems), np.linspace(0, 1, cell.systems)
    thresholds = CENTRED[cell.points] if cell.spread in ("equal", "slopes", "residual") else OFF_CENTRE[cell.points]
    if cell.spread in ("items", "items and raters"):  # the studies of the audit
        slopes = 0.5 / np.sqrt(2) * one if cell.spread == "items and raters" else 0 * one
        return Truth(0.4, 0.0, slopes, 0.5 + 0.9 * rising, one, thresholds)
    if cell.spread in ("slopes", "off centre"):
        return Truth(0.4, 0.5, 0.1 + 0.5 * rising, 0.2 + 1.1 * rising, one, thresholds)
    residual = 0.6 + 0.9 * rising if cell.spread == "residual" else one
    return Truth(0.4, 0.5, 0.3 * one, 0.35 * one, residual, thresholds)


def expected(truth: Truth, quality: np.ndarray) -> np.ndarray:
    """Return the expected ratings, from 0 on."""
    return stats.norm.cdf((quality[:, None] - truth.thresholds) / truth.total()[:, None]).sum(axis=1)


def qualities(truth: Truth, effect: float) -> np.ndarray:
    """Return latent qualities at which all expected ratings are equal; the last is raised by the effect."""
    total = truth.total()
    target = stats.norm.cdf((QUALITY - truth.thresholds) / total[0]).sum()

    def off(quality: float, sd: float) -> float:
        return float(stats.norm.cdf((quality - truth.thresholds) / sd).sum() - target)

    found = np.array([optimize.brentq(off, -20, 20, args=(sd,)) for sd in total])
    found[-1] += effect
    return found


def plan_of(cell: Cell, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rater, item and system of each rating."""
    S, R, I = cell.systems, cell.raters, cell.items
    if cell.design == "crossed":
        r, i, s = np.meshgrid(range(R), range(I), range(S), indexing="ij")
        return r.ravel(), i.ravel(), s.ravel()
    if cell.design == "25 items each":  # of 50, under every system
        own = np.array([random.permutation(50)[:25] for _ in range(R)])
        r, _, s = np.meshgrid(range(R), range(25), range(S), indexing="ij")
        return r.ravel(), np.repeat(own.ravel(), S), s.ravel()
    r, i = (
        part.ravel() for part in np.meshgrid(range(R * (S if cell.design == "between" else 1)), range(I), indexing="ij")
    )
    return r, i, (r if cell.design == "between" else r + i) % S


def study(cell: Cell, truth: Truth, quality: np.ndarray, random: np.random.Generator) -> pa.Table:
    """Draw one study."""
    r, i, s = plan_of(cell, random)
    n_raters, n_items = r.max() + 1, i.max() + 1
    latent = quality[s] + truth.rater * random.normal(size=n_raters)[r] + truth.item * random.normal(size=n_items)[i]
    latent += truth.rater_slopes[s] * random.normal(size=(n_raters, cell.systems))[r, s]
    latent += truth.item_slopes[s] * random.normal(size=(n_items, cell.systems))[i, s]
    latent += truth.residual[s] * random.normal(size=len(s))
    labels = {"participant": r, "item": i, "system": s}
    columns = {name: pa.array([f"{name[0]}{code:02d}" for code in codes]) for name, codes in labels.items()}
    return pa.table({**columns, "rating": 1 + np.searchsorted(truth.thresholds, latent)})


def over_raters(rating: np.ndarray, rater: np.ndarray, system: np.ndarray, pairs: list[tuple[int, int]]) -> np.ndarray:
    """Return p-values of t tests over the means of raters: paired where they rated both, otherwise Welch's."""
    p = []
    for i, j in pairs:
        means = [{r: rating[(system == k) & (rater == r)].mean() for r in set(rater[system == k])} for k in (i, j)]
        both = sorted(set(means[0]) & set(means[1]))
        if len(both) > 1:
            p.append(stats.ttest_rel(*[[one[r] for r in both] for one in means]).pvalue)
        else:
            p.append(stats.ttest_ind(*[list(one.values()) for one in means], equal_var=False).pvalue)
    return np.nan_to_num(np.array(p), nan=1.0)


def one(place: int, cell: Cell, effect: float, dataset: int) -> list[dict[str, Any]]:
    """Compare the systems of one study; a row for each pair."""
    truth = truth_of(cell)
    quality = qualities(truth, effect)
    seed = [place, dataset, round(1000 * effect)]
    table = study(cell, truth, quality, np.random.default_rng(seed))
    found = analyse(table, None, (), ASKED)
    true = expected(truth, quality)
    compared = found.differences
    low, high = compared.limits(np.full(len(compared.pairs), 0.05))
    real = np.array([true[i] - true[j] for i, j in compared.pairs])
    rows: dict[str, Any] = {"p": compared.p_value, "covered": (low <= real) & (real <= high), "real": real}
    if effect:
        code = {name: np.unique(table[name].to_numpy(zero_copy_only=False), return_inverse=True)[1]
                for name in ("participant", "item", "system")}  # fmt: skip
        rating = table["rating"].to_numpy().astype(float)
        rows["p_raters"] = over_raters(rating, code["participant"], code["system"], list(compared.pairs))
        rows["p_lmer"] = _lmer(rating, code, found.systems, compared.pairs)
    return [
        {"cell": place, "effect": effect, "dataset": dataset, "pair": k, **{name: rows[name][k] for name in rows}}
        for k in range(len(compared.pairs))
    ]


def _lmer(rating: np.ndarray, code: dict[str, np.ndarray], names: Any, pairs: Any) -> np.ndarray:
    from ordbridge.comparison.fitting import linear_fitter

    groups = {name: code[name] for name in ("participant", "item")}
    means = expected_ratings(rating, code["system"], names, groups, linear_fitter("fast", None, []))
    tests = [means.pair(i, j) for i, j in pairs]
    return np.array([1.0 if test is None else test.p_value for test in tests])


def extend(store: Path, first: int, datasets: int, effect: float, jobs: int) -> None:
    """Add what is missing, a block of every cell at a time."""
    kept = pd.read_parquet(store) if store.exists() else pd.DataFrame(columns=["cell", "effect", "dataset"])
    done = {(int(c), float(e), int(d)) for c, e, d in zip(kept.cell, kept.effect, kept.dataset, strict=True)}
    for start in range(first, datasets, BLOCK):
        for place, cell in enumerate(CELLS):
            wanted = range(start, min(start + BLOCK, datasets))
            missing = [d for d in wanted if (place, effect, d) not in done]
            if not missing:
                continue
            rows = Parallel(jobs)(delayed(one)(place, cell, effect, d) for d in missing)
            kept = pd.concat([kept, pd.DataFrame([row for block in rows for row in block])], ignore_index=True)
            partial = store.with_suffix(".partial")
            kept.to_parquet(partial, index=False)
            partial.replace(store)
        print(f"{min(start + BLOCK, datasets)} datasets per cell, effect {effect:g}", flush=True)


def familywise(part: pd.DataFrame, column: str) -> tuple[float, int]:
    """Return the share of studies with any pair below .05 after Holm, and their number."""
    table = part.pivot(index="dataset", columns="pair", values=column).to_numpy()
    return float(np.mean([np.any(adjusted_p(row, "holm") < 0.05) for row in table])), len(table)


def power_of_last(part: pd.DataFrame, column: str) -> float:
    """Return the share of pairs with a real difference that are found after Holm."""
    found = []
    for _, rows in part.groupby("dataset"):
        different = adjusted_p(rows[column].to_numpy(), "holm") < 0.05
        real = np.abs(rows.real.to_numpy()) > 1e-9
        found.append(different[real].mean())
    return float(np.mean(found))


def report(store: Path) -> None:
    """Print both tables in Markdown."""
    kept = pd.read_parquet(store)
    print("| systems | raters | items | design | scale | spread | n | any false pair | error | covered |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    null = kept[kept.effect == 0]
    for place, cell in enumerate(CELLS):
        part = null[null.cell == place]
        if part.empty:
            continue
        share, n = familywise(part, "p")
        covered = part.groupby("dataset").covered.mean()
        error = np.sqrt(max(share * (1 - share), 1 / n) / n)
        high = share - 2 * error > 0.06
        low = covered.mean() + 2 * covered.std() / np.sqrt(n) < 0.94
        scale = {5: "1–5", 7: "1–7", 101: "0–100"}[cell.points]
        items = 50 if cell.design == "25 items each" else cell.items
        print(f"| {cell.systems} | {cell.raters} | {items} | {cell.design} | {scale} | {cell.spread} | {n} | "
              f"{'**' if high else ''}{share:.3f}{'**' if high else ''} | {error:.3f} | "
              f"{'**' if low else ''}{covered.mean():.3f}{'**' if low else ''} |")  # fmt: skip
    shares = {(*cell,): familywise(null[null.cell == k], "p") for k, cell in enumerate(CELLS) if (null.cell == k).any()}
    for raters in LEVELS["raters"]:
        own = [found for cell, found in shares.items() if cell[1] == raters]
        if own:
            total = sum(n for _, n in own)
            print(f"\n{raters} raters: {sum(share * n for share, n in own) / total:.4f} of {total}")
    effects = kept[kept.effect > 0]
    if effects.empty:
        return
    print("\n| systems | raters | design | scale | spread | n | difference | compare | lmer of all | t over raters |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for place, cell in enumerate(CELLS):
        part = effects[effects.cell == place]
        if part.empty:
            continue
        powers = [power_of_last(part, column) for column in ("p", "p_lmer", "p_raters")]
        size = np.abs(part.real).max()
        found = " | ".join(f"{value:.3f}" for value in powers)
        print(f"| {cell.systems} | {cell.raters} | {cell.design} | {cell.points} | {cell.spread} | "
              f"{part.dataset.nunique()} | {size:.2f} | {found} |")  # fmt: skip


CELLS = [*fraction(), *FAILED]

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", type=Path)
    parser.add_argument("--merge", type=Path, nargs="+", help="put other stores into this one")
    parser.add_argument("--first", type=int, default=0, help="the first dataset, for several stores at once")
    parser.add_argument("--datasets", type=int, default=1000)
    parser.add_argument("--effect", type=float, default=0.0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--report", action="store_true")
    args = parser.parse_args()
    if args.merge:
        stores = [pd.read_parquet(path) for path in (args.store, *args.merge) if path.exists()]
        keys = ["cell", "effect", "dataset", "pair"]
        pd.concat(stores).drop_duplicates(keys).sort_values(keys).to_parquet(args.store, index=False)
    elif args.report:
        report(args.store)
    else:
        extend(args.store, args.first, args.datasets, args.effect, args.jobs)
