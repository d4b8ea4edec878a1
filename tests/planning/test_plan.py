"""Plans: against formulas where there are some, repeatable, resumable, honest about what was not decided."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from planned_studies import planned

import ordbridge as ob
from ordbridge.design import counterbalanced
from ordbridge.errors import InputError, StatisticalWarning
from ordbridge.planning.evidence import Candidate, recommend, verdict
from ordbridge.planning.forecast_time import forecast_time, rehearse
from ordbridge.planning.hypotheses import Simulations, _p_values, hypothesis
from ordbridge.planning.search import search
from ordbridge.power.worker import FitTask
from ordbridge.simulate import Truth, ratings

NORMAL = Truth(effects=(0.3,), scale="interval")  # independent normal ratings: lm is the t test, with known power
OPTIONS = {"model": "lm", "texts_per_participant": 10, "seed": 3, "calibrate": False}
MIXED = "rating ~ system + (1 | participant) + (1 | item)"
MIXED_TRUTH = Truth(effects=(0.4,), scale="interval", participant_sd=(0.5, 0.0), item_sd=(0.5, 0.0))
DESIGN = {"kind": "counterbalanced", "texts_per_participant": 10}


def t_test_power(effect, n):
    from statsmodels.stats.power import TTestIndPower

    return TTestIndPower().power(effect, nobs1=n, alpha=0.05)


@pytest.mark.slow
def test_the_recommended_design_is_the_smallest_that_reaches_the_target():
    vary = {"items": list(range(20, 161, 20)), "ratings_per_text": [1, 2]}
    found = planned(NORMAL, **vary, **OPTIONS)
    rows = found.designs.to_pylist()
    best = found.recommended
    assert best["conf_low"] >= 0.8
    assert t_test_power(0.3, best["ratings"] / 2) >= 0.78
    assert all(t_test_power(0.3, row["ratings"] / 2) < 0.84 for row in rows if row["ratings"] < best["ratings"])
    assert best["ratings"] == 2 * best["items"] * best["ratings_per_text"]
    assert best["participants"] == best["ratings"] / 10
    assert sum(row["n"] for row in rows) <= 1200
    assert all(row["power"] is None for row in rows if row["verdict"] == "not simulated")
    assert (best["verdict"], best["n"] >= 200) == ("reaches", True)
    predicted = np.array([row["predicted"] for row in rows])
    exact = np.array([t_test_power(0.3, row["ratings"] / 2) for row in rows])
    assert np.abs(predicted - exact).max() < 0.1
    assert found.answer.startswith(f"Run {best['items']} items")
    assert found.options["option"][0].as_py() == "recommended"


@pytest.mark.slow
def test_the_power_of_one_design_is_that_of_the_t_test():
    found = planned(NORMAL, items=60, ratings_per_text=2, max_per_design=400, **OPTIONS)
    assert found.question == "power"
    (row,) = found.designs.to_pylist()
    assert row["n"] == 400
    assert t_test_power(0.3, 120) < 0.65 and row["verdict"] == "falls short"
    assert found.recommended is None and not row["recommended"]
    assert "falls short of 80%" in str(found)
    low, high = row["conf_low"], row["conf_high"]
    assert low - 0.02 < t_test_power(0.3, 120) < high + 0.02
    table = counterbalanced(items=60, ratings_per_text=2, texts_per_participant=10)
    (fixed,) = planned(NORMAL, table=table, max_per_design=100, **OPTIONS).designs.to_pylist()
    assert (fixed["items"], fixed["participants"], fixed["ratings"]) == (60, 24, 240)
    assert fixed["conf_low"] < t_test_power(0.3, 120) < fixed["conf_high"]


@pytest.mark.slow
def test_the_smallest_effect_of_a_design():
    from statsmodels.stats.power import TTestIndPower

    found = planned(NORMAL, effect="smallest", items=60, ratings_per_text=2, **OPTIONS)
    exact = TTestIndPower().solve_power(nobs1=120, alpha=0.05, power=0.8)
    assert found.question == "effect"
    assert exact - 0.02 < found.recommended["effect"] < exact + 0.06
    assert "smallest effect" in str(found)


@pytest.mark.slow
def test_the_price_decides():
    vary = {"items": [20, 40, 80, 160], "ratings_per_text": [1, 2, 4]}
    few = planned(NORMAL, **vary, cost_rating=0.1, cost_participant=1.5, **OPTIONS)
    row = few.recommended
    assert row["cost"] == pytest.approx(0.1 * row["ratings"] + 1.5 * row["participants"])
    reaching = [r for r in few.designs.to_pylist() if r["verdict"] == "reaches"]
    assert row["cost"] == min(r["cost"] for r in reaching)
    assert f"{row['items']} items with {row['ratings_per_text']:g} rating" in few.answer
    undecided = [r for r in few.options.to_pylist() if r["option"] == "cheapest"]
    assert all(r["cost"] < row["cost"] for r in undecided)


@pytest.mark.slow
def test_repeatable_with_any_jobs_and_after_a_stop(tmp_path):
    vary = {"items": [20, 60, 120], "ratings_per_text": 2}
    once = planned(NORMAL, **vary, **OPTIONS)
    lines = []

    def stop(line):
        lines.append(line)
        if sum(isinstance(one, str) for one in lines) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        planned(NORMAL, **vary, store=tmp_path / "plan", progress=stop, **OPTIONS)
    parts = set((tmp_path / "plan").glob("*/fits/*.parquet"))
    assert parts
    resumed = planned(NORMAL, **vary, store=tmp_path / "plan", jobs=2, **OPTIONS)
    assert parts < set((tmp_path / "plan").glob("*/fits/*.parquet"))
    assert resumed.designs.equals(once.designs)
    assert (resumed.answer, resumed.findings) == (once.answer, once.findings)
    other = planned(NORMAL, **vary, **{**OPTIONS, "seed": 4})
    assert not other.designs.equals(once.designs)


@pytest.mark.needs_r
def test_r_says_first_how_long_it_will_take(tmp_path):
    """What is said is what R then needs, fit by fit, in a plan that goes from small to large designs."""
    lines = []
    grows = {"items": [20, 40, 80, 120], "ratings_per_text": 2, "datasets": 60, "max_per_design": 30}
    options = {**OPTIONS, "model": "lmer", "formula": MIXED, **grows}
    by_r = planned(MIXED_TRUTH, engine="r", store=tmp_path / "r", progress=lines.append, **options)
    words = r"R takes .* with 80 ratings and .* with (\d+); what is left of (\d+) .* about (?:(\d+) min )?(\d+) s"
    lines = [line for line in lines if isinstance(line, str)]
    said = re.fullmatch(words, lines[0])
    assert said, lines[0]
    assert int(said[1]) > 80
    took = sum(
        sum(pq.read_table(part)["seconds"].to_pylist())
        for store in (tmp_path / "r").glob("*/manifest.json")
        if json.loads(store.read_text())["engine"] == "r"
        for part in store.parent.glob("fits/*.parquet")
    )
    assert took / 3 < 60 * int(said[3] or 0) + int(said[4]) < 3 * took + 1
    assert int(said[2]) == pytest.approx(by_r.settings["datasets"], rel=0.2)  # R goes the way of the rehearsal
    assert by_r.settings["versions"]["R"].startswith("4.")
    native = planned(MIXED_TRUTH, **options)
    assert by_r.designs.select(["n", "power"]).equals(native.designs.select(["n", "power"]))
    again = []
    planned(MIXED_TRUTH, engine="r", store=tmp_path / "r", progress=again.append, **options)
    again = [line for line in again if isinstance(line, str)]
    assert again[0].endswith("will take about 0 s")  # all is there


class Clock:
    """Simulations without any: R's time grows with the square of the ratings beyond a start-up."""

    engine, workers, versions = "r", 2, {}

    def __init__(self):
        self.asked = []

    def count(self, grid, n):
        self.asked.append((grid, n))
        return n, n, 0

    def stored(self, grid):
        return 20 if grid == 50 else 0

    def seconds(self, grid):
        return (grid / 100) ** 2


