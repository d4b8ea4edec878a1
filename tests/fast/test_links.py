"""Probabilities of intervals and their derivatives, in the middle and far out in the tails."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import special, stats

from ordbridge._core import interval_terms
from ordbridge.models import links

LINKS = {name: link.number for name, link in links.LINKS.items()}

MIDDLE = [(0.3, -0.4), (2.5, 1.0), (-1.0, -3.5), (math.inf, 0.7), (-0.2, -math.inf), (0.1, 0.1 - 1e-6)]
CDF = {
    "probit": stats.norm.cdf,
    "logit": special.expit,
    "cloglog": lambda x: -np.expm1(-np.exp(x)),
    "loglog": lambda x: np.exp(-np.exp(-x)),
    "cauchit": stats.cauchy.cdf,
}


def interval(link: int, a: float, b: float) -> float:
    return interval_terms(link, a, b)[0]


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize(("a", "b"), MIDDLE)
def test_log_probability_is_the_difference_of_the_distribution_function(link: str, a: float, b: float) -> None:
    plain = CDF[link](a) - CDF[link](b)
    assert interval(LINKS[link], a, b) == pytest.approx(math.log(plain), rel=1e-9)
    assert interval_terms(LINKS[link], a, b)[0] == pytest.approx(math.log(plain), rel=1e-9)


def test_far_tails_of_the_probit_link_do_not_underflow() -> None:
    for a, b in ((-40.0, -41.0), (41.0, 40.0), (-38.0, -math.inf), (60.0, 59.5)):
        upper, lower = (a, b) if a < 0 else (-b, -a)
        exact = special.log_ndtr(upper) + math.log1p(-math.exp(special.log_ndtr(lower) - special.log_ndtr(upper)))
        assert interval(LINKS["probit"], a, b) == pytest.approx(exact, rel=1e-10)


@pytest.mark.parametrize("link", ["logit", "cloglog", "loglog", "cauchit"])
def test_far_tails_of_the_other_links_keep_their_logarithm(link: str) -> None:
    # F(x) ~ exp(x) far left for logit and cloglog, 1 - F(x) ~ exp(-x) far right for logit and loglog, 1/(pi |x|) for
    # cauchit
    if link in ("logit", "cloglog"):
        assert interval(LINKS[link], -300.0, -301.0) == pytest.approx(-300.0 + math.log1p(-math.exp(-1)), rel=1e-12)
    if link in ("logit", "loglog"):
        assert interval(LINKS[link], 301.0, 300.0) == pytest.approx(-300.0 + math.log1p(-math.exp(-1)), rel=1e-12)
    if link == "cauchit":
        assert interval(LINKS[link], -1e6, -2e6) == pytest.approx(math.log(0.5e-6 / math.pi), rel=1e-9)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize(("a", "b"), [*MIDDLE[:5], (-7.0, -9.0), (8.0, 6.5), (-38.5, -39.5)])
def test_terms_are_derivatives_of_the_log_probability(link: str, a: float, b: float) -> None:
    code = LINKS[link]
    if not math.isfinite(interval(code, a, b)) or interval(code, a, b) < -1e4:
        pytest.skip("the probability is zero in any precision")
    log_pi, ra, rb, ga, gb, ha, hb = interval_terms(code, a, b)
    h = 1e-5
    slope_a = (interval(code, a + h, b) - interval(code, a - h, b)) / (2 * h) if math.isfinite(a) else 0.0
    slope_b = (interval(code, a, b + h) - interval(code, a, b - h)) / (2 * h) if math.isfinite(b) else 0.0
    assert ra == pytest.approx(slope_a, rel=1e-6, abs=1e-8)
    assert -rb == pytest.approx(slope_b, rel=1e-6, abs=1e-8)

    def ratio(x: float, which: int) -> float:  # f and f' at x, divided by the pi of (a, b)
        shifted = interval_terms(code, x if which == 0 else a, b if which == 0 else x)
        return shifted[1 + which] * math.exp(shifted[0] - log_pi), shifted[3 + which] * math.exp(shifted[0] - log_pi)

    for x, which, g, second in ((a, 0, ga, ha), (b, 1, gb, hb)):
        if math.isfinite(x):
            (f_up, g_up), (f_down, g_down) = ratio(x + h, which), ratio(x - h, which)
            assert g == pytest.approx((f_up - f_down) / (2 * h), rel=1e-4, abs=1e-7)
            assert second == pytest.approx((g_up - g_down) / (2 * h), rel=1e-4, abs=1e-7)


def test_an_empty_interval_has_no_probability() -> None:
    assert interval_terms(LINKS["probit"], 0.0, 0.0)[0] == -math.inf
    assert interval_terms(LINKS["logit"], -1.0, 0.0)[0] == -math.inf


EXACT = json.loads((Path(__file__).parent / "interval_terms.json").read_text())


@pytest.mark.parametrize("link", LINKS)
def test_terms_are_right_to_the_fourteenth_digit(link: str) -> None:
    """Against 700-digit arithmetic, from the middle to 37 standard deviations; per interval a, b, log pi, ra, rb, ….

    log pi is held to 1e-14 absolute where the probability is near one, which is 1e-14 relative in the probability.
    """
    for a, b, log_pi, *ratios in EXACT[link]:
        terms = interval_terms(LINKS[link], float(a), float(b))
        assert terms[0] == pytest.approx(log_pi, rel=1e-14, abs=1e-14)
        np.testing.assert_allclose(terms[1:], ratios, rtol=1e-14, atol=1e-290)
