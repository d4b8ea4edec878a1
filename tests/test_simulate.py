"""Simulated ratings have the moments of their truth, and a seed means the same ratings everywhere."""

import hashlib
from itertools import product

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from ordbridge import design
from ordbridge.errors import InputError
from ordbridge.models.links import LINKS
from ordbridge.papers import howcroft2021
from ordbridge.simulate import Simulator, ThresholdDistribution, Truth, ratings

MATRIX = ((1, 0.3, -0.2), (0.3, 1, 0.4), (-0.2, 0.4, 1))
LOW = howcroft2021.settings["low"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "truth",
    [
        Truth((0.5, -0.3), scale="interval", mean=2, residual_sd=0.7, participant_sd=(0.8, 0.5), item_sd=(0.4, 0.9)),
        Truth(
            (0.5, -0.3),
            scale="interval",
            participant_sd=(0.8, 0.5, 1.2),
            item_sd=(0.4, 0.9),
            participant_corr=MATRIX,
            item_corr=-0.6,
            slope_coding="centred",
        ),
    ],
)
def test_means_and_covariances_of_ratings_are_those_of_the_truth(truth):
    """On the interval scale all moments are known; every covariance is checked at 5 standard errors."""
    table = design.crossed(items=2, raters=2, systems=3)
    simulator = Simulator(table, truth)
    replicates = 20_000
    drawn = np.array([simulator.draw(seed)[0] for seed in range(replicates)])
    rows = table.to_pylist()
    system = [ord(row["system"]) - ord("A") for row in rows]
    expected = np.zeros((len(rows), len(rows)))
    for (a, first), (b, second) in product(enumerate(rows), repeat=2):
        at = system[a], system[b]
        expected[a, b] += truth.covariance("participant")[at] * (first["participant"] == second["participant"])
        expected[a, b] += truth.covariance("item")[at] * (first["item"] == second["item"])
        expected[a, b] += truth.residual_sd**2 * (a == b)
    variance = np.diag(expected)
    error = np.sqrt((np.outer(variance, variance) + expected**2) / replicates)
    assert (np.abs(np.cov(drawn.T) - expected) / error).max() < 5
    mean = truth.mean + np.array([0.0, *truth.effects])[system]
    assert (np.abs(drawn.mean(axis=0) - mean) / np.sqrt(variance / replicates)).max() < 5


@pytest.mark.parametrize("link", LINKS)
def test_category_shares_without_random_effects_are_those_of_the_link(link):
    truth = Truth((0.7,), (-1.2, -0.1, 0.6, 1.5), link=link)
    simulator = Simulator(design.crossed(items=500, raters=200), truth)
    rating, _ = simulator.draw(seed=7)
    system = np.array([s == "B" for s in simulator.columns["system"].to_pylist()])
    for is_second, effect in ((False, 0.0), (True, 0.7)):
        shares = np.bincount(rating[system == is_second], minlength=6)[1:] / 100_000
        cumulative = LINKS[link].cdf(np.array(truth.thresholds) - effect)
        expected = np.diff(np.r_[0, cumulative, 1])
        assert (np.abs(shares - expected) / np.sqrt(expected * (1 - expected) / 100_000)).max() < 4


def test_random_effect_variances_of_latent_quality():
    """With many raters and items in one study, the means per rater and per item spread as the truth says."""
    truth = Truth((0.4,), (0.0,), participant_sd=(0.6, 0.5), item_sd=(0.3, 0.8), participant_corr=0.5)
    table = ratings(design.crossed(items=400, raters=400), truth, seed=3, latent=True).to_pandas()
    for group in ("participant", "item"):
        means = table.pivot_table(index=group, columns="system", values="latent")
        residual = (1 + truth.covariance("item" if group == "participant" else "participant").max()) / 400
        spread = np.cov(means.to_numpy().T)
        np.testing.assert_allclose(
            spread, truth.covariance(group), atol=residual + 0.25 * truth.covariance(group).max()
        )


def test_thresholds_are_drawn_once_a_study():
    truth = Truth(0.0, threshold_distribution=ThresholdDistribution((-1, 0.5), (0.5, 0.3), 4))
    simulator = Simulator(design.crossed(items=20, raters=20), truth)
    seen = []
    for seed in range(300):
        rating, latent = simulator.draw(seed)
        bounds = [(latent[rating <= j].max(initial=-9), latent[rating > j].min(initial=9)) for j in (1, 2, 3)]
        assert all(low < high for low, high in bounds)  # one set of thresholds explains all ratings of the study
        seen.append(bounds[0][0])
    assert 0.4 < np.std(seen) < 0.6
    fixed = np.array([-0.5, 0.0, 0.5])
    rating, latent = simulator.draw(1, thresholds=fixed)
    np.testing.assert_array_equal(rating, np.searchsorted(fixed, latent) + 1)


