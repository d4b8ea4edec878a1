"""Sentences that name systems, direction and size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ordbridge.comparison.family import NAMES
from ordbridge.formats import listed, p_text

if TYPE_CHECKING:
    from ordbridge.comparison.result import Comparison

__all__ = ["Units", "about_these", "corrected_by", "differ", "headline", "pair_sentences", "units"]

MOST_NAMED = 6  # systems in one sentence
LEVEL = 1e-9  # expected ratings closer than this are equal
MANY_PAIRS = 10  # more of them are told one by one only where they differ


@dataclass(frozen=True)
class Units:
    """How ratings of one scale are written."""

    is_share: bool
    digits: int
    latent: bool = False

    @property
    def verb(self) -> str:
        """What systems are: rated higher, or placed higher on the latent scale."""
        return "placed" if self.latent else "rated"

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
        if self.latent:
            return f"{text} latent units"
        unit = "percentage point" if self.is_share else "point"
        return f"{text} {unit}{'' if float(text) == 1 else 's'}"

    def rating(self, number: float) -> str:
        """Write a rating with its unit."""
        return f"{self.value(number)} %" if self.is_share else self.value(number)


def units(design: dict[str, Any], estimand: str = "points") -> Units:
    """Return how the ratings of one criterion are written, by its row of the design.

    Examples
    --------
    >>> units({"kind": "ordinal", "scale_low": 1.0, "scale_high": 5.0}).with_unit(-0.314)
    '0.31 points'
    >>> units({"kind": "two categories", "scale_low": 0.0, "scale_high": 1.0}).with_unit(0.314)
    '31.4 percentage points'
    """
    low, high = design["scale_low"], design["scale_high"]
    if estimand == "latent":
        return Units(False, 2, latent=True)
    return Units(design["kind"] == "two categories" and (low, high) == (0.0, 1.0), 1 if high - low >= 20 else 2)


def corrected_by(comparison: Comparison) -> str:
    """Name the correction: Holm, or Holm over 2 criteria."""
    name = NAMES[comparison.asked["adjust"]]
    over = len(comparison.criteria)
    several = comparison.asked["correct"] == "criteria" and over > 1 and comparison.asked["adjust"] != "none"
    return f"{name} over {over} criteria" if several else name


def about_these(design: dict[str, Any]) -> str:
    """Say whom the answer is about where there are too few raters or items to speak about others.

    Examples
    --------
    >>> about_these({"only_participants": 2, "only_items": None})
    'For these 2 raters: '
    """
    parts = []
    for name, preposition, word in (("only_participants", "for", "rater"), ("only_items", "on", "item")):
        if (n := design.get(name)) is not None:
            parts.append(f"{preposition} this one {word}" if n == 1 else f"{preposition} these {n} {word}s")
    text = " and ".join(parts)
    return f"{text[0].upper()}{text[1:]}: " if text else ""


def headline(comparison: Comparison, criterion: str | None) -> str:
    """Say which system is rated highest, and from which others it cannot be told."""
    design = comparison.rows("design", criterion)[0]
    return _prefixed(criterion, about_these(design) + _verdict(comparison, criterion, design))


def _verdict(comparison: Comparison, criterion: str | None, design: dict[str, Any]) -> str:
    ranking, pairs = comparison.rows("ranking", criterion), comparison.rows("pairs", criterion)
    unit = units(design, comparison.asked["estimand"])
    reference = comparison.asked["reference"]
    if reference is not None:
        return _against(reference, pairs, comparison.alpha)
    top, everyone = ranking[0], [row["system"] for row in ranking]
    if len({row["always"] for row in ranking}) == 1 and top["always"] is not None:
        return f"{listed(everyone)} were always rated {top['always']}."
    first = f"{unit.rating(top['estimate'])}{_of_what(unit, design)}"
    if not any(differ(row, comparison.alpha) for row in pairs):
        level = [row["system"] for row in ranking if abs(row["estimate"] - top["estimate"]) < LEVEL]
        highest = f"{top['system']} is highest with {first}"
        if len(level) > 1:
            highest = f"{'both' if len(level) == len(everyone) == 2 else listed(level)} have {first}"
        return f"{listed(everyone)} cannot be told apart; {highest}."
    same = [row["b"] for row in pairs if row["a"] == top["system"] and not differ(row, comparison.alpha)]
    if not same:
        others = listed(everyone[1:]) if len(ranking) <= MOST_NAMED else "all others"
        return f"{top['system']} is {unit.verb} higher than {others}: {first}."
    return f"{top['system']} is {unit.verb} highest, {first}, but it cannot be told from {listed(same)}."


def _of_what(unit: Units, design: dict[str, Any]) -> str:
    if unit.latent:
        return " on the latent scale"
    return f" of its ratings are {design['scale_high_label']}" if unit.is_share else f" on the scale {design['scale']}"


def differ(row: dict[str, Any], alpha: float) -> bool:
    """Tell whether a pair differs after the correction; one that could not be compared does not."""
    return row["adjusted"] is not None and row["adjusted"] < alpha


def _against(reference: str, pairs: Sequence[dict[str, Any]], alpha: float) -> str:
    higher = [row["a"] for row in pairs if differ(row, alpha) and row["difference"] > 0]
    lower = [row["a"] for row in pairs if differ(row, alpha) and row["difference"] <= 0]
    same = [row["a"] for row in pairs if not differ(row, alpha)]
    parts = [f"{listed(higher)} {_are(higher)} rated higher than {reference}"] if higher else []
    parts += [f"{listed(lower)} {_are(lower)} rated lower than {reference}"] if lower else []
    parts += [f"{listed(same)} cannot be told from {reference}"] if same else []
    return f"{'; '.join(parts)}."


def _are(words: Sequence[str]) -> str:
    return "is" if len(words) == 1 else "are"


def pair_sentences(comparison: Comparison, criterion: str | None) -> list[str]:
    """Return a sentence for each pair; of many pairs only for those that differ. Then where R's test disagrees."""
    pairs = comparison.rows("pairs", criterion)
    unit = units(comparison.rows("design", criterion)[0], comparison.asked["estimand"])
    always = {row["system"]: row["always"] for row in comparison.rows("ranking", criterion)}
    shown = [row for row in pairs if len(pairs) <= MANY_PAIRS or differ(row, comparison.alpha)]
    lines = [_prefixed(criterion, _pair(row, unit, always, comparison)) for row in shown]
    if rest := len(pairs) - len(shown):
        lines.append(_prefixed(criterion, f"The other {rest} of {len(pairs)} pairs cannot be told apart."))
    return [*lines, *(_prefixed(criterion, line) for line in _other_question(pairs))]


