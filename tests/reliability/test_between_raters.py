"""What raters add to the variance of a coefficient, from single ratings."""

import numpy as np
import pytest

from ordbridge import reliability as rel
from ordbridge.reliability import jackknife
from ordbridge.reliability.between_raters import SingleRatings, between_raters


def mean_of_pairs(rater_sd: float, n: int, k: int, m: int, rng: np.random.Generator) -> SingleRatings:
    """Return what a mean over items of means over pairs would be without each item and rating; the mean itself is 0."""
    column = np.argsort(rng.random((n, m)), axis=1)[:, :k]
    effect = rng.normal(scale=rater_sd, size=m)[column]
    pair = rng.normal(size=(n, 1, 1)) + effect[:, :, None] + effect[:, None, :]
    noise = np.triu(rng.normal(size=(n, k, k)), 1)
    pair = pair + noise + noise.transpose(0, 2, 1)
    pair[:, np.arange(k), np.arange(k)] = 0.0
    item = pair.sum(axis=(1, 2)) / (k * (k - 1))
    pair -= item.mean() * (1 - np.eye(k))
    item = item - item.mean()
    rest = (pair.sum(axis=(1, 2))[:, None] - 2 * pair.sum(axis=2)) / ((k - 1) * (k - 2))
    row = np.repeat(np.arange(n), k)
    return SingleRatings(-item / (n - 1), -(item[:, None] - rest).ravel() / n, row, column.ravel())


@pytest.mark.parametrize(("n", "k", "m"), [(60, 3, 24), (40, 4, 4), (50, 3, 6)])
def test_its_mean_is_the_variance_that_raters_add(n, k, m):
    """A rater's effect is in 2/k of each of his or her items; within an item it counts as the item's."""
    rng = np.random.default_rng([n, k, m])
    for rater_sd in (0.0, 0.7):
        found, true = [], []
        for _ in range(400):
            single = mean_of_pairs(rater_sd, n, k, m, rng)
            raters, noise = between_raters(0.0, single)
            found.append(raters - noise)
            times = np.bincount(single.column, minlength=m)
            true.append(rater_sd**2 * (2 / k) ** 2 * (times * (times - 1)).sum() / n**2)
        error = np.std(found) / np.sqrt(len(found))
        # the jackknife of n items is n/(n − 1) too large where raters differ
        assert abs(np.mean(found) - np.mean(true)) < 3.5 * error + 0.05 * np.mean(true)


def test_a_complete_design_has_what_leaving_out_raters_and_items_gives():
    """The same for a percentage, which is a mean, but for terms of second order in 1/items."""
    rng = np.random.default_rng(4)
    matrix = np.digitize(rng.normal(size=(400, 1)) + rng.normal(size=(400, 6)) * np.arange(1, 7) / 5, [-0.8, 0, 0.8])
    ratings = rel.prepare(matrix + 1)
    new, old = [], []

    def keep(found, *_):
        new.append(between_raters(found.whole, found.single))
        return {}

    patch = pytest.MonkeyPatch()
    with patch.context() as changed:
        changed.setattr(jackknife, "interval_of", keep)
        rel.percent_agreement(matrix + 1)
    left = jackknife.leave_out(ratings, lambda some: rel.percent_agreement(some, conf_level=None).estimate, True)
    old = jackknife._of_raters(left, lambda value: value)
    (raters, noise), (of_raters, of_both) = new[0], old
    assert raters - noise == pytest.approx(of_raters - of_both, rel=0.05)


def test_raters_who_rated_one_item_each_say_nothing_about_raters():
    row, column = np.repeat(np.arange(5), 2), np.arange(10)
    assert between_raters(0.5, SingleRatings(np.linspace(0.4, 0.6, 5), np.full(10, 0.5), row, column)) == (0.0, 0.0)
