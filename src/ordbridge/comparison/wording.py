"""Sentences that name systems, direction and size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ordbridge.comparison.family import NAMES
from ordbridge.formats import listed, p_text

if TYPE_CHECKING:
    from ordbridge.comparison.result import Comparison

__all__ = ["Units", "corrected_by", "headline", "pair_sentences", "units"]

MOST_NAMED = 6  # systems in one sentence
MANY_PAIRS = 10  # more of them are told one by one only where they differ


@dataclass(frozen=True)
class Units:
    """How ratings of one scale are written."""

    is_share: bool
    digits: int

    def value(self, number: float | None) -> str:
        """Write a rating, or the number of a difference."""
        if number is None:
            return "?"
        text = f"{100 * number:.1f}" if self.is_share else f"{number:.{self.digits}f}"
        plain = text.lstrip("-")
        return ("−" if text.startswith("-") and float(plain) != 0 else "") + plain

    def with_unit(self, number: float) -> str:
        """Write a difference with its unit."""
        text = self.value(abs(number))
        unit = "percentage point" if self.is_share else "point"
        return f"{text} {unit}{'' if float(text) == 1 else 's'}"

    def rating(self, number: float) -> str:
        """Write a rating with its unit."""
        return f"{self.value(number)} %" if self.is_share else self.value(number)


def units(design: dict[str, Any]) -> Units:
    """Return how the ratings of one criterion are written, by its row of the design.

    Examples
    --------
    >>> units({"kind": "ordinal", "scale_low": 1.0, "scale_high": 5.0}).with_unit(-0.314)
    '0.31 points'
    >>> units({"kind": "two categories", "scale_low": 0.0, "scale_high": 1.0}).with_unit(0.314)
    '31.4 percentage points'
    """
    low, high = design["scale_low"], design["scale_high"]
    return Units(design["kind"] == "two categories" and (low, high) == (0.0, 1.0), 1 if high - low >= 20 else 2)


def corrected_by(comparison: Comparison) -> str:
    """Name the correction: Holm, or Holm over 2 criteria."""
    name = NAMES[comparison.asked["adjust"]]
    over = len(comparison.criteria)
    several = comparison.asked["correct"] == "criteria" and over > 1 and comparison.asked["adjust"] != "none"
    return f"{name} over {over} criteria" if several else name


def headline(comparison: Comparison, criterion: str | None) -> str:
    """Say which system is rated highest, and from which others it cannot be told."""
    ranking = comparison.rows("ranking", criterion)
    design = comparison.rows("design", criterion)[0]
    pairs = comparison.rows("pairs", criterion)
    unit = units(design)
    reference = comparison.asked["reference"]
    if reference is not None:
        text = _against(reference, pairs, comparison.alpha)
        return _prefixed(criterion, text)
    top = ranking[0]
    share = f" of its ratings are {design['scale_high_label']}" if unit.is_share else f" on the scale {design['scale']}"
    first = f"{unit.rating(top['estimate'])}{share}"
    same = [row["b"] for row in pairs if row["a"] == top["system"] and not row["adjusted"] < comparison.alpha]
    if not any(row["adjusted"] < comparison.alpha for row in pairs):
        everyone = [row["system"] for row in ranking]
        return _prefixed(
            criterion, f"{listed(everyone)} cannot be told apart; {top['system']} is highest with {first}."
        )
    if not same:
        others = listed([row["system"] for row in ranking[1:]]) if len(ranking) <= MOST_NAMED else "all others"
        return _prefixed(criterion, f"{top['system']} is rated higher than {others}: {first}.")
    return _prefixed(
        criterion, f"{top['system']} is rated highest, {first}, but it cannot be told from {listed(same)}."
    )


def _against(reference: str, pairs: Sequence[dict[str, Any]], alpha: float) -> str:
    higher = [row["a"] for row in pairs if row["adjusted"] < alpha and row["difference"] > 0]
    lower = [row["a"] for row in pairs if row["adjusted"] < alpha and row["difference"] <= 0]
    same = [row["a"] for row in pairs if not row["adjusted"] < alpha]
    parts = [f"{listed(higher)} {_are(higher)} rated higher than {reference}"] if higher else []
    parts += [f"{listed(lower)} {_are(lower)} rated lower than {reference}"] if lower else []
    parts += [f"{listed(same)} cannot be told from {reference}"] if same else []
    return f"{'; '.join(parts)}."


def _are(words: Sequence[str]) -> str:
    return "is" if len(words) == 1 else "are"


def pair_sentences(comparison: Comparison, criterion: str | None) -> list[str]:
    """Return a sentence for each pair; of many pairs only for those that differ."""
    pairs = comparison.rows("pairs", criterion)
    unit = units(comparison.rows("design", criterion)[0])
    shown = [row for row in pairs if len(pairs) <= MANY_PAIRS or row["adjusted"] < comparison.alpha]
    lines = [_prefixed(criterion, _pair(row, unit, comparison)) for row in shown]
    if rest := len(pairs) - len(shown):
        lines.append(_prefixed(criterion, f"The other {rest} of {len(pairs)} pairs cannot be told apart."))
    return lines


def _pair(row: dict[str, Any], unit: Units, comparison: Comparison) -> str:
    differ = row["adjusted"] < comparison.alpha
    low, high, chance = row["conf_low"], row["conf_high"], row["superiority"]
    ends: list[float | None] = [row["superiority_low"], row["superiority_high"]]
    word = "higher"
    if row["difference"] < 0:
        word, low, high = "lower", _minus(high), _minus(low)
        chance, ends = 1 - chance, [None if end is None else 1 - end for end in reversed(ends)]
    interval = ""
    if low is not None and high is not None:
        interval = f"{comparison.asked['conf_level']:.0%} interval ".replace("%", " %")
        interval += f"{unit.value(low)} to {unit.value(high)}; "
    size = f"({interval}{p_text(row['adjusted'])}, {corrected_by(comparison)})"
    if not differ:
        return (
            f"{row['a']} and {row['b']} cannot be told apart: {row['a']} is rated {unit.with_unit(row['difference'])} "
            f"{word} {size}."
        )
    above = f"{100 * chance:.0f} %" + (
        "" if None in ends else f" ({100 * (ends[0] or 0):.0f} to {100 * (ends[1] or 0):.0f} %)"
    )
    relation = "above" if word == "higher" else "below"
    return (
        f"{row['a']} is rated {unit.with_unit(row['difference'])} {word} than {row['b']} {size}. A text of {row['a']} "
        f"is rated {relation} one of {row['b']} in {above} of comparisons, ties split."
    )


def _minus(number: float | None) -> float | None:
    return None if number is None else -number


def _prefixed(criterion: str | None, text: str) -> str:
    return text if criterion is None else f"{criterion}: {text}"
