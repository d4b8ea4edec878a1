"""Gladkoff, Han & Nenadic (2023): intervals from one, two or a few scores, every number computed again.

"Student's t-Distribution: On Measuring the Inter-Rater Reliability When the Observations are Scarce", RANLP 2023.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from ordbridge.papers.reproduction import (
    CORRECTED,
    HOLDS,
    Claim,
    Part,
    Reproduction,
    as_printed,
    claims_table,
)
from ordbridge.reliability import arf_interval, margins, raters_needed, t_interval, verdict_rates
from ordbridge.render.figures.style import BLUE, GREY, INK, ORANGE, empty_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["OBSERVATION", "PRIOR", "SCORES", "TABLE_1", "THRESHOLD", "chance_of_missing", "claims", "reproduce"]

REFERENCE = (
    "Gladkoff, S., Han, L., & Nenadic, G. (2023). Student's t-distribution: on measuring the inter-rater reliability "
    "when the observations are scarce. RANLP 2023, 419-428."
)
TABLE_1 = {1 / 2: "0.05", 1 / 3: "1.26", 1 / 4: "1.8", 1 / 5: "2.31", 1 / 10: "4.79", 1 / 20: "9.66", 1 / 100: "48.39"}
"""The factor k of a normal distribution for each α, as the paper prints it."""
TABLE_1_UNKNOWN = dict(zip(TABLE_1, ("0.5", "1.866", "2.914", "3.936", "8.972", "18.987", "98.997"), strict=True))
"""The same for what the paper calls an unknown distribution."""
PRIOR, OBSERVATION, SCALE = 96.3, 85.2, (0.0, 100.0)
SCORES, LEVEL, THRESHOLD = (76.85, 81.99), 0.8, 80.0
"""The worked examples: one score with a value known before it, and two scores with a threshold for passing."""

_ONE, _TWO = "one score, worked example", "two scores, worked example"
claims: dict[str, Claim] = {
    **{f"k{alpha:.4f}": Claim(f"k, normal, α = {alpha:.3g}", k, "Table 1") for alpha, k in TABLE_1.items()},
    **{
        f"u{alpha:.4f}": Claim(f"k, unknown distribution, α = {alpha:.3g}", k, "Table 1")
        for alpha, k in TABLE_1_UNKNOWN.items()
    },
    "centre": Claim("centre of the interval", "90.75", _ONE),
    "high75": Claim("upper end at 75 %", "100", _ONE),
    "high80": Claim("upper end at 80 %", "100", _ONE),
    "relative80": Claim("margin at 80 % over the centre", "25 %", _ONE),
    "margin75": Claim("margin at 75 %", "19.98", _ONE),
    "low75": Claim("lower end at 75 %", "70.77", _ONE),
    "margin80": Claim("margin at 80 %", "25.64", _ONE),
    "low80": Claim("lower end at 80 %", "65.11", _ONE),
    "mean": Claim("mean", "79.42", _TWO),
    "sd": Claim("standard deviation", "3.6345", _TWO),
    "margin": Claim("margin at 80 %", "7.91", _TWO),
    "low": Claim("lower end", "71.51", _TWO),
    "high": Claim("upper end", "87.33", _TWO),
    "relative": Claim("margin over mean", "9.96 %", _TWO),
    "agreement1": Claim("agreement, over the first score", "93.3 %", _TWO),
    "agreement2": Claim("agreement, over the second score", "93.7 %", _TWO),
    "verdict": Claim("verdict against a threshold of 80", "borderline FAIL", _TWO),
}
"""What the paper prints."""


def reproduce() -> Reproduction:
    """Compute every number of the paper again, and tick or correct it.

    Examples
    --------
    >>> result = reproduce()
    >>> [row["claim"] for row in result.claims.to_pylist() if row["verdict"] == "corrected"]
    ['k, normal, α = 0.5', 'k, normal, α = 0.05', 'margin at 80 % over the centre']
    """
    rows = [*_table_1(), *_one_score(), *_two_scores()]
    wrong = [row for row in rows if row["verdict"] == CORRECTED]
    summary = (
        f"{len(rows) - len(wrong)} of {len(rows)} numbers come out as printed.",
        *(f"{row['where']}, {row['claim']}: {row['paper']} is printed; {row['reason']}." for row in wrong),
        "The worked example with one score multiplies with factors rounded to two decimals; exact ones move the lower "
        "end by 0.03 points or less.",
        "The interval that the paper offers for an unknown distribution is exact for symmetric distributions with one "
        "peak. It does not hold for every distribution: one with two equally likely values can be missed half of the "
        "time.",
    )
    parts = (
        Part("factors", "The factor k of an interval from one score", _factors()),
        Part(
            "chance_of_missing",
            "How often an 80 % interval from one score misses the mean",
            _missing_figure(),
            (
                "The interval misses when the score lies between r and 1/r times the distance of the prior value from "
                "the mean, with r = (2k − 1)/(2k + 1). The normal factor touches 20 % for a normal distribution, the "
                "other one for a uniform distribution; with two equally likely values both can miss half of the time.",
            ),
        ),
        Part(
            "margins",
            "How the margin of a mean shrinks with more raters",
            _margins(),
            (
                f"From the two scores {SCORES[0]} and {SCORES[1]}, taken as typical: for a margin of 3 points at 80 % "
                f"one needs {raters_needed(SCORES, margin=3, conf_level=LEVEL)} raters. As the spread of two scores is "
                "uncertain, so many reach that margin about half of the time only; if the standard deviation were "
                f"known to be {np.std(SCORES, ddof=1):.2f}, "
                f"{raters_needed(sd=float(np.std(SCORES, ddof=1)), margin=3, conf_level=LEVEL, assurance=0.8)} raters "
                "would reach it with a probability of 80 %.",
            ),
        ),
        Part(
            "verdicts",
            "How often a series of such evaluations gives a wrong verdict (simulated)",
            verdict_rates(float(np.std(SCORES, ddof=1)), THRESHOLD, conf_level=LEVEL, scale=SCALE),
            (
                "Raters' scores are normal around the true mean, with the standard deviation of the paper's scores. "
                "A clear verdict on the wrong side is wrong; by the mean, a borderline one counts too.",
            ),
        ),
        Part("margins_figure", "The same as a picture", _margins_figure()),
    )
    return Reproduction("Intervals when observations are scarce", REFERENCE, summary, claims_table(rows), parts)


def _table_1() -> list[dict[str, str]]:
    reasons = {"0.05": "a misprint of 0.5", "9.66": "k is 9.6529, which rounds to 9.65"}
    rows = []
    for alpha, printed in TABLE_1.items():
        k = _k(alpha, "normal")
        same = as_printed(k, printed) == as_printed(float(printed), printed)
        verdict = HOLDS if same else CORRECTED
        rows.append(claims[f"k{alpha:.4f}"].judged(f"{k:.4f}", verdict, "" if same else reasons[printed]))
    for alpha, printed in TABLE_1_UNKNOWN.items():
        k = _k(alpha, "unimodal")
        same = as_printed(k, printed) == printed
        reason = "for symmetric distributions with one peak; not for every distribution"
        rows.append(claims[f"u{alpha:.4f}"].judged(f"{k:.4f}", HOLDS if same else CORRECTED, reason))
    return rows


def _one_score() -> list[dict[str, str]]:
    rows = []
    for percent, alpha in ((75, 1 / 4), (80, 1 / 5)):
        exact = arf_interval(OBSERVATION, PRIOR, conf_level=1 - alpha, distribution="normal", scale=SCALE)
        margin = float(TABLE_1[alpha]) * abs(OBSERVATION - PRIOR)  # with the factor as Table 1 rounds it
        for name, rounded, value in (
            (f"margin{percent}", margin, exact.margin),
            (f"low{percent}", exact.centre - margin, exact.conf_low),
        ):
            claim = claims[name]
            verdict = HOLDS if as_printed(rounded, claim.paper) == claim.paper else CORRECTED
            reason = f"with the rounded factor {TABLE_1[alpha]}; {value:.2f} with the exact one, {exact.k:.4f}"
            rows.append(claim.judged(f"{rounded:.2f}", verdict, reason))
        upper = claims[f"high{percent}"]
        rows.append(upper.judged(f"{exact.conf_high:g}", HOLDS if exact.conf_high == 100 else CORRECTED, "clamped"))
    middle = claims["centre"]
    centre = as_printed(exact.centre, middle.paper)
    rows.append(middle.judged(centre, HOLDS if centre == middle.paper else CORRECTED))
    claim, share = claims["relative80"], 100 * margin / exact.centre
    verdict = HOLDS if as_printed(share, claim.paper) + " %" == claim.paper else CORRECTED
    rows.append(claim.judged(f"{share:.1f} %", verdict, f"{margin:.2f} of {exact.centre:.2f}"))
    return rows


def _two_scores() -> list[dict[str, str]]:
    interval = t_interval(SCORES, conf_level=LEVEL, scale=SCALE, threshold=THRESHOLD)
    first, second = interval.agreement or (float("nan"), float("nan"))
    ours = {
        "mean": interval.mean,
        "sd": interval.sd,
        "margin": interval.margin,
        "low": interval.conf_low,
        "high": interval.conf_high,
        "relative": 100 * (interval.relative_margin or float("nan")),
        "agreement1": 100 * first,
        "agreement2": 100 * second,
    }
    rows = []
    for name, value in ours.items():
        claim = claims[name]
        unit = " %" if "%" in claim.paper else ""
        text = as_printed(value, claim.paper) + unit
        rows.append(claim.judged(text, HOLDS if text == claim.paper else CORRECTED))
    verdict = str(interval.verdict)
    return [*rows, claims["verdict"].judged(verdict, HOLDS if verdict == claims["verdict"].paper else CORRECTED)]


def chance_of_missing(k: float, distance: np.ndarray, distribution: str) -> np.ndarray:
    """Return how often the interval from one score misses the mean.

    Parameters
    ----------
    k
        Its factor.
    distance
        How far the prior value is from the mean, in standard deviations of the score.
    distribution
        Of the score: ``"normal"``, ``"uniform"`` or ``"two-point"`` (mean ± one standard deviation).

    Examples
    --------
    >>> k = arf_interval(1, prior=0, conf_level=0.8, scale=None).k
    >>> round(float(chance_of_missing(k, np.linspace(0.5, 2, 500), "normal").max()), 4)
    0.2
    """
    from scipy import stats

    r = (2 * k - 1) / (2 * k + 1)
    near, far = distance * r, distance / r
    if distribution == "two-point":
        return 0.5 * ((near < 1) & (far > 1))
    width = np.sqrt(3.0)
    law = stats.norm() if distribution == "normal" else stats.uniform(-width, 2 * width)
    return np.asarray(law.cdf(far) - law.cdf(near))


def _k(alpha: float, distribution: str) -> float:
    return arf_interval(1.0, prior=0.0, conf_level=1 - alpha, distribution=distribution, scale=None).k


def _factors() -> pa.Table:
    rows = [
        {
            "alpha": alpha,
            "confidence": f"{1 - alpha:.1%}",
            "normal": _k(alpha, "normal"),
            "normal_in_the_paper": printed,
            "symmetric_with_one_peak": _k(alpha, "unimodal"),
        }
        for alpha, printed in TABLE_1.items()
    ]
    return pa.Table.from_pylist(rows)


def _margins() -> pa.Table:
    return margins(SCORES, conf_level=LEVEL, up_to=10)


def _missing_figure() -> Figure:
    picture = empty_figure(7.2, 3.6)
    distance = np.linspace(0.02, 4, 800)
    panels = picture.subplots(1, 2, sharey=True)
    for panel, kind in zip(panels, ("normal", "unimodal"), strict=True):
        k = _k(0.2, kind)
        for law, colour in (("normal", BLUE), ("uniform", ORANGE), ("two-point", GREY)):
            panel.plot(distance, chance_of_missing(k, distance, law), color=colour, label=law)
        panel.axhline(0.2, color=INK, linewidth=0.8, linestyle=":")
        name = "normal" if kind == "normal" else "symmetric, one peak"
        panel.set_title(f"factor for: {name} (k = {k:.2f})", fontsize=10, loc="left")
        panel.set_xlabel("prior value − mean, in standard deviations")
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("chance of missing the mean")
    panels[0].set_ylim(0, 0.55)
    panels[1].legend(title="the score is", frameon=False, fontsize=8, title_fontsize=8, loc="upper right")
    return picture


def _margins_figure() -> Figure:
    table = _margins()
    picture = empty_figure(5.2, 3.2)
    panel = picture.subplots()
    panel.plot(table["raters"].to_pylist(), table["margin"].to_pylist(), marker="o", color=BLUE)
    panel.set_xlabel("raters")
    panel.set_ylabel("margin at 80 %, in points")
    panel.set_ylim(0, None)
    panel.spines[["top", "right"]].set_visible(False)
    return picture