def test_the_time_of_r_is_that_of_the_sizes_in_question():
    row = [Candidate(m, 1, m, m, m, 0.3, grid=m, n=n) for m, n in ((50, 20), (100, 0), (400, 100), (200, 50))]
    clock = Clock()
    seconds, timed = forecast_time([row], clock, more=[(400, 10)])
    assert clock.asked == [(50, 6), (400, 2)]  # the smallest, and the one that costs most
    assert timed == [(50, 0.25), (400, 16.0)]
    assert seconds == pytest.approx((100 * 16 + 50 * 4 + 10 * 16) / 2)  # the 20 of the smallest are there


def test_the_rehearsal_expects_the_middle_where_the_native_engine_cannot_fit():
    nested = "rating ~ system + (1 | participant/item)"
    model = hypothesis(ob.power.Grid(truth=THREE, items=20, ratings_per_text=3, design=DESIGN).cells[0], "lmer", nested,
                       ("A", "C"))  # fmt: skip
    simulations = Simulations(model=model, folder=Path("nowhere"), seed=1, engine="r", jobs=1, alpha=0.05)
    row = [Candidate(m, 1, m, m, m, 0.3, grid=m) for m in (10, 40, 90)]

    def simulate(rows, look):
        raise InputError("use engine='r'")

    ((only,),) = rehearse([row], simulations, simulate, 300)
    assert (only.ratings, only.n) == (40, 300)
    assert [c.n for c in row] == [0, 0, 0]


