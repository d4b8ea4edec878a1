"""Numbers published for R's own examples, and the six simulated tables of the power study.

clmm follows a numerical gradient, so its optimum is only found to about 1e-5 of a standard error, and the p-values of
two machines agree to about 1e-4; everything closed-form agrees to the digits that were printed.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import ordbridge as ob
from ordbridge.models import validation

pytestmark = pytest.mark.needs_r


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pd.DataFrame]:
    folder = tmp_path_factory.mktemp("data")
    list(validation.builtin(folder))
    return {file.stem: pd.read_csv(file) for file in folder.glob("*.csv")}


def estimates(fit: ob.Fit) -> dict[str, float]:
    return dict(zip(fit.estimates.terms, fit.estimates.estimate, strict=True))


def test_wine_clmm_logit(wine: pd.DataFrame) -> None:
    fit = ob.clmm("rating ~ temp + contact + (1 | judge)", wine)
    found = estimates(fit)
    expected = {"1|2": -1.623667, "2|3": 1.513365, "3|4": 4.228526, "4|5": 6.088772}
    expected |= {"tempwarm": 3.062996, "contactyes": 1.834885}
    assert found == pytest.approx(expected, abs=5e-6)
    assert fit.estimates.std_error[-2:] == pytest.approx([0.595380, 0.512532], abs=1e-5)
    assert fit.varcorr()["variance"][0].as_py() == pytest.approx(1.279461, abs=2e-5)
    assert fit.estimates.loglik == pytest.approx(-81.565409, abs=1e-6)
    assert fit.p_value("contact") == pytest.approx(0.0003435268, rel=1e-4)


def test_wine_clmm_probit(wine: pd.DataFrame) -> None:
    fit = ob.clmm("rating ~ temp + contact + (1 | judge)", wine, link="probit")
    assert fit.estimates.estimate[-2:] == pytest.approx([1.800014, 1.048205], abs=1e-5)
    assert fit.estimates.loglik == pytest.approx(-80.930607, abs=1e-6)


def test_wine_clmm_quadrature(wine: pd.DataFrame) -> None:
    fit = ob.clmm("rating ~ temp + contact + (1 | judge)", wine, nAGQ=10)
    assert fit.estimates.estimate == pytest.approx([-1.62, 1.51, 4.23, 6.09, 3.06, 1.83], abs=0.0051)
    assert fit.varcorr()["variance"][0].as_py() == pytest.approx(1.29, abs=0.0051)


def test_wine_clm(wine: pd.DataFrame) -> None:
    fit = ob.clm("rating ~ temp * contact", wine)
    assert fit.estimates.estimate[-3:] == pytest.approx([2.3211843, 1.3474604, 0.3595489], abs=1e-7)
    assert fit.estimates.std_error[-3:] == pytest.approx([0.7009479, 0.6603557, 0.9238188], abs=1e-7)


def test_sleepstudy(data: dict[str, pd.DataFrame]) -> None:
    row = ob.lmer("Reaction ~ Days + (Days | Subject)", data["sleepstudy"]).tidy().to_pylist()[1]
    assert row["df"] == pytest.approx(17, abs=1e-3)
    assert row["statistic"] == pytest.approx(6.7715, abs=5e-5)
    assert row["p_value"] == pytest.approx(3.264e-6, rel=2e-4)


def test_carrots(data: dict[str, pd.DataFrame]) -> None:
    """lmerTest's tests of the terms; the published numbers are those of the terms after the first."""
    carrots = data["carrots"].astype({"Frequency": str, "Income": str, "Consumer": str})
    carrots = carrots.replace({"Frequency": {"nan": None}, "Income": {"nan": None}})
    for name in ("Frequency", "Income"):
        carrots[name] = carrots[name].str.replace(".0", "", regex=False)
    fit = ob.lmer("Preference ~ sens2 * Frequency * Income + (1 + sens2 | Consumer)", carrots)
    found = ob.anova(fit)
    assert found["term"].to_pylist()[-1] == "sens2:Frequency:Income"
    expected = [0.15512, 0.06939, 0.08223, 0.52459, 0.03119, 0.48344]
    assert found["p_value"].to_pylist()[1:] == pytest.approx(expected, abs=5.1e-6)


@pytest.mark.parametrize(("cell", "p_value"), [(1, 0.001280557), (3, 0.003071618)])
def test_the_quickest_published_cells(cell: int, p_value: float, shared: Path) -> None:
    """Fifteen to twenty seconds each; the other four are in benchmarks."""
    data = shared / "reference" / "cells" / f"cell{cell}.csv"
    fit = ob.clmm("y ~ model + (model | participant) + (model | item)", data, link="probit")
    assert fit.p_value("model") == pytest.approx(p_value, rel=1e-4)
