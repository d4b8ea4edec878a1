"""Many systems: which test decides, clusters, a terminal of 25 lines, and what a repetition would find."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ordbridge as ob
from ordbridge.comparison.points import WIDER, spreads
from ordbridge.planning.stability import stability_of
from ordbridge.render import terminal
from ordbridge.simulate import Truth
from ordbridge.support.ranks import best_probabilities, clusters, planned_stability, ranking_stability


def study(systems: int, people: int = 6, items: int = 10, step: float = 0.5, seed: int = 1, wide: float = 1.0):
    """Crossed ratings of systems ``step`` apart; the last one varies ``wide`` times as much."""
    random = np.random.default_rng([12, seed])
    p, i, s = (one.ravel() for one in np.indices((people, items, systems)))
    sd = np.where(s == systems - 1, wide, 1.0)
    rating = 50 + 10 * (step * s + random.normal(0, 0.4, people)[p] + sd * random.normal(0, 0.6, len(s)))
    names = {"participant": [f"p{k}" for k in p], "item": [f"i{k}" for k in i], "system": [f"s{k:02d}" for k in s]}
    return pd.DataFrame({**names, "rating": rating.round(1)})


def test_in_the_mushra_file_301_of_552_pairs_differ(shared: Path) -> None:
    """Those of lme4's model of all systems after Holm's correction over both criteria; without item × system 423."""
    file = shared / "data" / "real" / "cvssp_ratings.csv"
    if not file.exists():
        pytest.skip("the real files are not here")
    ratings = ob.read(file, item="page", system="sound", criterion="experiment")
    found = ob.compare(ratings, engine="fast", model="lmer")
    p = found.pairs["p_adjusted"].to_numpy()
    assert (len(p), int((p < 0.05).sum())) == (552, 301)
    without = "rating ~ system + (1 | participant) + (1 | participant:system) + (1 | item)"
    without_the_term = ob.compare(ratings, engine="fast", model="lmer", formula=without)
    p = without_the_term.pairs["p_adjusted"].to_numpy()
    assert (len(p), int((p < 0.05).sum())) == (552, 423)
    for width in (80, 120, 200):
        assert len(terminal.text(found, width=width).splitlines()) <= 25
    shown = str(found)
    assert "4 to 15" in shown and "more cautions and notes: --details" in shown
    assert len(terminal.text(found, details=True).splitlines()) > 100


@pytest.mark.slow
def test_a_pair_that_spreads_more_than_others_has_its_own_model_too() -> None:
    data = study(6, wide=6.0, step=0.0)
    codes = {name: pd.factorize(data[name], sort=True)[0] for name in ("participant", "item", "system")}
    spread = spreads(data.rating.to_numpy(), codes.pop("system"), codes)
    assert (spread[5] + spread[:5]).min() / 2 > WIDER * spread.mean() > spread[:5].max()
    found = {(row["system_a"], row["system_b"]): row for row in ob.compare(
        data, engine="fast", model="lmer", force=True).pairs.to_pylist()}  # fmt: skip
    joint = ob.lmer(
        "rating ~ system + (1 | participant) + (1 | participant:system) + (1 | item) + (1 | item:system)",
        data, engine="fast").means("system", adjust="none").differences.to_pylist()  # fmt: skip
    for row in joint:
        a, b = row["system_a"], row["system_b"]
        own = found.get((a, b)) or found[b, a]
        if "s05" in (a, b):
            assert own["p_value"] >= row["p_value"] * (1 - 1e-6)
        else:
            assert own["p_value"] == pytest.approx(row["p_value"], rel=1e-4)
    assert any(("s05" in key) and one["std_error"] > 1.2 * joint[0]["std_error"] for key, one in found.items())


@pytest.mark.slow
@pytest.mark.parametrize(("systems", "criteria"), [(8, 4), (12, 1), (12, 3), (13, 1), (20, 4), (20, 6), (30, 2)])
def test_at_most_25_lines_however_many_systems(systems: int, criteria: int) -> None:
    table = study(systems, people=4, items=5, step=0.2)
    names = [f"criterion_{k}" for k in range(criteria)]
    for k, name in enumerate(names):
        table[name] = study(systems, people=4, items=5, step=0.2, seed=k).rating
    ratings = ob.read(table.drop(columns="rating"), rating=names)
    found = ob.compare(ratings, engine="fast", model="lmer", force=True)
    text = terminal.text(found, width=80, more="--pairs  --explain (8 notes)  --html report.html")
    assert len(text.splitlines()) <= 25, text


@pytest.mark.slow
def test_sixty_systems_fit_on_a_terminal_and_in_a_picture() -> None:
    found = ob.compare(study(60, people=4, items=5, step=0.1), engine="fast", model="lmer")
    for width in (80, 200):
        text = terminal.text(found, width=width)
        assert len(text.splitlines()) <= 25 and "systems" in text and "more columns" not in text
    places = [row["cluster"] for row in found.ranking.to_pylist()]
    assert places == sorted(places) and 1 < max(places) < 60
    assert found.pairs.num_rows == 1770
    picture = found.plot()
    assert len(picture.axes[0].get_yticklabels()) == 60 and picture.get_size_inches()[1] < 16
    labels = [text.get_text() for text in picture.axes[0].texts]
    assert sum("–" in label or label.split()[-1].isdigit() for label in labels) >= 60


def test_a_cluster_has_those_that_are_not_below_its_best() -> None:
    better = [("a", "c"), ("a", "d"), ("b", "d"), ("c", "e")]
    assert clusters(list("abcde"), better) == [["a", "b"], ["c", "d"], ["e"]]
    assert clusters(list("abc"), []) == [["a", "b", "c"]]


def test_a_repetition_agrees_as_often_as_it_is_said_to() -> None:
    """Normal estimates of three systems whose true means are drawn anew: the mean prediction is the share found."""
    random = np.random.default_rng(4)
    predicted, agreed = [], []
    for _ in range(300):
        true = random.normal(0, 10 ** random.uniform(-0.5, 0.6), 3)
        first, second = true + random.normal(size=3), true + random.normal(size=3)
        predicted.append(ranking_stability(first, np.eye(3), np.inf, []).same_order)
        agreed.append(np.array_equal(np.argsort(first), np.argsort(second)))
    assert np.mean(predicted) == pytest.approx(np.mean(agreed), abs=0.08)  # three standard errors
    least = ranking_stability(np.array([0.2, 0.1, 0.0]), np.eye(3), np.inf, []).same_order
    assert 1 / 6 < least < 0.35 and ranking_stability(np.zeros(2), np.full((2, 2), np.nan), 5, []) is None


def test_planned_stability_is_that_of_two_normal_studies() -> None:
    """Two systems 1 apart with a standard error of √(2 · .25): both studies agree in Φ(√2)² + Φ(−√2)²."""
    from scipy.stats import norm

    found = planned_stability(np.array([0.0, 1.0]), np.eye(2) * 0.25)
    right = norm.cdf(np.sqrt(2))
    assert found.same_order == pytest.approx(right**2 + (1 - right) ** 2, abs=0.012)
    assert found.same_best == found.same_order and found.stable_ranking == pytest.approx(right, abs=0.02)
    truth = Truth(effects=(0.2, 0.5), thresholds=(-1, 0, 1), participant_sd=(0.4, 0.1, 0.1), item_sd=(0.4, 0.2, 0.2))
    small, large = (stability_of(truth, items, 2, 20) for items in (20, 300))
    assert small.same_order < large.same_order and large.same_order > 0.9


@pytest.mark.slow
def test_a_plan_says_how_stable_its_ranking_is() -> None:
    from ordbridge.planning import Designs, PlannedAnalysis, Simulation

    truth = Truth(effects=(0.8, 1.6), thresholds=(-1, 0, 1), participant_sd=(0.4, 0.1, 0.1), item_sd=(0.4, 0.2, 0.2))
    plan = ob.plan(
        truth,
        analysis=PlannedAnalysis(model="lmer", test="pairs"),
        designs=Designs(items=[60], ratings_per_text=2),
        simulation=Simulation(engine="fast", max_per_design=20, null_datasets=0, calibrate=False),
    )
    (row,) = plan.options.to_pylist()
    assert 0.9 < row["same_order"] <= 1 and 0.9 < row["stable_ranking"] <= 1 and "rank all 3 systems alike" in str(plan)


def test_the_last_bits_of_an_estimate_do_not_draw_other_numbers() -> None:
    """Signs of eigenvectors, and axes of equal variances, are free; no probability depends on them."""
    mean, covariance = np.array([0.3, 0.2, 0.1, 0.0]), 0.02 * (np.eye(4) + 0.5)
    nudge = 1e-13 * np.random.default_rng(3).normal(size=(4, 4))
    other = covariance + nudge + nudge.T
    pairs = [(0, 3)]
    assert best_probabilities(mean, covariance, 20.0) == pytest.approx(best_probabilities(mean, other, 20.0), abs=2e-4)
    one, two = (ranking_stability(mean, its, 20.0, pairs) for its in (covariance, other))
    assert one is not None and two is not None and one.same_order == pytest.approx(two.same_order, abs=2e-4)
    assert planned_stability(mean, covariance).same_order == pytest.approx(
        planned_stability(mean, other).same_order, abs=2e-4
    )
