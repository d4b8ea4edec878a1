"""How often each test rejects, when nothing is there and when something is: size and power in small studies.

    python benchmarks/small_studies.py STORE                 # goes on where it was stopped
    python benchmarks/small_studies.py STORE --stages 1 2    # some stages only
    python benchmarks/small_studies.py STORE --report

The grid was fixed before it was run: 3, 5, 10, 20 raters × 20, 50, 100 items × low and high variance (the settings of
Howcroft & Rieser 2021) × two kinds of slopes × 2 and 4 systems × no effect and an effect of .31 of the last system
(half a distance between thresholds), 1000 datasets per cell. Everyone rates every item under every system. Models have
maximal random effects; clmm has the link of the truth, probit.

Slopes are ``centred`` (they vary around the mean of the systems, uncorrelated with the intercept) or ``treatment``
(they are the deviations of the systems after the first, with the matched correlation −½ sd(slope)/sd(intercept)). Both
are exchangeable: at no effect the systems have the same distribution of ratings, so that the null hypothesis is true
for every model. With four systems that needs slopes that correlate ½ among each other. The items' intercept of the low
setting (.29) is too small for the matched correlation of their slope (.63): there it is taken as .43, what the centred
items have under each system. A third kind, ``uncorrelated``, is treatment slopes without any correlation: the second
system then spreads more than the first and the null hypothesis is true for latent means only.

The bootstrap has 99 draws, which is enough for a test at 5 %; its six cells are those of ``BOOTSTRAP``, 500 datasets
each. STORE is a CSV file of p-values to which rows are added; what it has is not computed again. A new one begins with
``small_studies.parquet``, the p-values of earlier runs. The run goes through
``STAGES`` in their order, and within one in rounds over all of its cells, so that a run that is stopped has about
equally many datasets in each.
"""

from __future__ import annotations

import argparse
import math
import os
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from scipy import stats

from ordbridge import fast
from ordbridge.design import crossed
from ordbridge.errors import FitError, InputError
from ordbridge.models.columns import Column
from ordbridge.models.fit import Fit
from ordbridge.models.inference import wald
from ordbridge.models.prepare import prepare
from ordbridge.models.problem import Estimates, Problem
from ordbridge.simulate import Simulator, Truth
from ordbridge.simulate.presets import HOWCROFT2021

FULL = "rating ~ system + (system | participant) + (system | item)"
NULL = "rating ~ 1 + (system | participant) + (system | item)"
ROUND = 25
DRAWS = 99
LEVEL, ROUNDING = 0.05, 1e-9  # 5/100 is significant
FAILURES = (InputError, FitError, np.linalg.LinAlgError)


class Cell(NamedTuple):
    """One kind of study."""

    raters: int
    items: int
    variance: str
    slopes: str
    systems: int
    effect: float

    @property
    def cost(self) -> int:
        """How large its datasets are."""
        return self.raters * self.items * self.systems**3


class Stage(NamedTuple):
    """Cells that are run together."""

    cells: tuple[Cell, ...]
    datasets: int
    bootstrap: bool = False


def cells(
    raters: tuple[int, ...] = (3, 5, 10, 20),
    slopes: tuple[str, ...] = ("centred", "treatment"),
    systems: int = 2,
    effect: float = 0.0,
    items: tuple[int, ...] = (20, 50, 100),
) -> tuple[Cell, ...]:
    """Return a part of the grid, the cheapest first."""
    every = product(raters, items, ("low", "high"), slopes, (systems,), (effect,))
    return tuple(sorted((Cell(*values) for values in every), key=lambda cell: cell.cost))


HARDEST = cells((3,), ("centred",), items=(50,))
BOOTSTRAP = HARDEST + cells((3, 5), ("centred",), items=(20,))
STAGES = (
    Stage(cells((3, 5)), 1000),
    Stage(HARDEST, 500, bootstrap=True),
    Stage(cells((10, 20)), 1000),
    Stage(BOOTSTRAP, 500, bootstrap=True),
    Stage(cells(effect=0.31), 1000),
    Stage(cells((3, 5), systems=4), 1000),
    Stage(tuple(cell._replace(effect=0.31) for cell in BOOTSTRAP), 500, bootstrap=True),
    Stage(cells((10, 20), systems=4), 1000),
    Stage(cells(systems=4, effect=0.31), 1000),
    Stage(cells((3, 5), ("uncorrelated",)), 1000),
)
COLUMNS = (*Cell._fields, "dataset", "method", "p_value")
BEFORE = Path(__file__).with_name("small_studies.parquet")


