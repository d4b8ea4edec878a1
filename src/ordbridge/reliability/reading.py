"""Agreement and correlation read together, and what a paper has to report beside them."""

from __future__ import annotations

from typing import Any

from ordbridge.reliability.records import Coefficient
from ordbridge.results import Finding, found

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

READINGS: dict[tuple[str, str | None], str] = {
    ("high", "high"): "agree-and-rank-alike",
    ("high", "open"): "agree-ranking-unclear",
    ("high", "low"): "agree-without-ranking",
    ("open", "high"): "rank-alike-agreement-unclear",
    ("open", "open"): "agreement-and-ranking-unclear",
    ("open", "low"): "rank-differently-agreement-unclear",
    ("low", "high"): "rank-alike-levels-differ",
    ("low", "open"): "disagree-ranking-unclear",
    ("low", "low"): "neither-agree-nor-rank-alike",
    **{(agreement, "negative"): "raters-contradict" for agreement in ("high", "open", "low")},
    ("high", None): "categories-agree",
    ("open", None): "category-agreement-unclear",
    ("low", None): "categories-disagree",
}
"""The finding for each agreement and correlation; ``None`` where there is no correlation."""


def joint_reading(agreement: Coefficient, correlation: Coefficient | None, subject: str = "") -> Finding:
    """Read agreement beside correlation, as Amidei et al. (2019) argue that one should.

    Each is called high or low only when that holds with a probability of 95%. Where the intervals are about these
    raters only, so is the finding: "these 3 raters", not "raters".

    References
    ----------
    Amidei, J., Piwek, P., & Willis, A. (2019). Agreement is overrated: a plea for correlation to assess human
    evaluation reliability. INLG 2019, 344-354.

    Examples
    --------
    >>> from ordbridge.reliability import goodman_kruskal_gamma, krippendorff_alpha
    >>> ratings = [[1, 3], [2, 4], [3, 5], [1, 2], [3, 4]] * 10
    >>> read = joint_reading(krippendorff_alpha(ratings), goodman_kruskal_gamma(ratings))
    >>> read.code, read.what
    ('rank-alike-levels-differ', 'these 2 raters rank the items alike but use the scale differently')
    """
    agree = _above(agreement, ENOUGH_AGREEMENT)
    direction = None if correlation is None else _direction(correlation)
    return found(READINGS[agree, direction], subject, agreement=agree, correlation=direction, who=who(agreement))


def who(coefficient: Coefficient) -> str:
    """Return whom a coefficient with its interval is about."""
    return f"these {coefficient.n_raters} raters" if coefficient.raters == "fixed" else "raters"


def _above(coefficient: Coefficient, border: float) -> str:
    """Return whether a coefficient is surely above a border ("high"), surely below it ("low"), or "open"."""
    low, high = coefficient.lower_bound, coefficient.upper_bound
    if low is None or high is None:
        return "open"
    return "high" if low >= border else "low" if high < border else "open"


def _direction(correlation: Coefficient) -> str:
    if correlation.upper_bound is not None and correlation.upper_bound < 0:
        return "negative"
    return _above(correlation, HIGH_CORRELATION)


def where(row: dict[str, Any]) -> str:
    """Return "criterion, group", without what is said of all ratings and all raters."""
    places = ((row.get("criterion"), ALL_RATINGS), (row.get("group"), ALL_RATERS))
    return ", ".join(place for place, everything in places if place not in (None, everything))
