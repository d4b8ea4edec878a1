"""Probability of one rating's interval under the five links, with derivatives that stay right in the tails.

A rating lies between two cut-points; with a = upper cut-point - eta and b = lower cut-point - eta its probability is
pi = F(a) - F(b). The likelihood and its derivatives up to the third need, beside log pi, the density f and its first
two derivatives at a and b, each divided by pi:

    ra = f(a)/pi, ga = f'(a)/pi, ha = f''(a)/pi,    rb, gb, hb likewise at b.

Every difference F(a) - F(b) is written so that nothing cancels in either tail (McCullagh & Nelder 1989, section 5.2.2,
for the models; the forms of the differences are elementary).
"""

from __future__ import annotations

import math

from ordbridge.fast.compiled import kernel

__all__ = ["LINKS", "interval", "interval_terms"]

LINKS = {"probit": 0, "logit": 1, "cloglog": 2, "loglog": 3, "cauchit": 4}
PROBIT, LOGIT, CLOGLOG, LOGLOG, CAUCHIT = 0, 1, 2, 3, 4

_SQRT_HALF = math.sqrt(0.5)
_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
_INV_SQRT_2PI = 1.0 / math.sqrt(2.0 * math.pi)
_TINY = 1e-280  # below this probabilities are handled as logarithms


@kernel
def _log_normal_tail(x: float) -> float:
    """Log of Phi(-x) for x > 5: erfc where it is exact, the asymptotic series where it underflows."""
    if x < 35.0:
        return math.log(0.5 * math.erfc(x * _SQRT_HALF))
    z = 1.0 / (x * x)
    series = 1.0 - z * (1.0 - 3.0 * z * (1.0 - 5.0 * z * (1.0 - 7.0 * z)))
    return -0.5 * x * x - _LOG_SQRT_2PI - math.log(x) + math.log(series)


@kernel
def _log1m_exp(x: float) -> float:
    """log(1 - exp(x)) for x < 0."""
    if x > -0.6931471805599453:
        return math.log(-math.expm1(x))
    return math.log1p(-math.exp(x))


@kernel
def _log_logistic(x: float) -> float:
    if x > 0.0:
        return -math.log1p(math.exp(-x))
    return x - math.log1p(math.exp(x))


@kernel
def _log_interval_probit(a: float, b: float) -> float:
    if b > 0.0:
        a, b = -b, -a
    if a > 0.0:  # the interval holds zero: no tail is involved
        upper = 0.5 * math.erfc(-a * _SQRT_HALF)
        return math.log(upper - 0.5 * math.erfc(-b * _SQRT_HALF))
    upper = math.log(0.5 * math.erfc(-a * _SQRT_HALF)) if a > -5.0 else _log_normal_tail(-a)
    if b < -1e150:
        return upper
    lower = math.log(0.5 * math.erfc(-b * _SQRT_HALF)) if b > -5.0 else _log_normal_tail(-b)
    if lower >= upper:
        return -math.inf
    return upper + _log1m_exp(lower - upper)


@kernel
def _log_interval_logit(a: float, b: float) -> float:
    # F(a) - F(b) = F(a) F(-b) (1 - exp(b - a)), with no cancellation anywhere
    value = 0.0
    if a < math.inf:
        value += _log_logistic(a)
    if b > -math.inf:
        value += _log_logistic(-b)
        if a < math.inf:
            value += _log1m_exp(b - a)
    return value


@kernel
def _log_interval_cloglog(a: float, b: float) -> float:
    # F(x) = 1 - exp(-exp(x)), so F(a) - F(b) = exp(-exp(b)) (1 - exp(-exp(b) (exp(a - b) - 1)))
    if b == -math.inf:
        return _log1m_exp(-math.exp(a)) if a > -700.0 else a
    if b > 700.0:
        return -math.inf
    below = math.exp(b)
    if a == math.inf or a - b > 700.0:
        return -below
    width = below * math.expm1(a - b)
    if width < 1e-300:
        return b + math.log(math.expm1(a - b)) - below
    return -below + _log1m_exp(-width)


