"""Scale and nominal effects, weights and offsets in a clmm: the native engine against two independent implementations.

    python benchmarks/scale_accuracy.py [--folder FOLDER]

Simulated studies with systems that spread differently. With crossed random effects the log likelihood is compared with
that of a template for TMB (Debian: ``apt-get install r-cran-tmb``; compiling it takes about a minute), which finds its
own optimum with derivatives by automatic differentiation; with one random intercept with ``ordinal::clmm2``, by
Laplace's approximation and by quadrature with 15 nodes. The Laplace approximation of clmm2 is right only without scale
effects, as the last row shows. Prints both log likelihoods and their difference.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa

import ordbridge as ob
from ordbridge.bridge import rscript
from ordbridge.reading import tables

HERE = Path(__file__).parent
INTERCEPTS = "rating ~ system + (1 | participant) + (1 | item)"
SLOPES = "rating ~ system + (system | participant) + (system | item)"
ONE = "rating ~ system + (1 | participant)"
CASES = [
    ("crossed intercepts, scale", INTERCEPTS, {"scale": "~ system", "link": "logit"}),
    ("crossed intercepts, nominal", INTERCEPTS, {"nominal": "~ system", "link": "probit"}),
    ("crossed intercepts, both, of two predictors", INTERCEPTS + " + length",
     {"scale": "~ system", "nominal": "~ length"}),
    ("crossed slopes, scale", SLOPES, {"scale": "~ system", "link": "probit"}),
    ("crossed slopes, both, weights, offset", SLOPES + " + length",
     {"scale": "~ system * length", "nominal": "~ length", "weights": "weight", "offset": "known"}),
    ("one intercept, nominal", ONE, {"nominal": "~ system", "link": "probit"}),
    ("one intercept, nominal, quadrature", ONE, {"nominal": "~ system", "link": "probit", "nAGQ": 15}),
    ("one intercept, scale, quadrature", ONE, {"scale": "~ system", "link": "probit", "nAGQ": 15}),
    ("one intercept, both, weights, quadrature", ONE + " + length",
     {"scale": "~ system", "nominal": "~ length", "weights": "weight", "nAGQ": 15}),
    ("one intercept, scale", ONE, {"scale": "~ system", "link": "probit"}),
]  # fmt: skip


def study(seed: int) -> pa.Table:
    """Simulate 30 items × 12 raters × three systems, of which the second scatters more and the third less."""
    truth = ob.simulate.Truth(
        effects=(0.4, 0.7),
        thresholds=(-1.4, -0.5, 0.4, 1.4),
        participant_sd=(0.6, 0.4),
        item_sd=(0.8, 0.3),
        residual_spread=(1.6, 0.7),
    )
    ratings = ob.simulate.ratings(ob.design.crossed(items=30, raters=12, systems=3), truth, seed)
    random = np.random.default_rng(seed)
    columns = {
        "length": random.uniform(-1, 1, ratings.num_rows),
        "weight": random.uniform(0.5, 1.5, ratings.num_rows),
        "known": random.normal(0, 0.3, ratings.num_rows),
    }
    for name, values in columns.items():
        ratings = ratings.append_column(name, pa.array(values))
    return ratings


def rows_of(fit: ob.Fit) -> pa.Table:
    """Return the model matrices as columns."""
    rows, problem = fit.matrices(), fit.problem
    columns = {"y": np.unique(problem.columns["rating"].values, return_inverse=True)[1]}
    groups = [rows.level[k] for k in range(len(rows.level))]
    columns |= {"g": groups[0], "h": groups[-1], "offset": rows.offset}
    columns["weight"] = np.ones(fit.n_obs) if problem.weights is None else problem.columns[problem.weights].values
    for letter, matrix in {"x": rows.X, "n": rows.nominal, "s": rows.scale, "z": rows.Z[0]}.items():
        columns |= {f"{letter}{j + 1}": column for j, column in enumerate(matrix.T)}
    return pa.table(columns)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", help="where the compiled template is kept; default: a temporary one")
    folder = Path(parser.parse_args().folder or tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(HERE / "tmb_clmm.cpp", folder)
    print("| model | compared with | native | other | difference |\n|---|---|---|---|---|")
    for seed, (name, formula, options) in enumerate(CASES):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit = ob.clmm(formula, study(seed), engine="fast", **options)
        file = folder / "rows.csv"
        tables.write(rows_of(fit), file)
        link = str(fit.problem.link)
        crossed = len(fit.estimates.random) > 1
        call = ["tmb", folder, file, link] if crossed else ["clmm2", str(fit.problem.nAGQ), file, link]
        printed = rscript.run(HERE / "scale_accuracy.R", *call)
        theirs = float(printed.splitlines()[-1])  # after what the compiler says
        own = fit.estimates.loglik
        other = "TMB" if crossed else "clmm2"
        print(f"| {name} | {other} | {own:.6f} | {theirs:.6f} | {own - theirs:+.1e} |", flush=True)


if __name__ == "__main__":
    main()
