"""What a report says first: systems, direction, size and uncertainty, in words for people who rate texts."""

from __future__ import annotations

import re

import numpy as np
import pytest

import ordbridge as ob
from ordbridge.planning import plan
from ordbridge.power import Grid, run
from ordbridge.report import page
from ordbridge.report.manuscript import methods
from ordbridge.simulate import Truth, ratings

TRUTH = Truth(effects=(0.8,), thresholds=(-1, 0, 1), participant_sd=(0.4, 0.0), item_sd=(0.4, 0.0))
DESIGN = {"kind": "counterbalanced", "texts_per_participant": 10}
OPTIONS = re.compile(r"\w+=|\.test\(|--\w")


def said(result: object) -> tuple[str, str]:
    """Return the headline, and all text above the checks."""
    html = page(result, "ordbridge").html().replace("\u00a0", " ").replace("&#x27;", "'")
    above = re.sub("<style>.*?</style>|<svg.*?</svg>", "", html[: html.index("<h2>Checks")], flags=re.DOTALL)
    (headline,) = re.findall("<h1>(.*?)</h1>", html)
    return headline, re.sub("<[^>]*>", " ", above)


@pytest.mark.slow
def test_a_run_of_one_model_names_systems_size_and_study_but_no_model() -> None:
    grid = Grid(truth=TRUTH, design=DESIGN, items=[20, 80], ratings_per_text=2, effect=[0.0, 0.8])
    headline, above = said(run(grid, ["clm"], sims=40, engine="fast"))
    found = re.fullmatch(
        r"A difference of 0\.\d+ points between B and A is found in (\d+) % of studies \((\d+) to (\d+)\) "
        r"with (20|80) items and 2 ratings per text\.",
        headline,
    )
    assert found and int(found[2]) < int(found[1]) <= int(found[3])
    assert "mc error" not in above and "n ok" not in above


@pytest.mark.slow
def test_a_run_of_several_models_says_which_in_words() -> None:
    grid = Grid(truth=TRUTH, design=DESIGN, items=10, ratings_per_text=1, effect=0.1)
    headline, above = said(run(grid, ["lm", "clm"], sims=20, engine="fast"))
    assert headline.endswith("by a linear model (lm).") and " is found in only " in headline
    assert "by an ordinal model (clm)." in above


@pytest.mark.slow
def test_a_run_that_shows_equivalence_does_not_find_a_difference() -> None:
    grid = Grid(truth=TRUTH, design=DESIGN, items=20, ratings_per_text=2, effect=0.0)
    models = {"lm": {"kind": "lm", "goal": "equivalence", "margin": 0.4}}
    headline, _ = said(run(grid, models, sims=20, engine="fast"))
    assert re.match(r"Equivalence of B and A within 0\.4 points is shown in (only )?\d+ % of studies", headline)


@pytest.mark.slow
def test_a_plan_names_what_is_to_be_found_and_its_price() -> None:
    vary = {"items": [20, 60], "ratings_per_text": [2, 3]}
    found = plan(TRUTH, model="clm", vary=vary, texts_per_participant=10, names=["base", "new"], null=0,
                 datasets=800, most=400, cost={"rating": 0.1}, currency="£")  # fmt: skip
    headline, above = said(found)
    assert re.match(r"To find that new is rated 0\.\d+ points higher than base, \d+ items with [23] ratings", headline)
    assert re.search(r"power \d+ % \(\d+ to \d+\), [\d,]+ ratings by \d+ participants, £\d+\.\d\d\.$", headline)
    assert not OPTIONS.search(above)
    assert not OPTIONS.search(methods(found))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ordbridge.errors.StatisticalWarning")
def test_reliability_says_how_much_and_how_sure() -> None:
    headline, above = said(ob.reliability.analyse(ratings(ob.design.crossed(items=20, raters=5), TRUTH, seed=1)))
    assert re.fullmatch(
        r"The raters [^:]*: agreement −?0\.\d\d \(−?0\.\d\d to 0\.\d\d\), "
        r"correlation 0\.\d\d \(−?0\.\d\d to 0\.\d\d\)\.",
        headline,
    )
    assert above.count(headline.partition(":")[0]) == 1  # not said twice
    assert "Look for single raters" in above


@pytest.mark.slow
def test_a_judge_is_compared_with_people_before_any_test_is_named() -> None:
    rng = np.random.default_rng(1)
    true = rng.normal(3, 1, 60)
    seen = np.concatenate([np.clip(np.round(true + rng.normal(scale=0.6, size=60)), 1, 5) for _ in range(4)])
    people = np.repeat(["ann", "bo", "cy", "gpt"], 60)
    found = ob.judges.analyse({"item": np.tile(np.arange(60), 4), "participant": people, "rating": seen}, "gpt")
    headline, _ = said(found)
    assert re.fullmatch(
        r"gpt agrees with people (more than|less than|about as much as) they agree with each other \(difference "
        r"[+−]?0\.\d\d, [+−]?0\.\d\d to [+−]?0\.\d\d\), (and passes|but does not pass|and does not pass|but passes) "
        r"the test for replacing one of them\.",
        headline,
    )
    assert not re.search("[εωρ]", page(found, "ordbridge").html().partition("<svg")[0])  # above the picture


@pytest.mark.slow
def test_a_comparison_has_the_size_and_its_uncertainty_in_the_headline() -> None:
    three = Truth(effects=(0.5, 1.1), thresholds=(-1.5, -0.3, 0.9, 2), participant_sd=(0.6, 0.2, 0.2),
                  item_sd=(0.5, 0.2, 0.2))  # fmt: skip
    study = ratings(ob.design.crossed(items=20, raters=12, systems=3), three, seed=4)
    headline, _ = said(ob.compare(study, engine="fast", test="wald"))
    assert re.fullmatch(
        r"C is rated higher than B and A: \d\.\d\d on the scale from 1 to 5, 0\.\d\d points \(0\.\d\d to 0\.\d\d\) "
        r"ahead of B\.",
        headline,
    )
