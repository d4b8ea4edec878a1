"""Agreement and correlation read together, and what a paper has to report beside them."""

from __future__ import annotations

from typing import Any

from ordbridge.reliability.interpretation import benchmark
from ordbridge.reliability.records import Coefficient

__all__ = ["ALL_RATERS", "ALL_RATINGS", "TO_FILL_IN", "joint_reading", "located", "where"]

ALL_RATINGS = "all ratings"
ALL_RATERS = "all raters"

ENOUGH_AGREEMENT = 0.67  # below it Krippendorff discards
HIGH_CORRELATION = 0.5  # above it Rosenthal speaks of large correlations

TO_FILL_IN = (
    "Did the raters work independently of each other?",
    "What were the raters told (instructions, examples, training)?",
    "Who were the raters (number asked, language, expertise, payment), and how were they found?",
    "How were the items chosen, and in which order did a rater see them?",
    "What did the scale look like, and how were its points worded?",
    "Were ratings left out or corrected afterwards, and by which rule?",
)


def joint_reading(agreement: Coefficient, correlation: Coefficient | None, sorted_within_items: bool = False) -> str:
    """Read agreement beside correlation, as Amidei et al. (2019) argue that one should.

    Each is called high or low only when that holds with a probability of 95 %.

    Parameters
    ----------
    agreement
        A coefficient of agreement at the level of measurement, corrected for chance.
    correlation
        A coefficient of correlation, if the level of measurement has one.
    sorted_within_items
        Whether the ratings look sorted, so that the correlation is not one of raters.

    Examples
    --------
    >>> from ordbridge.reliability import goodman_kruskal_gamma, krippendorff_alpha
    >>> ratings = [[1, 3], [2, 4], [3, 5], [1, 2], [3, 4]] * 10
    >>> joint_reading(krippendorff_alpha(ratings), goodman_kruskal_gamma(ratings))[:70]
    'Low agreement but high correlation: the raters are consistent, but use'
    """
    agree = _above(agreement, ENOUGH_AGREEMENT)
    words = (
        f"{agreement.name} = {agreement.estimate:.2f}{_interval(agreement)}: "
        f"{benchmark(agreement, 'landis_koch')} by Landis & Koch, {benchmark(agreement, 'krippendorff')} by "
        "Krippendorff"
    )
    if correlation is None:
        return f"{_AGREEMENT_ALONE[agree]} ({words})."
    verdict = _VERDICTS[agree, _direction(correlation)]
    if sorted_within_items:
        verdict = (
            "One rater is never below another: if the ratings were sorted within items, this correlation says nothing "
            "about raters; at face value: " + verdict[0].lower() + verdict[1:]
        )
    return (
        f"{verdict} ({words}; {correlation.name} = {correlation.estimate:.2f}{_interval(correlation)}: "
        f"{benchmark(correlation, 'rosenthal')} by Rosenthal)."
    )


def _above(coefficient: Coefficient, border: float) -> str:
    """Return whether a coefficient is surely above a border ("high"), surely below it ("low"), or "open"."""
    low, high = coefficient.surely_above, coefficient.surely_below
    if low is None or high is None:
        return "open"
    return "high" if low >= border else "low" if high < border else "open"


def _direction(correlation: Coefficient) -> str:
    if correlation.surely_below is not None and correlation.surely_below < 0:
        return "negative"
    return _above(correlation, HIGH_CORRELATION)


_LOOK = (
    "look for single raters who stand apart, an unclear criterion or unclear instructions before using these ratings"
)
_MODEL = (
    "comparisons of items can be trusted more than the absolute ratings, and a rater's own level has to be modelled"
)
_NEGATIVE = (
    "negative correlation: what one rater puts high another puts low; somebody may have read the scale the other way "
    "round"
)
_VERDICTS = {
    ("high", "high"): "High agreement and high correlation: the raters use the scale alike and order the items alike",
    ("low", "high"): "Low agreement but high correlation: the raters are consistent, but use the scale differently; "
    + _MODEL,
    ("open", "high"): "High correlation, and agreement that may be high or low: the raters order the items alike, but "
    "it cannot be said with these data whether they use the scale alike; " + _MODEL,
    ("low", "low"): "Low agreement and low correlation: the raters do not see the same thing in the items; " + _LOOK,
    ("high", "low"): "High agreement but low correlation: the raters choose the same few categories, so there is "
    "hardly any order of items left on which they could be consistent",
    ("open", "low"): "Low correlation, and agreement that may be high or low: the raters order the items differently, "
    "and it cannot be said with these data whether they agree; " + _LOOK,
    ("high", "open"): "High agreement, and correlation that may be high or low: the raters use the scale alike, but it "
    "cannot be said with these data whether they order the items alike",
    (
        "low",
        "open",
    ): "Low agreement, and correlation that may be high or low: it cannot be said with these data whether "
    "the raters at least order the items alike",
    ("open", "open"): "Neither agreement nor correlation can be called high or low with these data: more items, or "
    "more raters of each item, are needed",
    ("high", "negative"): "High agreement but " + _NEGATIVE,
    ("low", "negative"): "Low agreement and " + _NEGATIVE,
    ("open", "negative"): "Agreement that may be high or low, and " + _NEGATIVE,
}
_AGREEMENT_ALONE = {
    "high": "High agreement: the raters use the categories alike; correlation is not defined here",
    "low": "Low agreement: the raters agree too little to trust single ratings; correlation is not defined here",
    "open": "Agreement cannot be called high or low with these data: more items, or more raters of each item, are "
    "needed; correlation is not defined here",
}


def _interval(coefficient: Coefficient) -> str:
    if coefficient.conf_low is None or coefficient.conf_high is None:
        return ""
    return f" [{coefficient.conf_low:.2f}, {coefficient.conf_high:.2f}]"


def where(row: dict[str, Any]) -> str:
    """Return "criterion, group", without what is said of all ratings and all raters."""
    places = ((row.get("criterion"), ALL_RATINGS), (row.get("group"), ALL_RATERS))
    return ", ".join(place for place, everything in places if place not in (None, everything))


def located(row: dict[str, Any], text: str) -> str:
    """Return the sentence with the criterion and group that it is about."""
    place = where(row)
    return f"{place}: {text}" if place else text[:1].upper() + text[1:]
