"""What every coefficient of reliability returns."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Coefficient:
    """One coefficient on one set of ratings, with all that a paper has to say about it.

    Attributes
    ----------
    estimate
        The coefficient.
    conf_low, conf_high
        Ends of its interval; ``None`` where there is none (see ``note``).
    name, definition
        What it is called, and exactly which variant was computed.
    n_items, n_raters, n_pairs
        Items that entered, raters, and pairs of raters: those averaged over, or those that share items.
    n_missing
        Empty cells of the items × raters table.
    conf_level
        Confidence level of the interval.
    raters
        ``"random"`` when the interval is about raters like these, ``"fixed"`` when it is about these raters only.
    lower_bound, upper_bound
        One-sided bounds, each right with a probability of 95%: labels are read from them.
    statistic, df, p_value
        Test against "no association", for the coefficients that come with one.
    note
        What to know about this value; empty when there is nothing.
    """

    estimate: float
    conf_low: float | None
    conf_high: float | None
    name: str
    definition: str
    n_items: int
    n_raters: int
    n_pairs: int
    n_missing: int
    conf_level: float | None = 0.95
    raters: str = "fixed"
    lower_bound: float | None = None
    upper_bound: float | None = None
    statistic: float | None = None
    df: float | None = None
    p_value: float | None = None
    note: str = ""
