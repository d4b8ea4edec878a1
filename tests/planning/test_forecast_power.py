"""The closed form steers the search, and simulations correct it."""

import time
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from ordbridge.models.inference.adjust import adjusted_p
from ordbridge.planning.candidates import usual_items
from ordbridge.planning.closed_form import preview, sources_of
from ordbridge.planning.criteria import every_criterion, of_criteria
from ordbridge.planning.evidence import Candidate, recommend, verdict
from ordbridge.planning.families import any_power, every_power
from ordbridge.planning.forecast_power import NEAR, forecast_power, predictions, ruled_out
from ordbridge.planning.search import FIRST, search
from ordbridge.planning.undecided import open_below
from ordbridge.power.calibration import adjusted_power, critical_value
from ordbridge.power.models import FORMULAS, Model
from ordbridge.simulate import Truth
from ordbridge.simulate.presets import HOWCROFT2021

LOW = HOWCROFT2021.settings["low"].shift(effect=0.5)
THREE = Truth(effects=(0.3, 0.6), thresholds=(-1, 0, 1), participant_sd=(0.4, 0.2, 0.2), item_sd=(0.5, 0.3, 0.3))


def closed(truth=LOW, kind="clmm", term="systemB", formula=None, texts=25, **more):
    labels = [chr(ord("A") + i) for i in range(truth.systems)]
    return forecast_power(truth, Model(kind, formula or FORMULAS[kind], term, **more), labels, 0.05, texts, True)


def rows_of(*ratings):
    return [[Candidate(m, r, m, 2 * m * r, 2.0 * m * r, 0.5) for m in usual_items(25)] for r in ratings]


def test_without_simulations_it_is_the_preview():
    said = preview(LOW, [50, 100], 3)["adjusted"].to_numpy()
    np.testing.assert_allclose(closed().power(0.5, [50, 100], 3), said)
    half = preview(LOW.shift(effect=0.25), [50, 100], 3)["adjusted"].to_numpy()
    np.testing.assert_allclose(closed().power(0.25, [50, 100], 3), half)


def test_simulations_shift_it_as_far_as_they_are_many():
    before = float(closed().power(0.5, 80, 3))
    few, many = (closed().corrected([(0.5, 80, 3, round(0.6 * n), n)]) for n in (20, 20_000))
    assert float(many.power(0.5, 80, 3)) == pytest.approx(0.6, abs=0.01)
    assert 0.6 < float(few.power(0.5, 80, 3)) < before
    assert float(many.power(0.5, 90, 3)) < float(closed().power(0.5, 90, 3))  # neighbours are corrected, too


@pytest.mark.parametrize(
    "other",
    [
        {"kind": "lm"},
        {"formula": "rating ~ system + (1 | item)"},
        {"texts": None},
        {"goal": "equivalence", "margin": 0.3},
        {"truth": LOW.shift(scale="vas")},
    ],
)
def test_there_is_none_for_what_it_does_not_know(other):
    assert closed(**other) is None


@pytest.mark.parametrize("off", [-0.15, 0.0, 0.15])
@pytest.mark.slow
def test_the_search_simulates_what_the_closed_form_proposes(off):
    """True power is the closed form with an error of four hundredths; three designs are simulated at most."""
    from dataclasses import replace

    true = replace(closed(), shift=off)

    def exact(candidate, n):
        candidate.n = n
        candidate.significant = round(n * float(true.power(0.5, candidate.items, candidate.ratings_per_text)))

    rows = rows_of(2, 3, 5)
    curve = search(rows, exact, target=0.8, alpha=0.05, budget=1000, most=500, closed=closed())
    seen = [c for row in rows for c in row if c.n]
    best = recommend("designs", rows, 0.8)
    assert len(seen) <= 3 and min(c.n for c in seen) >= FIRST
    assert verdict(best, rows, 0.8) == "reaches"
    smallest = min(c.price for row in rows for c in row if true.power(0.5, c.items, c.ratings_per_text) >= 0.8)
    assert best.price <= 1.35 * smallest
    assert abs(predictions(curve, [best])[0] - best.power) < 0.04


def test_designs_far_below_the_target_are_neither_simulated_nor_called_undecided():
    def exact(candidate, n):
        candidate.n = n
        candidate.significant = round(n * float(closed().power(0.5, candidate.items, candidate.ratings_per_text)))

    rows = rows_of(2, 3)
    curve = search(rows, exact, target=0.8, alpha=0.05, budget=1000, most=500, closed=closed())
    undecided = open_below("designs", recommend("designs", rows, 0.8), rows, 0.8, curve)
    powers = predictions(curve, undecided)
    assert undecided and min(powers) >= 0.8 - NEAR
    hopeless = rows[0][0]
    assert ruled_out(curve, [hopeless], 0.8) == [True] and not hopeless.n
    faint = [Candidate(m, 2, m, 4 * m, 4.0 * m, 0.02) for m in usual_items(25)]
    search([faint], exact, target=0.8, alpha=0.05, budget=1000, most=500, closed=closed())
    assert not any(c.n for c in faint)


def test_the_default_grid_is_fine_everywhere():
    items = np.array(usual_items(25))
    assert items[0] == 25 and items[-1] == 500
    assert (np.diff(items) / items[:-1]).max() <= 0.051


