"""What a truth means on the rating scale, against simulation and against independent integrals."""

import numpy as np
import pytest
from scipy import integrate, stats

from ordbridge import design
from ordbridge.errors import InputError
from ordbridge.models.links import LINKS
from ordbridge.papers import card2020, howcroft2021
from ordbridge.simulate import Simulator, Truth, implied

FOUR = Truth(
    (0.4, -0.2),
    (-1.0, -0.2, 1.1),
    participant_sd=(0.5, 0.4, 0.8),
    item_sd=(0.6, 0.7),
    participant_corr=0.3,
    item_corr=-0.4,
)


def probabilities(truth, table=None):
    found = implied(truth, table).probabilities.to_pandas()
    return found.pivot_table(index="system", columns="rating", values="probability").to_numpy()


@pytest.mark.parametrize(
    "truth",
    [
        howcroft2021.settings["representative"].shift(effect=0.31),
        howcroft2021.settings["extra-high"].shift(scale="vas"),
        howcroft2021.settings["high"].shift(slope_coding="centred", link="logit", effect=-0.4),
        card2020.truth("high", 0.1),
    ],
    ids=["ordinal", "vas", "logit", "interval"],
)
@pytest.mark.slow
def test_means_and_spread_agree_with_simulation(truth):
    """Everything that the tables say, from 3,000 simulated studies, at 5 standard errors."""
    table = design.howcroft2021(50, 3)
    simulator = Simulator(table, truth)
    drawn = [simulator.draw(seed) for seed in range(3000)]
    rating = np.array([rating for rating, _ in drawn])
    second = np.array(table["system"]) == 1
    means = np.c_[rating[:, ~second].mean(axis=1), rating[:, second].mean(axis=1)]
    found = implied(truth, table)
    error = means.std(axis=0) / np.sqrt(len(means))
    assert (np.abs(means.mean(axis=0) - found.systems["mean"].to_numpy()) / error).max() < 5
    observed = means[:, 1] - means[:, 0]
    difference = found.differences["difference"][0].as_py()
    assert abs(observed.mean() - difference) < 5 * observed.std() / np.sqrt(len(observed))
    if truth.scale == "ordinal":
        for system, mask in enumerate((~second, second)):
            shares = np.array([[(row[mask] == j).mean() for j in range(1, 7)] for row in rating])
            error = shares.std(axis=0) / np.sqrt(len(shares))
            assert (np.abs(shares.mean(axis=0) - probabilities(truth)[system]) / error).max() < 5


@pytest.mark.parametrize("scale", ["ordinal", "vas", "interval"])
@pytest.mark.parametrize(
    "table",
    [
        design.crossed(items=12, raters=6, systems=3),
        design.counterbalanced(items=20, ratings_per_text=3, systems=3, texts_per_participant=9),
        design.latin_square(systems=3, items=9, raters=6, repeats=2),
    ],
    ids=["crossed", "counterbalanced", "latin"],
)
@pytest.mark.slow
def test_standard_error_of_a_difference_is_its_spread_over_repeated_studies(table, scale):
    truth = FOUR.shift(scale=scale, thresholds=None if scale == "interval" else FOUR.thresholds)
    simulator = Simulator(table, truth)
    system = np.array(table["system"].to_pylist())
    replicates = 4000
    rating = np.array([simulator.draw(seed)[0] for seed in range(replicates)])
    means = {name: rating[:, system == name].mean(axis=1) for name in "ABC"}
    for row in implied(truth, table).differences.to_pylist():
        observed = means[row["system_a"]] - means[row["system_b"]]
        assert observed.std() == pytest.approx(row["std_error"], rel=5 / np.sqrt(2 * replicates))
        assert observed.mean() == pytest.approx(row["difference"], abs=5 * row["std_error"] / np.sqrt(replicates))


@pytest.mark.slow
def test_spread_over_raters_and_items_is_that_of_their_own_mean_differences():
    """A million raters (items), each with the exact mean rating over all items (raters)."""
    random = np.random.default_rng(1)
    found = implied(FOUR).differences.to_pylist()
    for group, other in (("participant", "item"), ("item", "participant")):
        deviations = random.multivariate_normal(np.zeros(3), FOUR.covariance(group), size=1_000_000)
        rest = np.sqrt(1 + np.diag(FOUR.covariance(other)))
        eta = np.r_[0.0, FOUR.effects] + deviations
        mean = 4 - sum(stats.norm.cdf((threshold - eta) / rest) for threshold in FOUR.thresholds)
        for row in found:
            difference = mean[:, row["system_a"]] - mean[:, row["system_b"]]
            assert row[f"sd_{group}s"] == pytest.approx(difference.std(), rel=0.004)
            assert row["difference"] == pytest.approx(difference.mean(), abs=0.003)


@pytest.mark.parametrize("link", LINKS)
def test_probabilities_for_every_link_against_adaptive_integration(link):
    truth = FOUR.shift(link=link)
    spread = np.sqrt(np.diag(truth.covariance("participant") + truth.covariance("item")))
    for system, (effect, sd) in enumerate(zip((0.0, *truth.effects), spread, strict=True)):
        cumulative = [
            integrate.quad(
                lambda z, t=t, e=effect, sd=sd: LINKS[link].cdf(np.float64(t - e - sd * z)) * stats.norm.pdf(z), -10, 10
            )[0]
            for t in truth.thresholds
        ]
        np.testing.assert_allclose(probabilities(truth)[system], np.diff(np.r_[0, cumulative, 1]), atol=1e-7)