def truth_of(cell: Cell) -> Truth:
    """Return what is true in a cell."""
    setting = HOWCROFT2021.settings[cell.variance]
    changes: dict[str, object] = {}
    for group in ("participant", "item"):
        intercept, slope = getattr(setting, f"{group}_sd")
        rho = 0.0
        if cell.slopes == "treatment":
            if slope >= 2 * intercept:
                intercept = math.hypot(intercept, slope / 2)
            rho = -slope / (2 * intercept)
        matrix = np.full((cell.systems, cell.systems), 0.0 if cell.slopes == "uncorrelated" else 0.5)
        matrix[0], matrix[:, 0] = rho, rho
        np.fill_diagonal(matrix, 1.0)
        changes |= {f"{group}_sd": (intercept, slope), f"{group}_corr": tuple(map(tuple, matrix))}
    effects = (0.0,) * (cell.systems - 2) + (cell.effect,)
    coding = "centred" if cell.slopes == "centred" else "treatment"
    return replace(setting, effects=effects, slope_coding=coding, **changes)


class Study:
    """A cell made ready: its simulator, and the models without the ratings."""

    def __init__(self, cell: Cell) -> None:
        plan = crossed(cell.items, cell.raters, cell.systems)
        self.cell, self.simulator = cell, Simulator(plan, truth_of(cell))
        any_ratings = plan.append_column("rating", [1 + np.arange(plan.num_rows) % 2])
        ordinal = {"link": "probit", "threshold": "flexible", "nAGQ": 1}
        linear = {"ddf": "Satterthwaite"}
        self.clmm, self.clmm_null = (prepare("clmm", formula, any_ratings, **ordinal) for formula in (FULL, NULL))
        self.lmer = prepare("lmer", FULL, any_ratings, REML=True, **linear)
        self.lmer_ml, self.lmer_null = (
            prepare("lmer", formula, any_ratings, REML=False, **linear) for formula in (FULL, NULL)
        )

    def ratings(self, dataset: int) -> np.ndarray:
        """Draw a dataset; its seed depends on nothing but the cell and its number."""
        words = [self.cell.raters, self.cell.items, self.cell.systems, round(1000 * self.cell.effect), dataset]
        words += [("low", "high").index(self.cell.variance)]
        words += [("centred", "treatment", "uncorrelated").index(self.cell.slopes)]
        return self.simulator.draw(np.random.SeedSequence(words))[0]

    def p_values(self, dataset: int) -> Iterator[tuple[str, float]]:
        """Yield the p-value of every method but the bootstrap, as ``Fit.test`` has it; NaN where there is none."""
        rating, df = self.ratings(dataset), self.cell.systems - 1
        ordinal, linear = self.fit(self.clmm, rating), self.fit(self.lmer, rating)
        yield "clmm wald", by_wald(ordinal, df)
        larger = math.nan if ordinal is None else ordinal.loglik
        yield "clmm lrt", by_likelihood(larger, self.loglik(self.clmm_null, rating), df)
        yield "lmer wald", by_wald(linear, df)
        yield "lmer lrt", by_likelihood(self.loglik(self.lmer_ml, rating), self.loglik(self.lmer_null, rating), df)
        if df == 1:  # F is the square of the t that the fit has
            yield "lmer f", math.nan if linear is None else float(linear.p_value[1])
            return
        if linear is None:
            yield "lmer f", math.nan
            return
        value, residual = fast.f_test(linear, np.eye(df + 1)[1:])
        yield "lmer f", float(stats.f.sf(value, df, residual))

    def bootstrap(self, dataset: int) -> Iterator[tuple[str, float]]:
        """Yield the p-value of the bootstrap."""
        problem = with_rating(self.clmm, self.ratings(dataset))
        try:
            fit = Fit(problem, fast.fit(problem), "fast", 0.0)
            found = fit.test("system", "bootstrap", draws=DRAWS)["p_value"][0].as_py()
        except FAILURES:
            found = None
        yield "clmm bootstrap", math.nan if found is None else found

    def fit(self, problem: Problem, rating: np.ndarray) -> Estimates | None:
        """Fit a model to ratings; None if it cannot be."""
        try:
            return fast.fit(with_rating(problem, rating))
        except FAILURES:
            return None

    def loglik(self, problem: Problem, rating: np.ndarray) -> float:
        """Return the highest log likelihood of a model, NaN if there is none."""
        try:
            return fast.loglik(with_rating(problem, rating))
        except FAILURES:
            return math.nan