def test_a_whole_grid_takes_less_than_50_milliseconds():
    items = np.array(usual_items(25))[:, None]
    for model in ("clmm", "lmer"):
        preview(LOW, items, [2, 3, 5, 10], model=model)
        took = []
        for _ in range(5):
            begun = time.process_time()
            preview(LOW, items, [2, 3, 5, 10], model=model)
            took.append(time.process_time() - begun)
        assert min(took) < 0.05 * 3, took  # three times that on a machine with other work


def test_any_difference_of_two_systems_is_their_test():
    """With two systems χ² with one df is the two-sided z test."""
    sources = sources_of(LOW)
    m, r, raters, left = (np.array([v], dtype=float) for v in (60, 3, 15, 1))
    difference, of_raters, of_items, noise = sources.of_pair(0, 1)
    z = difference / np.sqrt(of_raters / 15 + of_items / 60 + noise / 180)
    exact = norm.sf(1.959964 - z) + norm.sf(1.959964 + z)
    assert any_power(sources, m, r, raters, left, 0.05)[0] == pytest.approx(exact, abs=1e-6)
    assert every_power(sources, [(0, 1)], m, r, raters, left, 0.05)[0] == pytest.approx(exact, abs=0.03)


def test_every_pair_is_holms_procedure_on_normal_means():
    sources = sources_of(THREE)
    pairs = [(0, 1), (0, 2), (1, 2)]
    m, r, raters, left = (np.array([v], dtype=float) for v in (80, 3, 29, 1))
    covariance = sources.raters / 29 + sources.items / 80 + np.diag(sources.residual) / 240
    means = np.random.default_rng(5).multivariate_normal(sources.location, covariance, 4000)
    found = 0
    for mean in means:
        z = [abs(mean[j] - mean[i]) / np.sqrt(covariance[i, i] + covariance[j, j] - 2 * covariance[i, j])
             for i, j in pairs]  # fmt: skip
        found += max(adjusted_p(2 * norm.sf(z), "holm")) < 0.05
    assert every_power(sources, pairs, m, r, raters, left, 0.05)[0] == pytest.approx(found / 4000, abs=0.04)


def test_criteria_have_the_correlation_that_is_assumed_and_keep_their_distribution():
    rng = np.random.default_rng(1)
    z = rng.standard_normal(4000) + 2.8
    p = 2 * norm.sf(abs(z))
    independent, tied = (of_criteria(p, 2, rho, differ=True) for rho in (0.0, 1.0))
    at = [(p < level).mean() for level in (0.05, 0.025)]
    both = at[1] ** 2 + 2 * at[1] * (at[0] - at[1])  # one below .025, the other below .05
    assert (independent < 0.05).mean() == pytest.approx(both, abs=0.02)
    assert (tied < 0.05).mean() == pytest.approx(at[1], abs=0.005)
    assert every_criterion(np.array([at[0]]), 2, 0.0, 0.05)[0] == pytest.approx(both, abs=0.03)
    null = of_criteria(rng.uniform(size=4000), 3, 0.0, differ=False)
    assert (null < 0.05).mean() == pytest.approx(0.05, abs=0.012)
    assert of_criteria(p, 1, 0.5, differ=True) is p


@pytest.mark.slow
def test_there_is_an_answer_although_the_closed_form_is_too_optimistic():
    """Tests of known power stand for fits: 20 plans, each with critical values from its own datasets at no effect."""
    true = replace(closed(), shift=-0.1)
    for seed in range(20):
        random, rows, drawn = np.random.default_rng(seed), rows_of(2, 3), {}

        def power(c):
            return float(true.power(c.effect, [c.items], [c.ratings_per_text])[0])

        def look(c, n, random=random, drawn=drawn):
            if id(c) not in drawn:
                shift = norm.ppf(power(c)) + norm.isf(0.025)
                drawn[id(c)] = [2 * norm.sf(abs(random.normal(mean, 1, k))) for mean, k in ((shift, 500), (0, 800))]
            p, null = drawn[id(c)]
            found = adjusted_power(p[:n], critical_value(null[: 2 * n], 0.05))
            c.n, c.significant, c.weight = n, found.significant, found.weight

        search(rows, look, target=0.8, alpha=0.05, budget=1000, most=500, closed=closed())
        best = recommend("designs", rows, 0.8)
        assert best is not None and power(best) > 0.79, seed


@pytest.mark.parametrize(("first_half", "datasets"), [(83, 100), (91, 200)])
def test_the_second_half_is_not_simulated_where_it_would_hardly_decide(first_half, datasets):
    """With at most 200 datasets of a design, which are slow then; what is left goes to a larger design, all of it."""
    rows, most, order = rows_of(2), 200, []

    def lucky(candidate, n):
        order.append((candidate, n))
        share = first_half / 100 if candidate is order[0][0] else 0.93
        candidate.n, candidate.significant = n, round(share * n)

    search(rows, lucky, target=0.8, alpha=0.05, budget=400, most=most, closed=closed())
    first = order[0][0]
    assert order[0][1] == 100 and first.n == datasets
    others = [c for row in rows for c in row if c.n and c is not first]
    assert all(c.n == most for c in others)
    if datasets == 100:
        assert recommend("designs", rows, 0.8).items > first.items