def test_standard_deviation_of_a_rating():
    row = probabilities(FOUR)[1]
    ratings = np.arange(1, 5)
    variance = row @ ratings**2 - (row @ ratings) ** 2
    assert implied(FOUR).systems["sd"][1].as_py() == pytest.approx(np.sqrt(variance))
    assert implied(FOUR).systems["mean"][1].as_py() == pytest.approx(row @ ratings)


def test_mean_and_spread_of_a_mark_on_the_line_against_adaptive_integration():
    truth = FOUR.shift(scale="vas")
    sd = np.sqrt(1 + np.diag(truth.covariance("participant") + truth.covariance("item")))
    corners = [-1.0 - 1.05, -1.0, -0.2, 1.1, 1.1 + 1.05]

    def mark(x):
        return np.interp(x, corners, [0, 25, 50, 75, 100])

    for system, effect in enumerate((0.0, *truth.effects)):
        law = stats.norm(effect, sd[system])
        first, second = (
            integrate.quad(lambda x, p=p, law=law: mark(x) ** p * law.pdf(x), -15, 15, points=corners, limit=200)[0]
            for p in (1, 2)
        )
        row = implied(truth).systems.to_pylist()[system]
        assert row["mean"] == pytest.approx(first, abs=1e-6)
        assert row["sd"] == pytest.approx(np.sqrt(second - first**2), abs=1e-6)


@pytest.mark.slow
def test_probabilities_with_drawn_thresholds_are_means_over_studies():
    truth = howcroft2021.settings["representative"]
    thresholds = howcroft2021.thresholds(200_000, seed=1)
    sd = np.sqrt(1 + np.diag(truth.covariance("participant") + truth.covariance("item")))
    for system in (0, 1):
        below = stats.norm.cdf(thresholds / sd[system])
        error = np.diff(below, axis=1, prepend=0, append=1).std(axis=0) / np.sqrt(len(below))
        expected = np.diff(np.r_[0, below.mean(axis=0), 1])
        assert (np.abs(probabilities(truth)[system] - expected) < 5 * error + 5e-5).all()


@pytest.mark.parametrize(("setting", "points"), [("low", -0.06), ("representative", -0.08), ("high", -0.11)])
def test_latent_effect_zero_is_a_difference_of_mean_ratings(setting, points):
    truth = howcroft2021.settings[setting]
    (row,) = implied(truth).differences.to_pylist()
    assert row["latent_effect"] == 0 and round(row["difference"], 2) == points
    (centred,) = implied(truth.shift(slope_coding="centred")).differences.to_pylist()
    assert centred["difference"] == pytest.approx(0, abs=1e-12)
    symmetric = truth.shift(thresholds=(-1.2, -0.6, 0, 0.6, 1.2))
    (middle,) = implied(symmetric).differences.to_pylist()
    assert middle["difference"] == pytest.approx(0, abs=1e-12)


def test_latent_spread_of_the_representative_setting():
    truth = howcroft2021.settings["representative"]
    sd = np.sqrt(1 + np.diag(truth.covariance("participant") + truth.covariance("item")))
    np.testing.assert_allclose(sd, [1.26, 1.54], atol=0.005)


def test_the_interval_scale_is_the_latent_scale():
    (row,) = implied(card2020.truth("low", 0.05), design.crossed(50, 3)).differences.to_pylist()
    assert row["difference"] == pytest.approx(0.1)
    assert row["sd_participants"] == pytest.approx(2 * 0.04)
    assert row["sd_items"] == pytest.approx(2 * 0.13)
    # The difference of two means over 3 workers and 50 items: slopes average over each, residuals over both.
    assert row["std_error"] == pytest.approx(np.sqrt(0.08**2 / 3 + 0.26**2 / 50 + 2 * 0.16**2 / 150))
    assert implied(card2020.truth("low", 0.05)).probabilities.num_rows == 0


def test_names_come_from_the_design_and_must_fit():
    table = design.crossed(4, 3, systems=3)
    found = implied(FOUR, table)
    assert found.systems["system"].to_pylist() == ["A", "B", "C"]
    assert [(r["system_b"], r["system_a"]) for r in found.differences.to_pylist()] == [
        ("A", "B"),
        ("A", "C"),
        ("B", "C"),
    ]
    assert implied(FOUR).differences["std_error"].null_count == 3
    with pytest.raises(InputError, match="the design has 2 systems and the truth 3"):
        implied(FOUR, design.crossed(4, 3))


@pytest.mark.parametrize("link", ["probit", "logit"])
@pytest.mark.parametrize("scale", ["ordinal", "vas", "interval"])
def test_unequal_spread_on_the_rating_scale(link, scale):
    """Means and standard deviations of single ratings, and of their differences, against draws."""
    if scale == "interval" and link != "probit":
        return
    own = {} if scale == "interval" else {"thresholds": (-1.0, 0.2, 0.9), "link": link}
    truth = Truth(effects=(0.4, 0.1), scale=scale, item_sd=(0.6, 0.3), residual_spread=(2.0, 0.5), **own)
    simulator = Simulator(design.crossed(items=400, raters=5, systems=3), truth)
    found = implied(truth).systems.to_pydict()
    system = simulator.columns["system"].to_numpy()
    draws = np.array([simulator.draw(seed)[0] for seed in range(20)])
    for k, label in enumerate("ABC"):
        drawn = draws[:, system == label]
        # of about 8000 ratings in clusters of 5: three standard errors
        tolerance = 3 * found["sd"][k] / np.sqrt(8000 / 2)
        assert drawn.mean() == pytest.approx(found["mean"][k], abs=tolerance)
        assert drawn.std() == pytest.approx(found["sd"][k], abs=tolerance)
