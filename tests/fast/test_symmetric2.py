"""Thresholds symmetric about zero, for comparisons of pairs: R's numbers, and those of programs for paired comparisons."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ordbridge as ob

pytestmark = pytest.mark.filterwarnings("ignore::ordbridge.ConvergenceWarning")
FIXED = "xB + xC + xD"
RATER, ITEM = f"(0 + {FIXED} | rater)", f"(0 + {FIXED} | item)"


@pytest.fixture(scope="module")
def pairs(shared: Path) -> pd.DataFrame:
    return pd.read_csv(shared / "reference" / "preferences" / "simulated_pairs.csv")


@pytest.fixture(scope="module")
def reference(shared: Path) -> pd.DataFrame:
    return pd.read_csv(shared / "reference" / "preferences" / "simulated_reference.csv", index_col="model")


def agrees(fit: ob.Fit, row: pd.Series, within: float) -> None:
    words = str(row["estimates"]).split()
    assert fit.estimates.loglik == pytest.approx(row["loglik"], abs=1e-6)
    assert list(fit.estimates.terms) == words[::2]
    assert list(fit.estimates.estimate) == pytest.approx([float(word) for word in words[1::2]], abs=within)


@pytest.mark.parametrize("response", ["y3", "y4", "y5"])
def test_clm_as_in_r(response: str, pairs: pd.DataFrame, reference: pd.DataFrame) -> None:
    fit = ob.clm(f"{response} ~ {FIXED}", pairs, threshold="symmetric2", engine="fast")
    agrees(fit, reference.loc[f"clm {response} symmetric2"], 1e-6)
    assert fit.estimates.cutpoints == pytest.approx(-fit.estimates.cutpoints[::-1])


def test_two_categories_are_bradley_and_terry(pairs: pd.DataFrame, reference: pd.DataFrame) -> None:
    """Without a threshold, which R's clm refuses; BradleyTerry2, glm, choix and evalica agree on the numbers."""
    fit = ob.clm(f"y2 ~ {FIXED}", pairs, threshold="symmetric2", engine="fast")
    agrees(fit, reference.loc["BT y2 no position"], 1e-7)
    assert fit.estimates.cutpoints.tolist() == [0.0]


def test_nothing_to_estimate(pairs: pd.DataFrame) -> None:
    """Two categories and no predictor: half of the choices each, whatever was chosen."""
    fit = ob.clm("y2 ~ 1", pairs, threshold="symmetric2", engine="fast")
    assert fit.estimates.loglik == pytest.approx(len(pairs) * np.log(0.5)) and not fit.estimates.terms
    assert fit.converged and fit.glance()["edf"][0].as_py() == 0
    mixed = ob.clmm("y2 ~ 1 + (0 + xB | rater)", pairs, threshold="symmetric2", engine="fast")
    assert mixed.estimates.loglik > fit.estimates.loglik and not mixed.estimates.terms


def test_clmm_as_in_r(pairs: pd.DataFrame, reference: pd.DataFrame) -> None:
    one = ob.clmm(f"y5 ~ {FIXED} + {RATER}", pairs, threshold="symmetric2", engine="fast")
    agrees(one, reference.loc["clmm y5 symmetric2 (0+xB+xC+xD|rater)"], 1e-4)
    two = ob.clmm(f"y3 ~ {FIXED} + {RATER} + {ITEM}", pairs, threshold="symmetric2", engine="fast")
    agrees(two, reference.loc["clmm y3 symmetric2 rater and item"], 1e-4)


def test_two_categories_with_random_effects_are_those_of_mirrored_rows(pairs: pd.DataFrame) -> None:
    """Every row twice, the second time the other way round, each with half a weight: the flexible threshold is zero."""
    formula = f"y2 ~ {FIXED} + {RATER}"
    turned = pairs.assign(y2=3 - pairs["y2"], **{x: -pairs[x] for x in ("xA", "xB", "xC", "xD")})
    both = pd.concat([pairs, turned]).assign(w=0.5)
    mirrored = ob.clmm(formula, both, weights="w", engine="fast").estimates
    fit = ob.clmm(formula, pairs, threshold="symmetric2", engine="fast").estimates
    assert fit.loglik == pytest.approx(mirrored.loglik, abs=1e-6)
    assert fit.estimate == pytest.approx(mirrored.estimate[1:], abs=1e-5)
    assert fit.std_error == pytest.approx(mirrored.std_error[1:], abs=1e-4)
    assert np.isfinite(fit.std_error).all()


@pytest.mark.needs_r
@pytest.mark.slow
def test_standard_errors_as_in_r(pairs: pd.DataFrame) -> None:
    formula = f"y4 ~ {FIXED} + (1 | rater) + (1 | item)"
    ours, theirs = (
        ob.clmm(formula, pairs, threshold="symmetric2", engine=engine).estimates for engine in ("fast", "r")
    )
    assert ours.loglik == pytest.approx(theirs.loglik, abs=1e-6)
    assert ours.std_error == pytest.approx(theirs.std_error, rel=1e-3)
    assert list(ours.terms) == list(theirs.terms)
