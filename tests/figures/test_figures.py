"""Pictures: what they show is in the axes, and bad ratings get a sentence."""

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats

from ordbridge.errors import InputError
from ordbridge.papers import card2020, howcroft2021
from ordbridge.render import figures
from ordbridge.render.figures.style import BLUE, GREY, ORANGE
from ordbridge.simulate import Truth, implied, implied_difference


@pytest.fixture
def ratings():
    return {"rating": np.repeat([1, 2, 3, 4], [10, 30, 40, 20])}


def lines(panel, colour):
    return [line for line in panel.lines if line.get_color() == colour]


@pytest.mark.slow
def test_scale_views_shows_counts_gaussian_and_thresholds(ratings, tmp_path):
    figure = figures.scale_views(ratings)
    counted, interval, ordinal = figure.axes
    assert [bar.get_height() for bar in counted.patches] == pytest.approx([0.1, 0.3, 0.4, 0.2])
    assert [label.get_text() for label in counted.get_xticklabels()] == ["1", "2", "3", "4"]
    (gaussian,) = lines(interval, ORANGE)
    x, y = gaussian.get_data()
    mean, sd = np.mean(ratings["rating"]) - 1, np.std(ratings["rating"], ddof=1)
    np.testing.assert_allclose(y, stats.norm.pdf(x, mean, sd))
    thresholds = [line.get_xdata()[0] for line in lines(ordinal, ORANGE)]
    np.testing.assert_allclose(thresholds, stats.norm.ppf([0.1, 0.4, 0.8]))
    for name in ("views.png", "views.svg", "views.pdf"):
        figure.savefig(tmp_path / name)
        assert (tmp_path / name).stat().st_size > 5000


@pytest.mark.slow
def test_scale_views_of_a_categorical_and_of_a_scale_from_zero(ratings):
    words = ["bad", "poor", "fair", "good", "excellent"]
    frame = pd.DataFrame({"answer": pd.Categorical.from_codes(ratings["rating"], words, ordered=True)})
    counted, _, ordinal = figures.scale_views(frame, rating="answer").axes
    assert [label.get_text() for label in counted.get_xticklabels()] == words
    assert len(lines(ordinal, ORANGE)) == 3  # nobody said "bad": that threshold lies at minus infinity
    interval = figures.scale_views({"rating": [0, 1, 1, 2, None]}).axes[1]
    assert any("mean 1.00" in text.get_text() for text in interval.texts)


@pytest.mark.parametrize(
    ("ratings", "sentence"),
    [
        ({"rating": [1.5, 2.0]}, "not whole numbers"),
        ({"rating": [3, 3]}, "needs 2 to 30 categories in use; there are 1 on a scale of 1"),
        ({"rating": [0, 100]}, "there are 2 on a scale of 101"),
        ({"rating": ["bad", "good"]}, "have no order"),
        ({"score": [1, 2]}, "there is no column 'rating'"),
    ],
)
def test_ratings_without_a_picture_get_one_sentence(ratings, sentence):
    with pytest.raises(InputError, match=sentence):
        figures.scale_views(ratings)


def test_implied_difference_meets_the_origin_only_for_centred_slopes():
    truth = howcroft2021.settings["high"]
    _, rated = implied_difference(truth).axes
    (curve, point) = lines(rated, BLUE)
    assert point.get_ydata()[0] == pytest.approx(implied(truth).differences["difference"][0].as_py())
    assert curve.get_ydata()[-1] == pytest.approx(
        implied(truth.shift(effect=0.62)).differences["difference"][0].as_py()
    )
    centred = next(line for line in lines(rated, GREY) if line.get_label().endswith("centred coding"))
    assert np.interp(0, *centred.get_data()) == pytest.approx(0, abs=1e-9)


@pytest.mark.slow
def test_latent_densities_are_those_of_the_truth():
    latent, _ = implied_difference(Truth(0.3, (-1, 1), item_sd=(0.5, 1.2), link="logit")).axes
    for line, variance in zip((*lines(latent, GREY), *lines(latent, BLUE)), (0.25, 0.25 + 1.44), strict=True):
        x, y = line.get_data()
        z = np.linspace(-8, 8, 4001)
        mixed = integrate.trapezoid(
            stats.logistic.pdf(x[:, None] - np.sqrt(variance) * z) * stats.norm.pdf(z), z, axis=1
        )
        np.testing.assert_allclose(y[5:-5], mixed[5:-5], atol=1e-4)


def test_only_two_systems_and_thresholds_have_that_picture():
    for truth in (card2020.settings["low"], Truth((0.1, 0.2), (0.0,))):
        with pytest.raises(InputError, match="two systems and thresholds"):
            implied_difference(truth)


def test_a_contour_plot_ends_where_little_is_left_to_gain() -> None:
    """With 2 ratings per text .9 is reached at 50 items; what was simulated is in the picture, too."""
    from ordbridge.render.figures.plan import _interesting

    def row(items: int, ratings: int, predicted: float, n: int = 0) -> dict[str, float]:
        return {"items": items, "ratings_per_text": ratings, "predicted": predicted, "n": n}

    rows = [row(m, r, min(m * r / 90, 0.99)) for r in (2, 10) for m in range(10, 501, 10)]
    assert _interesting(rows, target=0.8) == (10, 50)
    assert _interesting([*rows, row(120, 2, 0.99, n=200)], target=0.8) == (10, 120)
    never = [row(m, 2, 0.3) for m in (10, 500)]
    assert _interesting(never, target=0.8) == (10, 500)
