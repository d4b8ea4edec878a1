"""Likelihoods with several optima: the search looks at more than one, and never calls a worse one good."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import ordbridge as ob

pytestmark = pytest.mark.filterwarnings("ignore::ordbridge.ConvergenceWarning")


@pytest.mark.parametrize(
    ("categories", "raters", "seed", "link", "reached"),
    [
        (2, 2, 2, "probit", -33.1923),
        (3, 5, 2, "probit", -73.4024),
        (5, 3, 4, "logit", -92.1539),
        (5, 5, 4, "logit", -97.1972),
    ],
)
def test_one_disagreement_among_unanimous_texts(
    categories: int, raters: int, seed: int, link: str, reached: float
) -> None:
    """The likelihoods are the best of eight starts; 0.1.0 ended up to 7 below them, and said that it had converged."""
    random = np.random.default_rng(seed)
    text = np.repeat(np.arange(40), raters)
    rating = random.integers(1, categories + 1, 40)[text]
    rating[:2] = 1, categories
    data = pd.DataFrame({"rating": rating, "system": np.where(text % 2, "B", "A"), "item": text})
    fit = ob.clmm("rating ~ system + (1 | item)", data, link=link, engine="fast")
    assert fit.estimates.loglik > reached - 1e-3


def cauchy_study(seed: int) -> pd.DataFrame:
    random = np.random.default_rng([9, seed])
    g, h = np.repeat(np.arange(10), 12), np.tile(np.arange(12), 10)
    x = random.normal(size=120)
    latent = 0.5 * x + random.choice([0.3, 1, 3]) * random.normal(size=10)[g] + 0.5 * random.normal(size=12)[h]
    latent += random.standard_cauchy(120) * random.choice([0.3, 1.0])
    cuts = np.quantile(latent, np.linspace(0, 1, random.integers(2, 6) + 1)[1:-1])
    return pd.DataFrame({"y": 1 + (latent[:, None] > cuts).sum(axis=1), "x": x, "g": g, "h": h})


def test_a_larger_cauchit_model_is_not_below_a_smaller_one_without_a_word() -> None:
    nested = (("x + (1 | g)", "x + (1 | g) + (1 | h)"), ("x + (1 | g)", "x + (x | g)"))
    compared = 0
    for seed in range(12):
        data = cauchy_study(seed)
        for smaller, larger in nested:
            try:
                small, large = (ob.clmm(f"y ~ {t}", data, link="cauchit", engine="fast") for t in (smaller, larger))
            except ob.FitError as error:
                assert "use fewer random effects or another link" in str(error)
                continue
            assert np.isfinite([small.estimates.loglik, large.estimates.loglik]).all()
            if small.converged and large.converged:
                compared += 1
                assert large.estimates.loglik > small.estimates.loglik - 1e-4
    assert compared > 12


@pytest.mark.parametrize("seed", [21, 60, 176])
def test_modes_that_vanish_nearby_end_in_a_sentence(seed: int) -> None:
    """Differences of the gradient then are not numbers; their eigenvalues used to be asked for."""
    random = np.random.default_rng([99, seed])
    people, items = random.integers(5, 12), random.integers(5, 14)
    p, i = (v.ravel() for v in np.meshgrid(range(people), range(items), indexing="ij"))
    x, s, noise = random.normal(size=p.size), (p + i) % 2, random.standard_cauchy(p.size)
    z = 0.4 * x + 0.3 * s + random.normal(0, random.uniform(0, 2), people)[p]
    z = z + random.normal(0, random.uniform(0, 2), items)[i] + noise
    cuts = np.quantile(z, np.linspace(0, 1, random.integers(2, 6) + 1)[1:-1])
    data = pd.DataFrame({"y": np.digitize(z, cuts), "x": x, "s": s, "p": p, "i": i})
    for terms in ("(1 | p)", "(1 | p) + (1 | i)", "(s | p) + (1 | i)"):
        try:
            fit = ob.clmm(f"y ~ x + s + {terms}", data, link="cauchit", engine="fast")
        except ob.FitError as error:
            assert "use fewer random effects or another link" in str(error)
        else:
            assert np.isfinite(fit.estimates.loglik)


def test_a_far_cauchit_threshold_is_no_separation() -> None:
    """One of 500 ratings lies in the top category: its cut-point is near 500 / pi, known to about its own size."""
    rating = np.array([1] * 250 + [2] * 249 + [3])
    data = pd.DataFrame({"rating": rating, "x": np.random.default_rng(5).normal(size=500)})
    fit = ob.clm("rating ~ x", data, link="cauchit", engine="fast")
    assert fit.estimates.estimate[1] > 100
    assert fit.converged
    assert not any("run away" in c.text for c in fit.estimates.conditions)


def test_separation_is_still_recognised_with_the_cauchit_link() -> None:
    data = pd.DataFrame({"rating": [1] * 30 + [2] * 30, "x": np.linspace(-1, 1, 60)})
    fit = ob.clm("rating ~ x", data, link="cauchit", engine="fast")
    assert not fit.converged