def with_rating(problem: Problem, rating: np.ndarray) -> Problem:
    """Return the problem with these ratings."""
    if problem.ordinal:
        used, codes = np.unique(rating, return_inverse=True)
        column = Column("factor", codes, tuple(map(str, used)), ordered=True)
    else:
        column = Column("numeric", rating.astype(float))
    return replace(problem, columns={**problem.columns, "rating": column})


def by_wald(found: Estimates | None, df: int) -> float:
    """Return the p-value of Wald's test of all systems."""
    if found is None:
        return math.nan
    fixed = found.effects.count("fixed")
    return float(stats.chi2.sf(wald.statistic(found, np.eye(fixed)[fixed - df :]), df))


def by_likelihood(larger: float, smaller: float, df: int) -> float:
    """Return the p-value of the likelihood ratio test."""
    ratio = 2 * (larger - smaller)
    return math.nan if math.isnan(ratio) else float(stats.chi2.sf(max(0.0, ratio), df))


def stored(path: Path) -> pd.DataFrame:
    """Read the p-values; a line that was being written when a run stopped is taken off.

    A new store begins with the p-values of the runs before, which are kept beside this script.
    """
    if not path.exists():
        pd.read_parquet(BEFORE)[list(COLUMNS)].to_csv(path, index=False)
    *lines, unfinished = path.read_text(encoding="utf-8").split("\n")
    if unfinished:
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    known = pd.read_csv(path)
    known["effect"] = known["effect"].round(3)  # as it is written in the grid
    return known.drop_duplicates([*Cell._fields, "dataset", "method"])


def run(path: Path, stages: list[Stage]) -> None:
    """Compute what is missing."""
    known = stored(path)
    resampled = known["method"].str.endswith("bootstrap")
    done = set(known[[*Cell._fields, "dataset"]].assign(bootstrap=resampled).itertuples(index=False, name=None))
    began = time.process_time()
    for stage in stages:
        for begin in range(0, stage.datasets, ROUND):
            for cell in stage.cells:
                wanted = range(begin, min(begin + ROUND, stage.datasets))
                wanted = [i for i in wanted if (*cell, i, stage.bootstrap) not in done]
                if not wanted:
                    continue
                study = Study(cell)
                compute = study.bootstrap if stage.bootstrap else study.p_values
                rows = [(*cell, i, *row) for i in wanted for row in compute(i)]
                with path.open("a", encoding="utf-8") as file:
                    file.writelines(",".join(map(str, row)) + "\n" for row in rows)
            print(f"stage {STAGES.index(stage) + 1}: {begin + ROUND}, {time.process_time() - began:.0f} s", flush=True)


METHODS = ("clmm wald", "clmm lrt", "clmm bootstrap", "lmer wald", "lmer lrt", "lmer f")


def report(path: Path) -> str:
    """Return shares of rejections as Markdown: at no effect; at an effect, and there with every test's size at .05."""
    known = stored(path)
    lines = []
    for systems in sorted(known["systems"].unique()):
        for effect in sorted(known["effect"].unique()):
            here = known[(known["systems"] == systems) & (known["effect"] == effect)]
            if here.empty:
                continue
            null = known[(known["systems"] == systems) & (known["effect"] == 0)]
            lines += [f"\n{systems} systems, effect {effect:g}\n", *table(here, null if effect else None)]
    missing = known.groupby("method")["p_value"].apply(lambda p: int(p.isna().sum()))
    return "\n".join([*lines, "", f"datasets without a p-value: {missing.to_dict()}"])


