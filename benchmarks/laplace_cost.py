"""What the Laplace approximation costs the coefficients: on the published cells and on wine.

    python benchmarks/laplace_cost.py [--draws 4000] [--cells FOLDER]

``fit.check_laplace()`` on each of the six published cells (simulated alike if the folder is not there) and, beside
quadrature with 30 points, on wine (Randall 1989, from R's ordinal).
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import fast_speed
import pandas as pd

import ordbridge as ob


def wine() -> pd.DataFrame:
    from ordbridge.bridge import rscript
    from ordbridge.bridge.session import r_folder

    file = Path("/tmp") / "ordbridge-wine.csv"
    rscript.run(r_folder() / "baseline.R", "--export", "ordinal::wine", file)
    return pd.read_csv(file)


def line(name: str, fit: ob.Fit, draws: int) -> None:
    begun = time.process_time()
    found = fit.check_laplace(draws=draws)
    seconds = time.process_time() - begun
    for row in found.table.to_pylist():
        se = row["std_error"]
        print(
            f"| {name} | {row['term']} | {row['estimate']:.4f} | {se:.4f} "
            f"| {row['shift'] / se:+.4f} ± {row['shift_mc_error'] / se:.4f} "
            f"| {100 * row['std_error_shift'] / se:+.2f} ± {100 * row['std_error_shift_mc_error'] / se:.2f} % "
            f"| {row['p_value']:.4g} | {row['exact_p_value']:.4g} "
            f"| {found.loglik_error:+.3f} ± {found.loglik_mc_error:.3f} "
            f"| {found.effective_draws:.0f} | {seconds:.1f} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=4000)
    parser.add_argument("--cells", type=Path, default=fast_speed.CELLS, help="folder with cell1.csv … cell6.csv")
    wanted = parser.parse_args()
    warnings.simplefilter("ignore")
    print(
        "| data | term | estimate | SE | shift, SEs | change of the SE | p | exact p | log likelihood missing "
        "| effective draws | s |\n|---|---|---|---|---|---|---|---|---|---|---|"
    )
    for number, size in enumerate(fast_speed.GRID, start=1):
        table = fast_speed.cell(number, wanted.cells)
        fit = ob.clmm(fast_speed.FORMULA, table, link="probit", engine="fast")
        line(f"{size[0]} items, {size[1]} ratings", fit, wanted.draws)
    data, formula = wine(), "rating ~ temp + contact + (1 | judge)"
    for link in ("logit", "probit"):
        fit = ob.clmm(formula, data, link=link, engine="fast")
        line(f"wine, {link}", fit, wanted.draws)
        exact, e = ob.clmm(formula, data, link=link, nAGQ=30, engine="fast").estimates, fit.estimates
        for k, term in list(enumerate(e.terms))[-2:]:
            moved = (exact.estimate[k] - e.estimate[k]) / e.std_error[k]
            wider = 100 * (exact.std_error[k] / e.std_error[k] - 1)
            print(
                f"| wine, {link}, 30 points | {term} | {exact.estimate[k]:.4f} | {exact.std_error[k]:.4f} "
                f"| {moved:+.4f} | {wider:+.2f} % | {e.p_value[k]:.4g} | {exact.p_value[k]:.4g} "
                f"| {exact.loglik - e.loglik:+.3f} | – | – |"
            )


if __name__ == "__main__":
    main()
