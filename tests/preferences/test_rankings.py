"""Rankings: Plackett–Luce against its own likelihood written down, recovery of variances, and what is not exploded."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, optimize, stats

import ordbridge as ob
from ordbridge.preferences import PairTable, best_worst_pairs, compare_preferences
from ordbridge.preferences.rankings import Rankings, fit_rankings, rankings_of
from ordbridge.results.finding import has


def drawn(
    seed: int, raters: int, items: int, strength: tuple[float, ...], sd: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rankings (best first), raters and items; every rater ranks every item."""
    rng = np.random.default_rng(seed)
    S = len(strength)
    r, i = (x.ravel() for x in np.meshgrid(np.arange(raters), np.arange(items), indexing="ij"))
    u, v = rng.normal(0, sd, (raters, S)), rng.normal(0, sd, (items, S))
    utility = np.array(strength) + u[r] + v[i] + rng.gumbel(size=(len(r), S))
    return np.argsort(-utility, axis=1), r, i


def exploded(order: np.ndarray, rater: np.ndarray, item: np.ndarray) -> PairTable:
    """Return all pairs of rankings, in an order that says nothing."""
    S = order.shape[1]
    rows = [
        (order[n, a], order[n, b], rater[n], item[n])
        for n in range(len(order))
        for a in range(S)
        for b in range(a + 1, S)
    ]
    first, second, r, i = np.array(rows).T
    flip = np.random.default_rng(0).random(len(first)) < 0.5
    names = [tuple(f"{letter}{k}" for k in range(int(x.max()) + 1)) for letter, x in (("s", order), ("r", r), ("i", i))]
    return PairTable(
        names[0], np.where(flip, second, first), np.where(flip, first, second), np.where(flip, 0, 1), 2, r, i,
        names[1], names[2],
    )  # fmt: skip


def test_plain_likelihood_is_plackett_and_luces() -> None:
    order, _, _ = drawn(1, 6, 8, (0.0, 0.5, 1.0, -0.4), 0.0)

    def loss(beta: np.ndarray) -> float:
        strength = np.append(0.0, beta)[order]
        return -sum(one[k] - np.log(np.exp(one[k:]).sum()) for one in strength for k in range(len(one) - 1))

    best = optimize.minimize(loss, np.zeros(3), tol=1e-10).x
    assert fit_rankings(Rankings(order, 4)).coefficients == pytest.approx(best, abs=1e-5)


def test_two_systems_are_bradley_and_terry() -> None:
    order, _, _ = drawn(2, 8, 10, (0.0, 0.7), 0.5)
    fit = fit_rankings(Rankings(order, 2))
    share = (order[:, 0] == 1).mean()
    assert fit.coefficients[0] == pytest.approx(np.log(share / (1 - share)), abs=1e-6)
    assert fit.covariance[0, 0] == pytest.approx(1 / (len(order) * share * (1 - share)), rel=1e-6)


def test_two_systems_with_raters_are_the_tied_model() -> None:
    """The same integral by another program of ours: comparisons instead of choices."""
    from ordbridge.preferences.fitting import restricted

    order, r, i = drawn(3, 8, 12, (0.0, 0.7), 0.6)
    ranked = fit_rankings(Rankings(order, 2, (r, i)))
    paired = restricted(exploded(order, r, i).coded(("rater", "item")), 0.1)
    assert ranked.sd == pytest.approx(paired.sd, rel=1e-2)
    assert ranked.coefficients == pytest.approx(paired.coefficients, abs=1e-3)
    assert ranked.df(np.ones(1)) == pytest.approx(paired.df(np.ones(1)), rel=0.05)


def test_rankings_come_back_from_their_pairs() -> None:
    order, r, i = drawn(4, 5, 12, (0.0, 0.2, 0.4, 0.6), 0.3)
    table = exploded(order, r, i)
    found = rankings_of(table)
    assert found is not None
    back, row = found
    key = {(int(a), int(b)): list(o) for a, b, o in zip(r, i, order, strict=True)}
    for ranking, k in zip(back, row, strict=True):
        assert key[int(table.rater[k]), int(table.item[k])] == list(ranking)


def test_rankings_are_never_counted_as_independent_pairs() -> None:
    order, r, i = drawn(5, 6, 10, (0.0, 0.3, 0.6), 0.5)
    found = compare_preferences(exploded(order, r, i), engine="fast")
    assert found.models["model"].to_pylist() == ["Plackett–Luce model"]
    assert found.models["random"].to_pylist() == ["rater:system, item:system"]
    for row in found.pairs.to_pylist():
        assert row["p_value"] > row["naive_p_value"]


def test_items_ranked_once_have_no_variance_of_their_own() -> None:
    order, r, i = drawn(6, 5, 12, (0.0, 0.3, 0.6), 0.5)
    table = exploded(order, r, np.arange(len(i)))
    found = compare_preferences(table, engine="fast")
    assert has(found.findings, "items-ranked-once")
    assert found.models["random"].to_pylist() == ["rater:system"]


def test_tied_ranks_are_pairs_with_ties_and_the_same_rule() -> None:
    order, r, i = drawn(7, 2, 40, (0.0, 0.3, 0.6), 0.0)
    plain = exploded(order, r, i)
    y = np.where(plain.y == 1, 2, 0)
    same = (plain.rater == 0) & (plain.item < 15)  # one rater cannot tell some items' systems apart
    tied = PairTable(
        plain.systems,
        plain.first,
        plain.second,
        np.where(same, 1, y),
        3,
        plain.rater,
        plain.item,
        plain.raters,
        plain.items,
    )
    found = compare_preferences(tied, engine="fast")
    assert found.models["model"].to_pylist() == ["Rao–Kupper model"]
    assert has(found.findings, "exploded-rankings")


def test_best_worst_implies_pairs() -> None:
    pairs = best_worst_pairs([["A", "B", "C", "D"]], ["C"], ["A"])
    got = set(zip(pairs["first"], pairs["second"], strict=True))
    assert got == {("C", "A"), ("C", "B"), ("C", "D"), ("B", "A"), ("D", "A")}
    with pytest.raises(ob.InputError, match="choice 1: best and worst"):
        best_worst_pairs([["A", "B"]], ["A"], ["A"])


@pytest.mark.slow
def test_laplace_is_close_to_the_integral() -> None:
    """One rater less than a handful, one variance: the restricted likelihood against quadrature over u and β."""
    order, r, _ = drawn(8, 3, 6, (0.0, 0.4), 0.7)
    wins = np.array([(order[r == k, 0] == 1).sum() for k in range(3)])

    def of_rater(beta: float, won: int, sd: float) -> float:
        return integrate.quad(
            lambda z: np.exp(won * (beta + z) - 6 * np.logaddexp(0, beta + z)) * stats.norm.pdf(z, 0, sd * np.sqrt(2)),
            -9,
            9,
        )[0]

    def exact(sd: float) -> float:
        return -np.log(integrate.quad(lambda beta: np.prod([of_rater(beta, int(w), sd) for w in wins]), -9, 9)[0])

    from ordbridge.preferences.fitting import WIDEST
    from ordbridge.preferences.rankings import _PlackettLuce

    model = _PlackettLuce(Rankings(order, 2, (r,)), 0.0)
    rise = model(np.log([0.8]))[0] - model(np.log([0.2]))[0] - (0.8**2 - 0.2**2) / (2 * WIDEST**2)
    assert rise == pytest.approx(exact(0.8) - exact(0.2), abs=0.08)
