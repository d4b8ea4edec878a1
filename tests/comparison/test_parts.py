"""The parts of a comparison: scales, letters, corrections."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pyarrow as pa
import pytest

from ordbridge.comparison.family import ADJUSTMENTS, correct, largest_of
from ordbridge.comparison.scale import read_scale
from ordbridge.errors import InputError
from ordbridge.models.inference import resampling
from ordbridge.support.letters import letters
from ordbridge.support.progress import Progress


def scale_of(values, levels=()):
    scale, response = read_scale(pa.chunked_array([values]), levels)
    return scale, response.to_pylist()


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2, 3, 4, 5], "ordinal"),
        ([*range(11)], "ordinal"),  # 0 to 10
        ([0, 25, 50, 75, 100], "ordinal"),
        ([*range(0, 101, 10)], "slider"),
        ([*range(12)], "slider"),
        ([1.0, 1.5, 2.0, 2.5], "ordinal"),
        ([0.12, -1.3, 0.4, 2.2, 0.9, 1.1, -0.2, 0.3, 0.31, 0.32, 0.33, 0.34], "slider"),
        ([0, 1], "two categories"),
        ([4, 5], "two categories"),
        ([True, False], "two categories"),
        (["yes", "no"], "two categories"),
    ],
)
def test_what_kind_of_ratings(values, kind):
    assert scale_of(values)[0].kind == kind


def test_ratings_count_as_the_numbers_they_are():
    scale, response = scale_of([1.5, None, 2.0])
    assert scale.scores == (1.5, 2.0) and response == ["1.5", None, "2"]
    scale, response = scale_of(["no", "yes", "no"])
    assert scale.is_share and response == [0, 1, 0]
    # a label that nobody used keeps its place
    scale, response = scale_of(["fair", "good"], ("poor", "fair", "good"))
    assert scale.scores == (1.0, 2.0, 3.0) and response == [2, 3]


@pytest.mark.parametrize(
    ("values", "levels", "words"),
    [
        (["so-so", "great", "bad"], (), r"give them from lowest to highest by levels=\['so-so', 'great', 'bad'\]"),
        (["poor", "grand"], ("poor", "good"), "the rating 'grand' is not among levels="),
        (pa.nulls(2), (), "there is no rating"),
    ],
)
def test_ratings_that_cannot_be_compared(values, levels, words):
    with pytest.raises(InputError, match=words):
        scale_of(values, levels)


def test_letters_are_shared_exactly_by_systems_that_do_not_differ():
    random = np.random.default_rng(1)
    for _ in range(200):
        systems = [f"s{k}" for k in range(random.integers(2, 8))]
        pairs = [frozenset(pair) for pair in itertools.combinations(systems, 2)]
        different = {pair for pair in pairs if random.random() < 0.5}
        shown = letters(systems, different)
        for a, b in itertools.combinations(systems, 2):
            assert bool(set(shown[a]) & set(shown[b])) == (frozenset((a, b)) not in different)
        used = sorted({letter for word in shown.values() for letter in word})
        assert used == list("abcdefghijklmnopqrstuvwxyz")[: len(used)] and "a" in shown[systems[0]]


@pytest.mark.parametrize("method", [name for name in ADJUSTMENTS if name not in ("dunnett", "tukey")])
@pytest.mark.parametrize("over_criteria", [True, False])
def test_an_interval_excludes_zero_exactly_where_the_corrected_p_value_is_below_alpha(method, over_criteria):
    """A p-value below its own alpha is one whose interval, of that level, excludes 0."""
    random = np.random.default_rng(2)
    for _ in range(300):
        p = [random.beta(0.3, 2.0, n) for n in random.integers(1, 7, 2)]
        for values, found in zip(p, correct(p, method, 0.05, over_criteria, [], [], []), strict=True):
            assert np.array_equal(found.p_value < 0.05, values < found.alpha)
            assert (found.p_value >= values - 1e-15).all()
            assert (found.alpha <= 0.05 + 1e-12).all()  # never narrower than the uncorrected interval


@pytest.mark.parametrize("method", ["dunnett", "tukey"])
@pytest.mark.parametrize("df", [np.inf, 7.0])
@pytest.mark.slow
def test_the_same_with_joint_distributions(method, df):
    from scipy import stats

    half = np.full((3, 3), 0.5) + 0.5 * np.eye(3)
    t = np.array([1.0, 2.2, 2.45])
    p = 2 * stats.t.sf(t, df)
    [once] = correct([p], method, 0.05, True, [half], [np.full(3, df)], [3])
    assert np.array_equal(once.p_value < 0.05, p < once.alpha)
    [far] = correct([p * 1e-9], method, 0.05, True, [half], [np.full(3, df)], [3])
    assert far.p_value == pytest.approx(3e-9 * p)  # where the integral has no digits left
    twice = correct([p, p], method, 0.05, True, [half] * 2, [np.full(3, df)] * 2, [3, 3])
    assert twice[0].p_value == pytest.approx(np.minimum(1, 2 * once.p_value))
    assert np.array_equal(twice[0].p_value < 0.05, p < twice[0].alpha)


@pytest.mark.parametrize(
    ("comparisons", "df", "value"),
    # two-sided 5 % points for equal group sizes (Dunnett 1964)
    [(2, 10, 2.57), (3, 10, 2.76), (2, np.inf, 2.21), (9, np.inf, 2.69)],
)
def test_dunnetts_table(comparisons, df, value):
    half = np.full((comparisons, comparisons), 0.5) + 0.5 * np.eye(comparisons)
    assert largest_of(value, df, half) == pytest.approx(0.05, abs=0.0015)


@pytest.mark.slow
def test_the_time_left_is_that_of_all_pairs_and_of_new_draws_only(tmp_path):
    """Pairs take turns, and draws that are stored say nothing about how long new ones take."""
    told: list[Progress] = []

    class Slow:
        def __init__(self, number: int) -> None:
            self.number, self.fingerprint = number, f"{number:016x}"

        def one(self, draw: int) -> list[float]:
            time.sleep(0.01)
            return [float(100 * self.number + draw)]

    works = [Slow(number) for number in range(3)]
    how = resampling.DrawPlan(0, store=tmp_path / "pairs", progress=told.append)
    first = resampling.Together(works, how).until([5, 0, 30])
    assert first == [[[float(k)] for k in range(5)], [], [[200.0 + k] for k in range(30)]]
    assert [one.done for one in told] == [5, 25, 35] and told[-1].total == 35
    told.clear()
    again = resampling.Together(works, how).until([5, 10, 31])  # what is stored is not drawn again
    assert again == [first[0], [[100.0 + k] for k in range(10)], [*first[2], [230.0]]]
    assert [one.done for one in told] == [45, 46] and told[0].seconds_left >= 0.01

    list(resampling.results(Slow(7), resampling.DrawPlan(20, store=tmp_path / "draws")))
    told.clear()
    list(resampling.results(Slow(7), resampling.DrawPlan(60, store=tmp_path / "draws", progress=told.append)))
    assert told[19].seconds_left is None  # all that is known was stored
    assert told[20].seconds_left >= 39 * 0.01
    assert told[-1].done == 60