def test_distribution_of_drawn_thresholds():
    draws = howcroft2021.thresholds(20_000, seed=5)
    assert draws[:, 0].mean() == pytest.approx(-1.78, abs=5 * 0.19 / 141)
    assert draws[:, 0].std() == pytest.approx(0.19, rel=0.03)
    distances = np.diff(draws, axis=1)
    assert (distances > 0).all()
    np.testing.assert_allclose(distances.mean(axis=0), 0.62, atol=5 * 0.18 / 141)
    np.testing.assert_allclose(distances.std(axis=0), 0.18, rtol=0.03)
    assert np.abs(np.corrcoef(np.c_[draws[:, 0], distances].T) - np.eye(5)).max() < 0.04


def test_a_rating_at_a_threshold_belongs_below():
    simulator = Simulator(design.crossed(2, 1, 1), Truth((), (0.0,)))
    assert simulator._rate(np.array([-1e-9, 0.0, 1e-9]), np.array([0.0])).tolist() == [1, 1, 2]


def test_the_line_refines_the_ordinal_scale_and_both_come_from_one_quality():
    table = design.howcroft2021(50, 3)
    for truth in (LOW, Truth(0.3, (-0.5, 0.1, 2.0), item_sd=(1, 1)), Truth(0.3, (0.2,))):
        ordinal, latent = Simulator(table, truth).draw(11)
        line, same = Simulator(table, truth.shift(scale="vas")).draw(11)
        np.testing.assert_array_equal(latent, same)
        parts = np.clip(np.ceil(line * truth.categories / 100), 1, truth.categories)
        np.testing.assert_array_equal(parts, ordinal)
        assert line.min() >= 0 and line.max() <= 100 and len(set(line)) > 0.5 * len(line)
        assert (np.argsort(latent, kind="stable") == np.lexsort((latent, line))).all()


def test_centred_slopes_give_both_systems_the_same_spread():
    truth = Truth(0.0, (0.0,), participant_sd=(0.5, 0.9), item_sd=(0.2, 1.3))
    for coding, equal in (("centred", True), ("treatment", False)):
        simulator = Simulator(design.crossed(300, 300), truth.shift(slope_coding=coding))
        latent = simulator.draw(2)[1]
        second = np.array(simulator.columns["system"].to_pylist()) == "B"
        ratio = latent[second].var() / latent[~second].var()
        assert (0.8 < ratio < 1.25) == equal


def test_effects_do_not_move_the_stream():
    table = design.crossed(10, 5)
    _, base = Simulator(table, LOW).draw(1)
    _, shifted = Simulator(table, LOW.shift(effect=0.5)).draw(1)
    second = np.array(table["system"].to_pylist()) == "B"
    np.testing.assert_allclose(shifted - base, 0.5 * second, atol=1e-12)


def test_columns_and_types():
    table = design.crossed(3, 2)
    assert ratings(table, LOW, 1).column_names == ["participant", "item", "system", "rating"]
    assert ratings(table, LOW, 1, latent=True).column_names[-1] == "latent"
    assert ratings(table, LOW, 1)["rating"].type == pa.int64()
    assert ratings(table, LOW.shift(scale="vas"), 1)["rating"].type == pa.float64()
    assert ratings(table, LOW, 1).select(["participant", "item", "system"]).equals(table.drop_columns("order"))


def test_any_form_of_table_is_a_design(tmp_path):
    table = design.crossed(3, 2)
    expected = ratings(table, LOW, 1)["rating"]
    path = tmp_path / "design.csv"
    table.to_pandas().to_csv(path, index=False)
    for form in (table.to_pandas(), path, table.to_pydict(), pa.concat_tables([table.slice(0, 5), table.slice(5)])):
        assert ratings(form, LOW, 1)["rating"].equals(expected)


def test_a_categorical_says_which_system_is_first():
    frame = design.crossed(200, 20).to_pandas()
    truth = Truth(3.0, (0.0,))
    frame["system"] = frame.system.astype(pd.CategoricalDtype(["B", "A"]))
    means = ratings(frame, truth, 1).to_pandas().groupby("system", observed=True).rating.mean()
    assert means["A"] - means["B"] > 0.4


def test_a_seed_may_be_a_number_a_sequence_or_a_generator():
    simulator = Simulator(design.crossed(10, 5), LOW)
    expected = simulator.draw(42)[0]
    for seed in (np.int64(42), np.random.SeedSequence(42), np.random.Generator(np.random.PCG64(42))):
        np.testing.assert_array_equal(simulator.draw(seed)[0], expected)
    generator = np.random.default_rng(42)
    first, second = simulator.draw(generator)[0], simulator.draw(generator)[0]
    np.testing.assert_array_equal(first, expected)
    assert (first != second).any()


