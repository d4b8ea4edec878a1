"""What the scale of a predictor does to the standard errors of plain R's clmm, and to those of ordbridge.

The same 240 ratings with one predictor in other units: the p-value must not change. Run it with

    python benchmarks/predictor_scales.py
"""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa

import ordbridge as ob
from ordbridge.bridge import rscript
from ordbridge.bridge.session import r_folder
from ordbridge.reading.tables import write

FORMULAS = ("y ~ x + (1 | g)", "y ~ x + (x | g)")
SCALES = (1e-4, 5e-4, 1e-3, 1e-2, 0.03, 0.1, 1, 10, 100, 1000, 10_000)


def ratings(scale: float) -> pa.Table:
    random = np.random.default_rng(3)
    group = np.repeat(np.arange(12), 20)
    x = random.normal(size=group.size)
    latent = 0.25 * x + 0.8 * random.normal(size=12)[group] + random.normal(size=group.size)
    rating = 1 + (latent[:, None] > [-1, 0, 0.8, 1.6]).sum(axis=1)
    return pa.table({"y": rating, "x": x * scale, "g": [f"g{i:02d}" for i in group]})


def plain_r(formula: str, table: pa.Table, folder: Path) -> tuple[float, float]:
    file = write(table, folder / "ratings.csv")
    lines = rscript.run(r_folder() / "baseline.R", file, "--model", "clmm", "--formula", formula, "--link", "probit")
    numbers = dict(line.rsplit("\t", 1) for line in lines.splitlines())
    return float(numbers["std_error[x]"]), float(numbers["p_value[x]"])


def main() -> None:
    warnings.simplefilter("ignore")
    print(f"{'formula':18}{'sd of x':>10}{'plain R: SE·sd':>17}{'p':>10}{'ordbridge: SE·sd':>19}{'p':>10}")
    with tempfile.TemporaryDirectory() as folder:
        for formula in FORMULAS:
            for scale in SCALES:
                table = ratings(scale)
                theirs = plain_r(formula, table, Path(folder))
                fit = ob.clmm(formula, table, link="probit")
                ours = fit.estimates.std_error[-1]
                print(
                    f"{formula:18}{scale:10g}{theirs[0] * scale:17.5f}{theirs[1]:10.5f}"
                    f"{ours * scale:19.5f}{fit.p_value('x'):10.5f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
