"""Words for numbers: the three scales of interpretation that papers quote, and when a word holds.

None of the scales was derived from anything; they are conventions, and a report has to say which one it uses. A word is
never read from an estimate alone: it is the highest one that holds with a probability of 95% (Gwet's benchmarking).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from ordbridge.reliability.records import Coefficient

UNCERTAIN = "too uncertain"

SCALES = {
    "krippendorff": "Krippendorff (1980), agreement: < 0.67 below the minimum, 0.67–0.8 tentative, 0.8–1 good",
    "landis_koch": "Landis & Koch (1977), agreement: < 0 poor, 0–0.2 slight, 0.2–0.4 fair, 0.4–0.6 moderate, "
    "0.6–0.8 substantial, 0.8–1 almost perfect",
    "rosenthal": "Rosenthal (1996), size of a correlation: ≤ 0.1 negligible, 0.1–0.3 small, 0.3–0.5 medium, "
    "0.5–0.7 large, 0.7–1 very large",
}


def benchmark(coefficient: Coefficient, scale: str) -> str:
    """Return the highest label of a scale that holds with a probability of 95%.

    Agreement may be read as ``"below minimum"`` or ``"poor"`` only when it is surely that low, and a correlation only
    with a sign that is sure; where the data leave it open, the answer is "too uncertain".

    Parameters
    ----------
    coefficient
        A coefficient with its one-sided bounds.
    scale
        ``"krippendorff"``, ``"landis_koch"`` or ``"rosenthal"``.

    References
    ----------
    Gwet, K. L. (2014). Handbook of Inter-Rater Reliability, 4th ed., chapter 6.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from ordbridge.reliability import fleiss_kappa
    >>> kappa = replace(fleiss_kappa([[1, 1], [2, 2], [1, 2]]), lower_bound=0.55, upper_bound=0.7)
    >>> benchmark(kappa, "landis_koch"), benchmark(kappa, "krippendorff")
    ('moderate', 'too uncertain')
    """
    low, high = coefficient.lower_bound, coefficient.upper_bound
    if low is None or high is None:
        return UNCERTAIN
    if scale == "krippendorff":
        return krippendorff(low) if low >= 0.67 or high < 0.67 else UNCERTAIN
    if scale == "landis_koch":
        return landis_koch(low) if low >= 0 or high < 0 else UNCERTAIN
    if low > 0:
        return rosenthal(low)
    if high < 0:
        return f"negative, {rosenthal(high)}"
    return rosenthal(max(-low, high)) if max(-low, high) <= 0.1 else UNCERTAIN


def krippendorff(value: float) -> str:
    """Read a coefficient of agreement as Krippendorff (1980) does.

    Examples
    --------
    >>> krippendorff(0.66), krippendorff(0.67), krippendorff(0.8)
    ('below minimum', 'tentative', 'good')
    """
    return ("below minimum", "tentative", "good")[bisect_right([0.67, 0.8], value)]


def landis_koch(value: float) -> str:
    """Read a coefficient of agreement as Landis & Koch (1977) do; borders belong to the lower class, as in theirs.

    Examples
    --------
    >>> landis_koch(-0.01), landis_koch(0.2), landis_koch(0.21), landis_koch(1)
    ('poor', 'slight', 'fair', 'almost perfect')
    """
    if value < 0:
        return "poor"
    return ("slight", "fair", "moderate", "substantial", "almost perfect")[bisect_left([0.2, 0.4, 0.6, 0.8], value)]


def rosenthal(value: float) -> str:
    """Read the size of a correlation as Rosenthal (1996) does; the sign does not matter.

    Examples
    --------
    >>> rosenthal(0.1), rosenthal(-0.5), rosenthal(0.71)
    ('negligible', 'medium', 'very large')
    """
    return ("negligible", "small", "medium", "large", "very large")[bisect_left([0.1, 0.3, 0.5, 0.7], abs(value))]


def stars(p_value: float) -> str:
    """Return the stars of Belz & Kow (2011): ``*`` for p < .05, ``**`` for p < .01.

    Examples
    --------
    >>> stars(0.05), stars(0.049), stars(0.001)
    ('', '*', '**')
    """
    return "**" if p_value < 0.01 else "*" if p_value < 0.05 else ""
