"""Places in the ranking, and interactions of many systems, on a real file and on studies whose order is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ordbridge as ob


@pytest.fixture
def mushra(shared: Path) -> pd.DataFrame:
    file = shared / "data" / "real" / "cvssp_ratings.csv"
    if not file.exists():
        pytest.skip("the real files are not here")
    names = {"subject": "participant", "page": "item", "sound": "system"}
    table = pd.read_csv(file).rename(columns=names)
    return table[table.experiment == "interferer"]


@pytest.mark.slow
def test_one_variance_of_item_and_system_stays_where_pairs_share_few_items(mushra: pd.DataFrame) -> None:
    """24 systems of which each page has 8; lme4's likelihood ratio of the term is 441.7."""
    found = ob.random_effects(mushra, model="lmer", slopes_up_to=3)
    assert "(1 | item:system)" in found.supported and "(1 | participant:system)" in found.supported
    steps = {row["left_out"]: row for row in found.steps.to_pylist()}
    assert steps["system | item"]["statistic"] == pytest.approx(441.7, abs=0.05) and steps["system | item"]["df"] == 1


def studies(n: int, systems: int = 6):
    """Crossed studies with true means a quarter of a point apart, two of them equal."""
    true = np.array([0.0, 0.0, *(0.25 * np.arange(1, systems - 1))])
    names = np.array([f"s{k}" for k in range(systems)])
    for seed in range(n):
        random = np.random.default_rng([4, seed])
        p, i, s = (g.ravel() for g in np.meshgrid(range(8), range(10), range(systems), indexing="ij"))
        own = random.normal(0, 0.3, (8, systems))[p, s] + random.normal(0, 0.3, (10, systems))[i, s]
        rating = 50 + 10 * (true[s] + own + random.normal(0, 0.5, len(s)))
        frame = {"participant": [f"p{k}" for k in p], "item": [f"i{k}" for k in i], "system": names[s]}
        yield ob.compare(pd.DataFrame({**frame, "rating": rating.round(1)}), engine="fast", model="lmer")


@pytest.mark.slow
def test_all_true_places_are_in_their_intervals_and_the_best_is_said_to_be_likely() -> None:
    inside, likely = [], []
    for found in studies(15):
        rows = {row["system"]: row for row in found.ranking.to_pylist()}
        places = {"s5": (1, 1), "s4": (2, 2), "s3": (3, 3), "s2": (4, 4), "s1": (5, 6), "s0": (5, 6)}
        inside.append(all(rows[s]["rank_low"] <= b and a <= rows[s]["rank_high"] for s, (a, b) in places.items()))
        assert sum(row["best_probability"] for row in rows.values()) == pytest.approx(1.0)
        likely.append(rows["s5"]["best_probability"])
    assert sum(inside) >= 13  # of 15 at 95 % or more; 12 or fewer have a probability of .005
    assert np.mean(likely) > 0.6 and "1 to" in str(found)


def test_two_systems_that_differ_have_places_of_their_own() -> None:
    rating = np.tile([1, 2, 3, 4, 5, 5], 20) + np.repeat([0, 4], 60) + np.tile(np.arange(10) / 10, 12)
    table = {
        "participant": np.tile(np.repeat([f"p{k}" for k in range(10)], 6), 2).tolist(),
        "item": np.tile([f"i{k}" for k in range(6)], 20).tolist(),
        "system": np.repeat(["low", "high"], 60).tolist(),
        "rating": rating.tolist(),
    }
    found = ob.compare(table, engine="fast", model="lmer").ranking.to_pylist()
    assert [(row["system"], row["rank_low"], row["rank_high"]) for row in found] == [("high", 1, 1), ("low", 2, 2)]
    assert found[0]["best_probability"] > 0.99