@kernel
def _interval_cauchit(a: float, b: float) -> float:
    if b == -math.inf:
        return math.atan2(1.0, -a) / math.pi
    if a == math.inf:
        return math.atan2(1.0, b) / math.pi
    return math.atan2(a - b, 1.0 + a * b) / math.pi


@kernel
def interval(link: int, a: float, b: float) -> float:
    """Log probability of the interval (b, a]; -inf where a <= b."""
    if not a > b:
        return -math.inf
    if link == PROBIT:
        return _log_interval_probit(a, b)
    if link == LOGIT:
        return _log_interval_logit(a, b)
    if link == CLOGLOG:
        return _log_interval_cloglog(a, b)
    if link == LOGLOG:
        return _log_interval_cloglog(-b, -a)
    return math.log(_interval_cauchit(a, b))


@kernel
def _log_density(link: int, x: float) -> float:
    if link == PROBIT:
        return -0.5 * x * x - _LOG_SQRT_2PI
    if link == LOGIT:
        return -abs(x) - 2.0 * math.log1p(math.exp(-abs(x)))
    if link == CLOGLOG:
        return x - math.exp(x) if x < 700.0 else -math.inf
    if link == LOGLOG:
        return -x - math.exp(-x) if x > -700.0 else -math.inf
    return -math.log(math.pi * (1.0 + x * x))


@kernel
def _density_ratios(link: int, x: float) -> tuple[float, float]:
    """Return f'(x)/f(x) and f''(x)/f(x)."""
    if link == PROBIT:
        return -x, x * x - 1.0
    if link == LOGIT:
        t = math.tanh(0.5 * x)  # 2 F(x) - 1
        return -t, 1.5 * t * t - 0.5
    if link == CLOGLOG:
        e = math.exp(x)
        return 1.0 - e, (1.0 - e) * (1.0 - e) - e
    if link == LOGLOG:
        e = math.exp(-x)
        return e - 1.0, (1.0 - e) * (1.0 - e) - e
    s = 1.0 / (1.0 + x * x)
    return -2.0 * x * s, (6.0 * x * x - 2.0) * s * s


@kernel
def _terms_at(link: int, x: float, log_pi: float) -> tuple[float, float, float]:
    if not (-math.inf < x < math.inf):
        return 0.0, 0.0, 0.0
    r = math.exp(_log_density(link, x) - log_pi)
    if r == 0.0:
        return 0.0, 0.0, 0.0
    d1, d2 = _density_ratios(link, x)
    return r, r * d1, r * d2


@kernel
def interval_terms(link: int, a: float, b: float) -> tuple[float, float, float, float, float, float, float]:
    """Return log pi, ra, rb, ga, gb, ha, hb of the interval (b, a]; log pi is -inf where a <= b."""
    if link == PROBIT and a > b:  # the common case, without logarithms of tails
        if b > 0.0:
            pi = 0.5 * (math.erfc(b * _SQRT_HALF) - math.erfc(a * _SQRT_HALF))
        else:
            pi = 0.5 * (math.erfc(-a * _SQRT_HALF) - math.erfc(-b * _SQRT_HALF))
        if pi > _TINY:
            scale = _INV_SQRT_2PI / pi
            ra = ga = ha = rb = gb = hb = 0.0
            if a < 1e150:
                ra = scale * math.exp(-0.5 * a * a)
                ga = -a * ra
                ha = (a * a - 1.0) * ra
            if b > -1e150:
                rb = scale * math.exp(-0.5 * b * b)
                gb = -b * rb
                hb = (b * b - 1.0) * rb
            return math.log(pi), ra, rb, ga, gb, ha, hb
    log_pi = interval(link, a, b)
    if log_pi == -math.inf:
        return log_pi, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    ra, ga, ha = _terms_at(link, a, log_pi)
    rb, gb, hb = _terms_at(link, b, log_pi)
    return log_pi, ra, rb, ga, gb, ha, hb
