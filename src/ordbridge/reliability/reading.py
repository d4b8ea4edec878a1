"""Agreement and correlation read together, and what a paper has to report beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ordbridge.reliability.interpretation import benchmark
from ordbridge.reliability.records import Coefficient

__all__ = ["ALL_RATERS", "ALL_RATINGS", "TO_FILL_IN", "Reading", "joint_reading", "located", "where"]

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


@dataclass(frozen=True)
class Reading:
    """Agreement and correlation, read together.

    Attributes
    ----------
    agreement, correlation
        ``"high"``, ``"low"`` or ``"open"``; of a correlation also ``"negative"``, or ``None`` where there is none.
    verdict, finding, advice
        In words: what they are, what the raters do, and what to do about it (may be empty).
    numbers
        The coefficients with their intervals and labels.
    raters
        ``"random"``: it is about raters like these; ``"fixed"``: about these only.
    caution
        Why the correlation may not be one of raters; empty when there is nothing.
    """

    agreement: str
    correlation: str | None
    verdict: str
    finding: str
    advice: str
    numbers: str
    raters: str
    caution: str = ""

    @property
    def sentence(self) -> str:
        """The whole of it."""
        said = f"{self.verdict}: {'; '.join(filter(None, [self.finding, self.advice]))}"
        if self.caution:
            said = f"{self.caution}; at face value: {said[0].lower()}{said[1:]}"
        return f"{said} ({self.numbers})."


def joint_reading(
    agreement: Coefficient, correlation: Coefficient | None, sorted_within_items: bool = False
) -> Reading:
    """Read agreement beside correlation, as Amidei et al. (2019) argue that one should.

    Each is called high or low only when that holds with a probability of 95 %. Where the intervals are about these
    raters only, so is the finding: "these 3 raters", not "the raters".

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
    >>> found = joint_reading(krippendorff_alpha(ratings), goodman_kruskal_gamma(ratings))
    >>> found.agreement, found.correlation, found.finding
    ('low', 'high', 'these 2 raters are consistent, but use the scale differently')
    """
    agree = _above(agreement, ENOUGH_AGREEMENT)
    numbers = (
        f"{agreement.name} = {agreement.estimate:.2f}{_interval(agreement)}: "
        f"{benchmark(agreement, 'landis_koch')} by Landis & Koch, {benchmark(agreement, 'krippendorff')} by "
        "Krippendorff"
    )
    direction = None if correlation is None else _direction(correlation)
    verdict, finding, advice = _VERDICTS[agree, direction]
    raters = f"these {agreement.n_raters} raters" if agreement.raters == "fixed" else "the raters"
    finding = finding.format(raters=raters)
    if correlation is None:
        return Reading(agree, None, verdict, finding, advice, numbers, agreement.raters)
    numbers += (
        f"; {correlation.name} = {correlation.estimate:.2f}{_interval(correlation)}: "
        f"{benchmark(correlation, 'rosenthal')} by Rosenthal"
    )
    caution = _SORTED if sorted_within_items else ""
    return Reading(agree, direction, verdict, finding, advice, numbers, agreement.raters, caution)


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


_SORTED = (
    "One rater is never below another: if the ratings were sorted within items, this correlation says nothing about "
    "raters"
)
_LOOK = (
    "look for single raters who stand apart, an unclear criterion or unclear instructions before using these ratings"
)
_MODEL = (
    "comparisons of items can be trusted more than the absolute ratings, and a rater's own level has to be modelled"
)
_MORE = "more items, or more raters of each item, are needed"
_REVERSED = (
    "{raters} contradict each other: what one puts high another puts low",
    "somebody may have read the scale the other way round",
)
_ALONE = "correlation is not defined here"
_VERDICTS: dict[tuple[str, str | None], tuple[str, str, str]] = {
    ("high", "high"): (
        "High agreement and high correlation",
        "{raters} use the scale alike and order the items alike",
        "",
    ),
    ("low", "high"): (
        "Low agreement but high correlation",
        "{raters} are consistent, but use the scale differently",
        _MODEL,
    ),
    ("open", "high"): (
        "High correlation, and agreement that may be high or low",
        "{raters} order the items alike, but it cannot be said with these data whether they use the scale alike",
        _MODEL,
    ),
    ("low", "low"): (
        "Low agreement and low correlation",
        "{raters} do not see the same thing in the items",
        _LOOK,
    ),
    ("high", "low"): (
        "High agreement but low correlation",
        "{raters} choose the same few categories, so there is hardly any order of items left on which they could be "
        "consistent",
        "",
    ),
    ("open", "low"): (
        "Low correlation, and agreement that may be high or low",
        "{raters} order the items differently, and it cannot be said with these data whether they agree",
        _LOOK,
    ),
    ("high", "open"): (
        "High agreement, and correlation that may be high or low",
        "{raters} use the scale alike, but it cannot be said with these data whether they order the items alike",
        "",
    ),
    ("low", "open"): (
        "Low agreement, and correlation that may be high or low",
        "it cannot be said with these data whether {raters} at least order the items alike",
        "",
    ),
    ("open", "open"): (
        "Neither agreement nor correlation can be called high or low with these data",
        "it cannot be said how far {raters} agree",
        _MORE,
    ),
    ("high", "negative"): ("High agreement but negative correlation", *_REVERSED),
    ("low", "negative"): ("Low agreement and negative correlation", *_REVERSED),
    ("open", "negative"): ("Agreement that may be high or low, and negative correlation", *_REVERSED),
    ("high", None): ("High agreement", "{raters} use the categories alike", _ALONE),
    ("low", None): ("Low agreement", "{raters} agree too little to trust single ratings", _ALONE),
    ("open", None): (
        "Agreement cannot be called high or low with these data",
        "it cannot be said how far {raters} agree",
        f"{_MORE}; {_ALONE}",
    ),
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
