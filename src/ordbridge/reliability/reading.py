"""Agreement and correlation read together, and what a paper has to report beside them."""

from __future__ import annotations

from typing import Any

from ordbridge.reliability import interpretation
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


def joint_reading(kappa: Coefficient, gamma: Coefficient | None, sorted_within_items: bool = False) -> str:
    """Read agreement beside correlation, as Amidei et al. (2019) argue that one should.

    Examples
    --------
    >>> from ordbridge.reliability import davies_fleiss_kappa, goodman_kruskal_gamma
    >>> ratings = [[1, 2], [2, 3], [3, 4], [4, 5], [3, 3]]
    >>> joint_reading(davies_fleiss_kappa(ratings, draws=0), goodman_kruskal_gamma(ratings, draws=0))[:69]
    'Low agreement but high correlation: the raters are consistent, but us'
    """
    agreement = (
        f"{kappa.name} = {kappa.value:.2f}{_interval(kappa)}: {interpretation.landis_koch(kappa.value)} "
        f"by Landis & Koch, {interpretation.krippendorff(kappa.value)} by Krippendorff"
    )
    agree = kappa.value >= ENOUGH_AGREEMENT
    if gamma is None:
        verdict = "The raters agree" if agree else "The raters agree too little to trust single ratings"
        return f"{verdict} ({agreement}); nothing can be said about correlation here."
    correlation = (
        f"{gamma.name} = {gamma.value:.2f}{_interval(gamma)}: {interpretation.rosenthal(gamma.value)} by Rosenthal"
    )
    verdict = _VERDICTS[agree, gamma.value > HIGH_CORRELATION]
    if sorted_within_items:
        verdict = (
            "One rater is never below another: if the ratings were sorted within items, this correlation says nothing "
            "about raters; at face value: " + verdict[0].lower() + verdict[1:]
        )
    return f"{verdict} ({agreement}; {correlation})."


_VERDICTS = {
    (True, True): "High agreement and high correlation: the raters use the scale alike and order the items alike",
    (False, True): "Low agreement but high correlation: the raters are consistent, but use the scale differently; "
    "comparisons of items can be trusted more than the absolute ratings, and a rater's own level has to be modelled",
    (False, False): "Low agreement and low correlation: the raters do not see the same thing in the items; look for "
    "single raters who stand apart, an unclear criterion or unclear instructions before using these ratings",
    (True, False): "High agreement but low correlation: the raters choose the same few categories, so there is hardly "
    "any order of items left on which they could be consistent",
}


def _interval(coefficient: Coefficient) -> str:
    if coefficient.low is None or coefficient.high is None:
        return ""
    return f" [{coefficient.low:.2f}, {coefficient.high:.2f}]"


def where(row: dict[str, Any]) -> str:
    """Return "criterion, group", without what is said of all ratings and all raters."""
    places = ((row.get("criterion"), ALL_RATINGS), (row.get("group"), ALL_RATERS))
    return ", ".join(place for place, everything in places if place not in (None, everything))


def located(row: dict[str, Any], text: str) -> str:
    """Return the sentence with the criterion and group that it is about."""
    place = where(row)
    return f"{place}: {text}" if place else text[:1].upper() + text[1:]