@pytest.mark.slow
def test_no_design_reaches_the_target():
    found = planned(NORMAL, effect=0.02, items=[20, 40], ratings_per_text=1, **OPTIONS)
    assert found.recommended is None
    assert found.answer.startswith("No design in the range reaches 80% power; the best seen, ")
    assert found.designs["size"].null_count == 2  # no design, no type-I error of it


@pytest.fixture(scope="module")
def pilot():
    truth = Truth(effects=(0.8,), thresholds=(-1, 0, 1), participant_sd=(0.5, 0.0), item_sd=(0.4, 0.0))
    return ratings(counterbalanced(items=30, ratings_per_text=2, texts_per_participant=10), truth, seed=1)


@pytest.mark.slow
def test_a_pilot_warns_of_the_observed_effect_and_shows_its_uncertainty(pilot):
    options = {
        "formula": "rating ~ system + (1 | participant) + (1 | item)",
        "texts_per_participant": 10,
        "draws": 6,
        "null_datasets": 50,
    }
    vary = {"items": [20, 40], "ratings_per_text": [2]}
    with pytest.warns(StatisticalWarning, match="smallest effect that would matter"):
        observed = planned(pilot, **vary, datasets=400, max_per_design=100, **options)
    assert observed.uncertainty.num_rows == 6
    assert len(set(observed.uncertainty["effect"].to_pylist())) == 6
    warned = {one.code: one for one in observed.findings if one.severity == "warning"}
    assert "observed-effect" in warned
    uncertain = warned["pilot-uncertain"].values
    assert (uncertain["participants"], uncertain["items"], uncertain["draws"]) == (12, 30, 6)
    assert uncertain["low"] == pytest.approx(np.quantile(observed.uncertainty["power"].to_pylist(), 0.1))
    with warnings.catch_warnings():
        warnings.simplefilter("error", StatisticalWarning)
        given = planned(pilot, effect=0.6, items=60, ratings_per_text=2, max_per_design=100, **options)
    assert set(given.uncertainty["effect"].to_pylist()) == {0.6}
    assert len({tuple(sd) for sd in given.uncertainty["participant_sd"].to_pylist()}) == 6


@pytest.mark.slow
def test_draws_have_the_spread_of_the_estimates(pilot):
    """The bootstrap's spread of the effect is the fit's standard error."""
    from ordbridge.planning.pilot import read_pilot

    study = read_pilot(pilot, "clm", None, "fast")
    drawn = [study.draw(stream).effects[0] for stream in np.random.SeedSequence(5).spawn(200)]
    error = study.fit.tidy().to_pylist()[-1]["std_error"]
    assert np.std(drawn) == pytest.approx(error, rel=0.2)
    assert np.mean(drawn) == pytest.approx(study.truth.effects[0], abs=0.25 * error)