def _pair(row: dict[str, Any], unit: Units, always: dict[str, str | None], comparison: Comparison) -> str:
    if row["adjusted"] is None:
        return f"{row['a']} and {row['b']} were not compared: the design cannot tell them apart."
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
    alike = _always(row, always)
    if alike and row["difference"] == 0:
        return alike
    if not differ(row, comparison.alpha):
        return (
            f"{alike}{row['a']} and {row['b']} cannot be told apart: {row['a']} is {unit.verb} "
            f"{unit.with_unit(row['difference'])} {word} {size}."
        )
    text = f"{alike}{row['a']} is {unit.verb} {unit.with_unit(row['difference'])} {word} than {row['b']} {size}."
    if alike:
        return text
    above = f"{100 * chance:.0f} %" + (
        "" if None in ends else f" ({100 * (ends[0] or 0):.0f} to {100 * (ends[1] or 0):.0f} %)"
    )
    relation = "above" if word == "higher" else "below"
    return f"{text} A text of {row['a']} is rated {relation} one of {row['b']} in {above} of comparisons, ties split."


def _always(row: dict[str, Any], always: dict[str, str | None]) -> str:
    """Say which of the two always has the same rating."""
    a, b = (always[row[name]] for name in ("a", "b"))
    if a is not None and a == b:
        return f"Every rating of {row['a']} and of {row['b']} was {a}."
    parts = [f"every rating of {row[name]} was {value}" for name, value in (("a", a), ("b", b)) if value is not None]
    text = " and ".join(parts)
    return f"{text[0].upper()}{text[1:]}. " if text else ""


def _other_question(pairs: Sequence[dict[str, Any]]) -> list[str]:
    """Say where the ordinal model's own test, of the latent scale, answers differently."""
    apart = [row for row in pairs if row["latent_agrees"] is False]
    if not apart:
        return []
    cause = "Systems that spread differently can do that, and so can few raters."
    if len(apart) == 1:
        row = apart[0]
        side = "above" if row["latent_difference"] > 0 else "below"
        return [
            f"On the latent scale the answer differs: {row['a']} is {abs(row['latent_difference']):.2f} {side} "
            f"{row['b']} ({p_text(row['latent_p_value'])}, uncorrected). {cause}"
        ]
    return [f"On the latent scale the answer differs for {len(apart)} of {len(pairs)} pairs. {cause}"]


def _minus(number: float | None) -> float | None:
    return None if number is None else -number


def _prefixed(criterion: str | None, text: str) -> str:
    return text if criterion is None else f"{criterion}: {text}"
