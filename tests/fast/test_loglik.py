"""The highest log likelihood alone is that of the whole fit, for every model, link and kind of thresholds."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from simulated_studies import Study, studies

import ordbridge as ob
from ordbridge import fast
from ordbridge.errors import FitError
from ordbridge.models.prepare import prepare

DEFAULTS = {
    "clm": {"link": "logit", "threshold": "flexible"},
    "clmm": {"link": "logit", "threshold": "flexible", "nAGQ": 1},
    "lm": {},
    "lmer": {"REML": True, "ddf": "Satterthwaite"},
}


def problem_of(study: Study):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return prepare(study.model, study.formula, study.table, **DEFAULTS[study.model] | study.options)


@pytest.mark.slow
def test_of_two_hundred_small_studies():
    """To 1e-7: a fit takes one more Newton step than a search that has converged."""
    off = {}
    for study in studies():
        problem = problem_of(study)
        difference = fast.loglik(problem) - fast.fit(problem).loglik
        if not abs(difference) < 1e-7:
            off[study.name] = difference
    assert off == {}


def test_quadrature():
    data = {"y": [1, 2, 2, 3, 1, 3, 2, 3, 1, 1], "x": [0, 1] * 5, "g": list("aabbccddee")}
    problem = prepare("clmm", "y ~ x + (1 | g)", data, link="logit", threshold="flexible", nAGQ=7)
    assert fast.loglik(problem) == pytest.approx(fast.fit(problem).loglik, abs=1e-7)


def test_what_cannot_be_fitted_says_so_in_the_same_words():
    data = {"y": np.ones(12), "x": [0, 1] * 6, "g": list("aabbccddeeff")}
    problem = prepare("lmer", "y ~ x + (1 | g)", data, REML=False, ddf="Satterthwaite")
    with pytest.raises(FitError) as said:
        fast.loglik(problem)
    with pytest.raises(FitError, match="is 1 in every row") as of_fit:
        fast.fit(problem)
    assert str(said.value) == str(of_fit.value)


def test_a_bootstrap_fits_no_more_than_it_needs(monkeypatch):
    """Its draws ask for likelihoods only."""
    random = np.random.default_rng(1)
    data = {"y": random.integers(1, 4, 60), "x": [0, 1] * 30, "g": np.repeat(list("abcdef"), 10)}
    fit = ob.clmm("y ~ x + (1 | g)", data, engine="fast")
    fits = []
    original = fast.fit
    monkeypatch.setattr(fast, "fit", lambda problem, near=None: fits.append(problem) or original(problem, near))
    fit.test("x", "bootstrap", draws=30)
    assert len(fits) == 2  # both models on the data


@pytest.mark.parametrize("model", ["clm", "clmm"])
def test_likelihood_ratio_of_a_profile_is_that_of_two_fits(model):
    """A held contrast and a smaller model have one optimum: found from the larger one, and from a start of its own."""
    random = np.random.default_rng(8)
    rater, item = (index.ravel() for index in np.indices((12, 24)))
    system = (rater + item) % 4
    latent = 0.4 * system + random.normal(0, 0.7, 12)[rater] + random.normal(0, 0.6, 24)[item] + random.normal(size=288)
    data = {
        "y": 1 + (latent[:, None] > [-0.6, 0.4, 1.3]).sum(axis=1), "system": [f"s{k}" for k in system],
        "rater": rater, "item": item,
    }  # fmt: skip
    groups = " + (1 | rater) + (1 | item)" if model == "clmm" else ""
    fit = getattr(ob, model)(f"y ~ system{groups}", data, link="probit", engine="fast")
    profile = fast.engine.profile(fit.problem)
    for contrast in ({"systems1": 1.0}, {"systems3": 1.0, "systems1": -1.0}, {"systems3": 1.0, "systems2": -1.0}):
        weights = [contrast.get(one.term, 0.0) if one.effect == "fixed" else 0.0 for one in profile.quantities]
        wanted = fit.test(contrast, method="lrt").to_pylist()[0]["statistic"]
        assert profile.ratio(weights) == pytest.approx(wanted, rel=1e-6, abs=1e-6)