THREE = Truth(effects=(0.0, 0.7), thresholds=(-1, 0, 1), participant_sd=(0.5, 0.2), item_sd=(0.4, 0.2))


def p_values(kind, test, formula=None):
    """Return what a worker tests on one dataset with three systems, and the dataset."""
    design = {"kind": "counterbalanced", "texts_per_participant": 10}
    (cell,) = ob.power.Grid(truth=THREE, design=design, items=20, ratings_per_text=3).cells
    rating = ratings(cell.design, THREE, seed=2)
    fit = FitTask(0, hypothesis(cell, kind, formula, test), "fast")
    return {term: p for term, (p, _) in _p_values(cell, fit, rating["rating"].to_numpy(), None)}, rating


@pytest.mark.parametrize("kind", ["clmm", "lmer"])
def test_any_difference_is_the_likelihood_ratio_test(kind):
    """Of an lmer by maximum likelihood, though its coefficients are tested by REML: that is what anova does."""
    found, data = p_values(kind, "any", MIXED)
    options = {"link": "probit"} if kind == "clmm" else {}
    fits = [getattr(ob, kind)(f, data, engine="fast", **options) for f in (MIXED.replace("system", "1"), MIXED)]
    assert found == {"any difference": pytest.approx(ob.anova(*fits)["p_value"][1].as_py(), rel=1e-6)}


@pytest.mark.parametrize("kind", ["clmm", "lmer"])
def test_a_pair_is_the_coefficient_under_another_reference(kind):
    found, data = p_values(kind, ("C", "B"), MIXED)
    names = pa.array([{"A": "Z"}.get(name, name) for name in data["system"].to_pylist()])  # B comes first
    data = data.set_column(data.column_names.index("system"), "system", names)
    fit = getattr(ob, kind)(MIXED, data, engine="fast", **({"link": "probit"} if kind == "clmm" else {}))
    assert found == {"C - B": pytest.approx(fit.p_value("systemC"), rel=1e-3)}


def test_all_pairs_are_corrected_by_holm():
    found, _ = p_values("clm", "pairs")
    single = [p_values("clm", pair)[0] for pair in (("A", "B"), ("A", "C"), ("B", "C"))]
    raw = [next(iter(p.values())) for p in single]
    order = np.argsort(raw)
    steps = np.maximum.accumulate(np.array(raw)[order] * [3, 2, 1]).clip(max=1)
    adjusted = dict(zip(order, steps, strict=True))
    assert found["B - A within all pairs"] == pytest.approx(adjusted[0])
    assert found["C - A within all pairs"] == pytest.approx(adjusted[1])
    assert found["C - B within all pairs"] == pytest.approx(adjusted[2])
    assert found["all pairs"] == pytest.approx(max(adjusted[1], adjusted[2]))  # A and B do not differ in truth


@pytest.mark.slow
def test_plans_with_three_systems():
    options = {
        "items": 30,
        "ratings_per_text": 2,
        "texts_per_participant": 15,
        "model": "clm",
        "max_per_design": 60,
        "null_datasets": 40,
    }
    powers = {test: planned(THREE, test=test, **options) for test in ("any", "pairs", ("A", "C"))}
    only = {test: found.designs.to_pylist()[0] for test, found in powers.items()}
    assert only["any"]["power"] > 0.5
    pairs = powers["pairs"].pairs.to_pydict()
    assert (pairs["system_a"], pairs["system_b"]) == (["B", "C", "C"], ["A", "A", "B"])
    assert pairs["difference"] == [0.0, 0.7, 0.7]
    assert pairs["power"][0] < 0.2 < min(pairs["power"][1:])
    assert only["pairs"]["power"] <= min(pairs["power"][1:])
    assert only["A", "C"]["power"] >= pairs["power"][1]
    with pytest.raises(InputError, match="Say what is tested"):
        planned(THREE, **options)


