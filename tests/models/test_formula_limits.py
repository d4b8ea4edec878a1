"""Formulas without measure: a sentence, before R's stack, Python's or anybody's patience ends."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import ordbridge as ob

RANDOM = np.random.default_rng(1)
ROWS = 40
DATA = {"y": RANDOM.integers(1, 5, ROWS), "x": RANDOM.normal(size=ROWS), "g": RANDOM.integers(0, 6, ROWS)} | {
    f"x{i}": RANDOM.normal(size=ROWS) for i in range(40)
}
MANY = " + ".join(f"x{i % 40}" for i in range(1000))


@pytest.mark.parametrize(
    ("model", "formula", "sentence"),
    [
        ("lm", f"y ~ {MANY}", "mentions at most 300 columns and numbers, and this one 1001"),
        ("lmer", f"y ~ x + ({MANY} | g)", "mentions at most 300"),
        ("lm", "y ~ " + ":".join(["x"] * 2000), "mentions at most 300"),
        ("lm", "y ~ x^100000000", "position 7: '\\^' takes at most 20, not 100000000"),
        ("lm", "y ~ x^" + "9" * 5000, "takes at most 20"),
        ("lm", "y ~ (" + "+".join(f"x{i}" for i in range(40)) + ")^12", "more than 500 terms when written out"),
        ("lm", "y ~ " + "*".join(f"x{i}" for i in range(40)), "more than 500 terms when written out"),
        ("lm", "y ~ 0", "has no fixed effects; write 1 for the mean"),
        ("lmer", "y ~ 0 + (1 | g)", "has no fixed effects; write 1 for the mean"),
    ],
)
@pytest.mark.parametrize("engine", ["r", "fast"])  # refused before either begins
def test_without_measure(engine: str, model: str, formula: str, sentence: str) -> None:
    with pytest.raises(ob.FormulaError, match=sentence):
        getattr(ob, model)(formula, DATA, engine=engine)


@pytest.mark.parametrize("engine", ["r", "fast"])
def test_as_long_as_allowed(engine: str) -> None:
    assert ob.lm("y ~ " + ":".join(["x"] * 299), DATA, engine=engine).estimates.terms == ("(Intercept)", "x")


@pytest.mark.parametrize("engine", ["r", "fast"])
def test_predictions_of_an_ordinal_model_without_an_intercept(engine: str) -> None:
    """The thresholds are its intercept: it predicts what the model with one predicts."""
    data = DATA | {"system": RANDOM.choice(list("abc"), ROWS)}
    without, with_it = (ob.clm(f"y ~ {text}", data, engine=engine).predict() for text in ("0 + system", "system"))
    for name in with_it.column_names:
        assert without[name].to_numpy() == pytest.approx(with_it[name].to_numpy(), abs=1e-6)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("engine", ["r", "fast"])
@pytest.mark.parametrize("response", [[3.0] * ROWS, (2 * DATA["x"]).tolist()])
def test_nothing_left_over_is_said(engine: str, response: list[float]) -> None:
    fit = ob.lm("y ~ x", DATA | {"y": response}, engine=engine)
    assert "essentially perfect fit" in fit.estimates.findings[0].what


@pytest.mark.filterwarnings("ignore")
def test_as_many_coefficients_as_rows_is_said() -> None:
    with pytest.raises(ob.FitError, match="3 complete rows are too few for 3 coefficients"):
        ob.lm("y ~ x + z", {"y": [1, 2, 4], "x": [1, 2, 5], "z": [1, 0, 1]}, engine="fast")


@pytest.mark.needs_r
@pytest.mark.filterwarnings("ignore")
def test_as_many_coefficients_as_rows_is_said_of_r() -> None:
    fit = ob.lm("y ~ x + z", {"y": [1, 2, 4], "x": [1, 2, 5], "z": [1, 0, 1]})
    assert fit.tidy()["p_value"].null_count == 3
    assert fit.estimates.findings, "R's own words or ours"


def test_the_same_response_in_every_row() -> None:
    with pytest.raises(ob.FitError, match=r"the response y is 3\.1 in every row; there is nothing to explain"):
        ob.lmer("y ~ x + (1 | g)", DATA | {"y": [3.1] * ROWS}, engine="fast")


@pytest.mark.parametrize("power", [150, 300])
def test_numbers_beyond_computing(power: int) -> None:
    """A sentence or a condition, and no error of numpy's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            fit = ob.clm("y ~ x", DATA | {"x": DATA["x"] * 10.0**power}, engine="fast")
        except ob.FitError as error:
            assert "rescale" in str(error)
        else:
            assert fit.estimates.findings and not fit.converged


@pytest.mark.parametrize("power", [-300, 160, 300])
def test_a_response_whose_squares_are_beyond_computing(power: int) -> None:
    with pytest.raises(
        ob.FitError, match=r"the squares of the response, up to .* are beyond computing; rescale the response"
    ):
        ob.lm("y ~ x", DATA | {"y": DATA["y"] * 10.0**power}, engine="fast")
