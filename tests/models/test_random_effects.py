"""Nested and uncorrelated random effects: written out as lme4 writes them, for every mixed model and both engines."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import ordbridge as ob
from ordbridge.bridge import rscript
from ordbridge.formula import expand_bars, parse

pytestmark = pytest.mark.needs_r

EXPANDED = [
    "(x || g)",
    "(0 + x + 1 || g)",
    "(x - 1 || g)",
    "(x * z || a/b)",
    "(x || a/b/c)",
    "(1 | a/b)",
    "(x + z | a:b)",
    "(x:z + w || a:b)",
    "(0 + x || g)",
    "(x * z - x || g)",
]
FINDBARS = """
bars <- function(text) sapply(lme4::findbars(as.formula(paste("y ~", text))), deparse1)
for (text in commandArgs(TRUE)) cat(bars(text), "\\n", sep = ";")
"""


def test_bars_are_expanded_as_lme4_does() -> None:
    """lme4's findbars expands both; names here are harmless."""
    lines = rscript.run("-e", FINDBARS, *EXPANDED).splitlines()
    for text, line in zip(EXPANDED, lines, strict=True):
        ours = [str(bar)[1:-1] for bar in expand_bars(parse(f"y ~ 1 + {text}").random)]
        assert ours == [bar.replace("(", "").replace(")", "") for bar in line.split(";") if bar], text


@pytest.fixture(scope="module")
def nested() -> pd.DataFrame:
    random = np.random.default_rng(7)
    school, pupil = (index.ravel() for index in np.meshgrid(range(6), range(5), indexing="ij"))
    school, pupil = np.repeat(school, 8), np.repeat(pupil, 8)
    x, w = random.normal(size=(2, school.size))
    latent = 0.5 * x + random.normal(size=6)[school] + 0.7 * random.normal(size=30)[school * 5 + pupil]
    latent = latent + 0.5 * random.normal(size=6)[school] * x + random.normal(size=school.size)
    rating = 1 + (latent[:, None] > [-1.5, -0.3, 0.6, 1.7]).sum(axis=1)
    return pd.DataFrame({"school": school, "pupil": pupil, "x": x, "w": w, "z": latent, "rating": rating})


@pytest.mark.parametrize("terms", ["(1 | school/pupil)", "(x || school)", "(0 + x + 1 || school)"])
def test_both_engines_and_the_long_form_agree(terms: str, nested: pd.DataFrame) -> None:
    """clmm has neither in R, but what they stand for."""
    long = " + ".join(map(str, expand_bars(parse(f"y ~ 1 + {terms}").random)))
    for model, response in ((ob.clmm, "rating"), (ob.lmer, "z")):
        short, written, native = (
            model(f"{response} ~ x + {text}", nested, engine=engine)
            for text, engine in ((terms, "r"), (long, "r"), (terms, "fast"))
        )
        assert short.tidy().equals(written.tidy())
        assert short.varcorr().select(["group", "term"]).equals(native.varcorr().select(["group", "term"]))
        # R's searches stop within 1e-4 of the optimum
        np.testing.assert_allclose(native.estimates.estimate, short.estimates.estimate, rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(native.varcorr()["sd"], short.varcorr()["sd"], rtol=1e-2)


ATOM = st.sampled_from(["x", "w", "x:w", "x * w", "I(x^2)", "scale(x)", "0", "1"])
INSIDE = st.lists(ATOM, min_size=1, max_size=3).map(" + ".join)
BAR = st.builds("({} {} {})".format, INSIDE, st.sampled_from(["|", "||"]), st.sampled_from(["school", "pupil:school"]))


@settings(max_examples=25, deadline=None)
@given(terms=BAR, fixed=INSIDE)
@example(terms="(I(x^2) + w | school)", fixed="w")  # lme4 stops short here
def test_random_formulas_have_the_same_terms_and_predictions(terms: str, fixed: str, nested: pd.DataFrame) -> None:
    formula = f"z ~ {fixed} + 1 + {terms}"
    try:
        fits = [ob.lmer(formula, nested, engine=engine) for engine in ("r", "fast")]
    except ob.InputError:
        return  # nothing random in the bar, or too much of it: refused alike before any engine
    r, native = fits
    assert r.estimates.terms == native.estimates.terms
    assert [(t.group, t.terms, t.levels) for t in r.estimates.random] == [
        (t.group, t.terms, t.levels) for t in native.estimates.random
    ]
    assert native.loglik > r.loglik - 1e-3
    if native.loglik > r.loglik + 0.01:
        return  # lme4 has stopped short, as the second opinion on its fit says: other numbers, other predictions
    new = nested.head(7)
    for kind in ("population", "conditional"):
        ours, theirs = (fit.predict(new, kind=kind)["mean"].to_numpy() for fit in (native, r))
        np.testing.assert_allclose(ours, theirs, atol=0.05)