def formula_power(candidate):
    from scipy.stats import norm

    return norm.cdf(0.3 * (candidate.items / (1 + 6 / candidate.ratings_per_text)) ** 0.5 - 1.96)


def exact(candidate, n):
    """Simulate as if every share came out as it should."""
    candidate.n, candidate.significant = n, round(formula_power(candidate) * n)


def designs(r):
    return [Candidate(m, r, m, 2 * m * r, 2.0 * m * r, 0.3) for m in range(20, 401, 20)]


def test_the_search_finds_the_cheapest_that_reaches_and_keeps_to_its_budget():
    rows = [designs(2), designs(5)]
    search(rows, exact, target=0.8, alpha=0.05, budget=20_000, most=6400)
    # (0.84 + 1.96)² (1 + 6 / r) / 0.3² = 348.8 and 191.8 items, 1440 and 2000 ratings
    assert next(c.items for c in rows[0] if verdict(c, rows, 0.8) == "reaches") == 360
    assert sum(c.n for r in rows for c in r) < 20_000
    assert sum(c.n > 0 for r in rows for c in r) < 16
    assert all(c.n == 0 for c in rows[1] if c.price > 1440)  # dearer than the answer
    rows = [designs(2), designs(5)]
    search(rows, exact, target=0.8, alpha=0.05, budget=117, most=100)
    assert sum(c.n for r in rows for c in r) == 117


def test_a_design_too_close_to_call_does_not_eat_the_budget():
    """340 items have a power of 0.79: 400 datasets do not decide about them, and an answer is found first."""
    row = [Candidate(m, 2, m, 4 * m, 4.0 * m, 0.3) for m in (100, 200, 340, 440)]
    search([row], exact, target=0.78, alpha=0.05, budget=400, most=400)
    assert verdict(row[2], [row], 0.78) in ("undecided", "not simulated")
    assert verdict(row[3], [row], 0.78) == "reaches"
    assert recommend("designs", [row], 0.78) is row[3]


def test_the_first_lucky_datasets_are_not_an_answer():
    def lucky(candidate, n):
        candidate.n, candidate.significant = (
            n,
            n if n <= 20 and candidate.items == 40 else round(formula_power(candidate) * n),
        )

    rows = [designs(2)]
    search(rows, lucky, target=0.8, alpha=0.05, budget=2000, most=400)
    assert (rows[0][1].items, rows[0][1].n, rows[0][1].power) == (40, 20, 1.0)
    assert verdict(rows[0][1], rows, 0.8) == "undecided"
    assert recommend("designs", rows, 0.8).items >= 360


def test_only_what_was_shown_to_reach_is_recommended():
    def candidate(price, n, significant):
        return Candidate(price, 1, 10, 20, price, 0.3, n=n, significant=significant)

    dear, cheap, open_, cheapest = (candidate(*c) for c in ((9, 400, 390), (7, 400, 370), (5, 400, 325), (1, 400, 40)))
    assert recommend("designs", [[cheapest, open_, cheap, dear]], 0.8) is cheap
    assert recommend("designs", [[cheapest, open_]], 0.8) is None
    assert recommend("designs", [[cheapest]], 0.8) is None


@pytest.mark.needs_r
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"target": 80}, "target=80"),
        ({"target": 0.04}, "above alpha"),
        ({"effect": 0}, "the effect is 0"),
        ({"effect": "big"}, "'smallest'"),
        ({"effect": "smallest"}, "that of one design"),
        ({"items": [0]}, "integers ≥ 1"),
        ({"items": [10]}, "nobody may see an item twice"),
        ({"items": 20, "table": {"participant": [1]}}, "a fixed design has its own numbers"),
        ({"cost_rating": -1}, "cost of a rating"),
        ({"model": "glm"}, "no model 'glm'"),
        ({"model": "lm", "test": ("A", "X")}, "is not a pair of the systems A, B"),
        ({"truth": {"rating": [1, 2]}}, "column"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(arguments, words):
    with pytest.raises(InputError, match=words):
        planned(**{"truth": NORMAL, **arguments})