def test_the_same_seed_gives_the_same_ratings_on_any_machine():
    rating, latent = Simulator(design.howcroft2021(500, 10), LOW).draw(2021)
    assert "".join(map(str, rating[:30])) == "321543424632644666434564432445"
    assert hashlib.sha256(rating.astype("<i8").tobytes()).hexdigest()[:16] == "0eacbf7ae9d0122e"
    np.testing.assert_allclose(latent[:3], [-1.292772307259585, -1.3611054885642848, -2.409591593961085], rtol=1e-12)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_ratings_in_any_number_of_workers():
    from joblib import Parallel, delayed

    def shares(seeds, jobs):
        table = design.counterbalanced(30, 2, texts_per_participant=10)
        return Parallel(n_jobs=jobs)(delayed(ratings)(table, LOW, seed) for seed in seeds)

    seeds = np.random.SeedSequence(9).spawn(6)
    forwards = shares(seeds, jobs=2)
    backwards = shares([np.random.SeedSequence(9, spawn_key=s.spawn_key) for s in seeds[::-1]], jobs=1)[::-1]
    assert all(one.equals(other) for one, other in zip(forwards, backwards, strict=True))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: ratings(design.crossed(3, 2, 3), LOW, 1), "the design has 3 systems and the truth 2"),
        (lambda: ratings(design.crossed(3, 2), LOW, -1), "seed=-1 must be an integer ≥ 0, a SeedSequence"),
        (lambda: ratings(design.crossed(3, 2), LOW, 1.5), "seed=1.5 must be an integer"),
        (lambda: ratings(design.crossed(3, 2), LOW, 1, variant="wrong"), "variant='wrong' is not known; choose one of"),
        (
            lambda: ratings(design.crossed(3, 2), LOW, 1, variant="published"),
            "must be numbered as in design.howcroft2021",
        ),
        (
            lambda: ratings({"participant": [5, 9], "item": [1, 1], "system": [0, 1]}, LOW, 1, variant="published"),
            "must be numbered 0 … 2; the design has 5 … 9",
        ),
        (
            lambda: Simulator(design.crossed(3, 2), LOW).draw(1, [0, 1]),
            r"thresholds has \[0.0, 1.0\]; .* needs 5 of them",
        ),
        (lambda: Simulator(design.crossed(3, 2), LOW).draw(1, [0, 1, 2, 4, 3]), "in ascending order"),
        (lambda: ratings({"participant": [1], "item": [1]}, LOW, 1), "there is no column 'system'"),
        (
            lambda: ratings({"participant": [1, 1], "item": [1, None], "system": [0, 1]}, LOW, 1),
            "item is missing in 1 of",
        ),
        (lambda: howcroft2021.settings["medium"], "there is no setting 'medium'; choose one of: extra-low, low, rep"),
    ],
)
def test_bad_requests_get_one_sentence(call, sentence):
    with pytest.raises(InputError, match=sentence) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_published_and_corrected_differ_only_in_whose_effect_a_row_gets():
    table = design.howcroft2021(50, 3)
    _, corrected = Simulator(table, LOW).draw(1)
    _, published = Simulator(table, LOW, "published").draw(1)
    assert (corrected != published).any()
    no_raters = LOW.shift(participant_sd=(0, 0))
    _, one = Simulator(table, no_raters).draw(1)
    _, other = Simulator(table, no_raters, "published").draw(1)
    np.testing.assert_array_equal(one, other)
    counted_from_one = table.set_column(0, "participant", pa.array(np.array(table["participant"]) + 1))
    _, corrected_by_numbering = Simulator(counted_from_one, LOW, "published").draw(1)
    np.testing.assert_array_equal(corrected_by_numbering, corrected)


@pytest.mark.parametrize(
    ("items", "count", "wrong"),
    [(50, 3, 0.40), (50, 10, 0.26), (100, 3, 0.33), (100, 10, 0.17), (500, 3, 0.28), (500, 10, 0.10)],
)
def test_share_of_rows_with_another_participants_effect(items, count, wrong):
    """The shares that reading the published code found, each participant relabelled as fits it best."""
    table = design.howcroft2021(items, count)
    given = Simulator(table, LOW, "published")._participant_cell // 2
    meant = np.array(table["participant"])
    together = np.zeros((meant.max() + 1,) * 2)
    np.add.at(together, (meant, given), 1)
    assert 1 - together.max(axis=1).sum() / len(meant) == pytest.approx(wrong, abs=0.005)
