"""The fast engine against numbers that R gave: six simulated cells, wine, sleepstudy.

R 4.2.2, ordinal 2022.11-16, lmerTest 3.1-3, lme4 1.1-31. p is held to 1e-3 relative, because ordinal's own Hessian
comes from differences with step 1e-4 and its optimiser stops at a gradient of about 1e-3.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import ordbridge as ob

pytestmark = pytest.mark.needs_r

CELLS = {  # p(model) and -log likelihood of clmm y ~ model + (model|participant) + (model|item), probit
    1: (0.001280557, 459.107318),
    2: (0.115248, 1509.689605),
    3: (0.003071618, 947.822806),
    4: (6.554657e-05, 3013.041502),
    5: (0.003147942, 4809.825669),
    6: (1.680453e-12, 15225.465458),
}
FORMULA = "y ~ model + (model | participant) + (model | item)"


@pytest.mark.filterwarnings("ignore::ordbridge.ConvergenceWarning")
@pytest.mark.parametrize("cell", CELLS)
def test_the_six_cells(cell: int, shared: Path) -> None:
    p, minus_loglik = CELLS[cell]
    table = pd.read_csv(shared / "reference" / "cells" / f"cell{cell}.csv")
    fit = ob.clmm(FORMULA, table, link="probit", engine="fast")
    assert fit.p_value("model") == pytest.approx(p, rel=1e-3)
    assert -fit.estimates.loglik <= minus_loglik + 1e-5
    assert fit.converged


@pytest.mark.parametrize("cell", CELLS)
def test_linear_model_of_a_published_cell(cell: int, shared: Path) -> None:
    """lmerTest in the same run, by its own search; lme4 stops where the deviance changes by 1e-8, hence 1e-4."""
    table = pd.read_csv(shared / "reference" / "cells" / f"cell{cell}.csv")
    ours, theirs = (ob.lmer(FORMULA, table, REML=False, engine=engine) for engine in ("fast", "r"))
    assert ours.p_value("model") == pytest.approx(theirs.p_value("model"), rel=1e-4)
    assert ours.estimates.df == pytest.approx(theirs.estimates.df, rel=1e-3)
    assert ours.estimates.loglik >= theirs.estimates.loglik - 1e-9
    assert ours.singular == theirs.singular


def test_wine_logit(wine: pd.DataFrame) -> None:
    """One scalar random effect: ordinal's own search for the modes stops at a gradient of 1e-4, hence 2e-4."""
    fit = ob.clmm("rating ~ temp + contact + (1 | judge)", wine, engine="fast")
    table = fit.tidy().to_pandas().set_index("term")
    assert table.loc[["tempwarm", "contactyes"], "estimate"].tolist() == pytest.approx([3.062996, 1.834885], rel=2e-4)
    assert table.loc[["tempwarm", "contactyes"], "std_error"].tolist() == pytest.approx([0.595380, 0.512532], rel=2e-4)
    cutpoints = [-1.623667, 1.513365, 4.228526, 6.088772]
    assert table.loc[["1|2", "2|3", "3|4", "4|5"], "estimate"].tolist() == pytest.approx(cutpoints, rel=2e-4)
    assert fit.varcorr()["variance"].to_pylist() == pytest.approx([1.279461], rel=1e-3)
    assert fit.estimates.loglik == pytest.approx(-81.565409, abs=1e-4)
    assert fit.p_value("contactyes") == pytest.approx(0.0003435268, rel=3e-3)


def test_wine_probit(wine: pd.DataFrame) -> None:
    fit = ob.clmm("rating ~ temp + contact + (1 | judge)", wine, link="probit", engine="fast")
    assert fit.estimates.estimate[4:].tolist() == pytest.approx([1.800014, 1.048205], rel=2e-4)
    assert fit.estimates.loglik == pytest.approx(-80.930607, abs=1e-4)


def test_wine_without_random_effects(wine: pd.DataFrame) -> None:
    fit = ob.clm("rating ~ temp * contact", wine, engine="fast")
    assert fit.estimates.estimate[4:].tolist() == pytest.approx([2.3211843, 1.3474604, 0.3595489], abs=1e-7)
    assert fit.estimates.std_error[4:].tolist() == pytest.approx([0.7009479, 0.6603557, 0.9238188], abs=1e-7)


def test_sleepstudy(tmp_path: Path) -> None:
    from ordbridge.bridge import rscript
    from ordbridge.bridge.session import r_folder

    file = tmp_path / "sleepstudy.csv"
    rscript.run(r_folder() / "baseline.R", "--export", "lme4::sleepstudy", file)
    fit = ob.lmer("Reaction ~ Days + (Days | Subject)", file, engine="fast")
    days = fit.tidy().to_pandas().set_index("term").loc["Days"]
    assert days["df"] == pytest.approx(17.0, rel=1e-4)
    assert days["statistic"] == pytest.approx(6.7715, abs=1e-4)
    assert days["p_value"] == pytest.approx(3.264e-6, rel=2e-4)
