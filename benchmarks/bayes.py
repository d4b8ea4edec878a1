"""A third opinion on three datasets: both engines, the exact maximum, the posterior, and what Laplace costs.

    python benchmarks/bayes.py [--only wine|published|low] [--draws 4000] [--cells FOLDER]

*wine*: Randall (1989), from R's ordinal. *published*: the first of the published cells, 50 items with 3 ratings
(simulated alike if the folder is not there). *low*: 30 items with 3 ratings simulated from the low variances of
Howcroft & Rieser (2021), effect 0.31. Needs ``pip install 'ordbridge[bayes]'``, and a minute or two of processor time
per dataset.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import fast_speed
import pandas as pd
from laplace_cost import wine

import ordbridge as ob
from ordbridge import bayes, design, papers, simulate

COLUMNS = ("r", "fast", "exact", "mean", "sd", "low", "high")


def low() -> pd.DataFrame:
    truth = papers.howcroft2021.settings["low"].shift(effect=0.31)
    return simulate.ratings(design.howcroft2021(30, 3), truth, 1).to_pandas()


def fitted(name: str, cells: Path) -> ob.Fit:
    if name == "wine":
        return ob.clmm("rating ~ temp + contact + (1 | judge)", wine(), engine="fast")
    if name == "published":
        return ob.clmm(fast_speed.FORMULA, fast_speed.cell(1, cells), link="probit", engine="fast")
    formula = "rating ~ system + (system | participant) + (system | item)"
    return ob.clmm(formula, low(), link="probit", engine="fast")


def show(name: str, fit: ob.Fit, found: bayes.ThirdOpinion, seconds: float) -> None:
    print(
        f"\n{name}: {fit.problem.formula}, {fit.problem.link}, {fit.n_obs} ratings; {seconds:.0f} s of processor time"
    )
    print("\n| term | R (SE) | fast (SE) | exact | posterior mean | sd | 95 % interval | Laplace adds, posterior sds |")
    print("|---|---|---|---|---|---|---|---|")
    for row in found.table.to_pylist():
        where = f"{row['effect']} of {row['group']}: " if row["group"] else ""
        text = {k: "–" if row[k] is None else f"{row[k]:.3f}" for k in COLUMNS}
        for engine in ("r", "fast"):
            if row[f"{engine}_std_error"] is not None:
                text[engine] += f" ({row[f'{engine}_std_error']:.3f})"
        cost = "–"
        if row["laplace_cost"] is not None:
            cost = f"{row['laplace_cost'] / row['sd']:+.3f} ± {row['laplace_cost_mc_error'] / row['sd']:.3f}"
        term = row["term"].replace("|", "\\|")
        shown = [text[k] for k in ("r", "fast", "exact", "mean", "sd")]
        print(f"| {where}{term} | {' | '.join(shown)} | {text['low']} to {text['high']} | {cost} |")
    print(f"\n{found}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = ("wine", "published", "low")
    parser.add_argument("--only", choices=names)
    parser.add_argument("--draws", type=int, default=4000)
    parser.add_argument("--cells", type=Path, default=fast_speed.CELLS, help="folder with cell1.csv")
    wanted = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in (wanted.only,) if wanted.only else names:
        begun = time.process_time()
        fit = fitted(name, wanted.cells)
        show(name, fit, bayes.third_opinion(fit, draws=wanted.draws), time.process_time() - begun)


if __name__ == "__main__":
    main()