def summary(path: Path) -> str:
    """Return mean shares for every number of raters, with the range of its cells, as Markdown.

    At an effect the mean share at critical values that give every test its size stands after a slash.
    """
    known = stored(path)
    known = known[known["slopes"] != "uncorrelated"].dropna(subset="p_value").copy()
    kinds = ["systems", "raters", "items", "variance", "slopes", "method"]
    null = known[known["effect"] == 0].groupby(kinds)["p_value"]
    critical = null.quantile(LEVEL).where(null.size() >= 500).rename("critical")
    known = known.join(critical, on=kinds)
    known["rejects"] = known["p_value"] <= LEVEL + ROUNDING
    known["adjusted"] = (known["p_value"] < known["critical"]).where(known["critical"].notna())
    cells = known.groupby([*kinds, "effect"]).agg(
        n=("rejects", "size"), rejects=("rejects", "mean"), adjusted=("adjusted", "mean")
    )
    cells = cells[cells["n"] >= 100].reset_index()
    lines = [f"| systems | effect | raters | {' | '.join(METHODS)} |", "|---" * (3 + len(METHODS)) + "|"]
    for (systems, effect, raters), own in cells.groupby(["systems", "effect", "raters"]):
        found = []
        for method in METHODS:
            shares = own[own["method"] == method]
            text = ""
            if len(shares):
                mean, low, high = (decimal(getattr(shares["rejects"], name)()) for name in ("mean", "min", "max"))
                after = (
                    "" if not effect or shares["adjusted"].isna().all() else f" / {decimal(shares['adjusted'].mean())}"
                )
                text = f"{mean}{'' if method == 'clmm bootstrap' else after} ({low} to {high})"
            found.append(text)
        lines.append(f"| {systems} | {effect:g} | {raters} | {' | '.join(found)} |")
    return "\n".join(lines)


def table(here: pd.DataFrame, null: pd.DataFrame | None) -> list[str]:
    """Return one row per cell; with ``null``, size-adjusted shares stand after a slash."""
    lines = [f"| raters | items | variance | slopes | n | {' | '.join(METHODS)} |", "|---" * (5 + len(METHODS)) + "|"]
    keys = ["raters", "items", "variance", "slopes", "method"]
    found = {key: p for key, p in here.groupby(keys)["p_value"]}
    at_null = {} if null is None else {key: p.dropna() for key, p in null.groupby(keys)["p_value"]}
    for cell in sorted({key[:-1] for key in found}):
        shares = []
        for method in METHODS:
            p, p0 = found.get((*cell, method)), at_null.get((*cell, method))
            text = "" if p is None else share(p <= LEVEL + ROUNDING, p.notna().sum())
            if null is not None and p is not None and method != "clmm bootstrap":
                known = p0 is not None and len(p0) >= 500
                text += " / " + (share(p < np.quantile(p0, LEVEL), p.notna().sum()) if known else "–")
            shares.append(text + (f" ({len(p)})" if p is not None and method == "clmm bootstrap" else ""))
        lines.append(
            f"| {' | '.join(map(str, cell))} | {len(found.get((*cell, 'clmm wald'), ()))} | {' | '.join(shares)} |"
        )
    return lines


def share(which: pd.Series, n: int) -> str:
    """Return the share of the n that are so."""
    return decimal(which.sum() / n) if n else ""


def decimal(value: float) -> str:
    """Write a share as .123."""
    return f"{value:.3f}".lstrip("0")


def main() -> None:
    """Run, or show what there is."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("store", type=Path)
    parser.add_argument("--report", action="store_true")
    numbers = range(1, len(STAGES) + 1)
    parser.add_argument("--stages", nargs="+", type=int, choices=numbers, default=list(numbers))
    args = parser.parse_args()
    if args.report:
        print(f"{summary(args.store)}\n{report(args.store)}")
        return
    warnings.simplefilter("ignore")
    run(args.store, [STAGES[number - 1] for number in args.stages])


if __name__ == "__main__":
    main()
