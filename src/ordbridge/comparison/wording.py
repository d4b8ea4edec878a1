"""Sentences that name systems, direction and size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ordbridge.comparison.family import NAMES
from ordbridge.comparison.overall import OVERALL
from ordbridge.results.finding import Finding, found
from ordbridge.support.escaping import shortened
from ordbridge.support.formatting import listed, p_text

if TYPE_CHECKING:
    from ordbridge.comparison.result import Comparison

MOST_NAMED = 6  # systems in one sentence
MOST_LETTERS = 80  # of the names of several systems in one sentence
LONGEST = 48  # letters of a criterion before a sentence
LEVEL = 1e-9  # expected ratings closer than this are equal
MANY_PAIRS = 10  # more of them are told one by one only where they differ


@dataclass(frozen=True)
class Units:
    """How ratings of one scale are written."""

    is_share: bool
    digits: int
    latent: bool = False
    ratio: bool = False
    """Numbers are logarithms of magnitudes: what is written are geometric means and ratios."""

    @property
    def verb(self) -> str:
        """What systems are: rated higher, or placed higher on the latent scale."""
        return "placed" if self.latent else "rated"

    def value(self, number: float | None) -> str:
        """Write a rating, or the number of a difference."""
        if number is None:
            return "?"
        if self.ratio:
            return f"{math.exp(number):.3g}"
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

    def gap(self, number: float, word: str, other: str) -> str:
        """Say how far one system is above another, or below: ``word`` is above, below, higher than or lower than."""
        if not self.ratio:
            return f"{self.with_unit(number)} {word} {other}"
        return (
            f"{self.value(-abs(number) if word in ('below', 'lower than') else abs(number))} times as high as {other}"
        )

    def rating(self, number: float) -> str:
        """Write a rating with its unit."""
        return f"{self.value(number)}%" if self.is_share else self.value(number)


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
    if design["kind"] == "magnitude":
        return Units(False, 2, ratio=True)
    return Units(design["kind"] == "two categories" and (low, high) == (0.0, 1.0), 1 if high - low >= 20 else 2)


def corrected_by(comparison: Comparison) -> str:
    """Name the correction: Holm, or Holm over 2 criteria."""
    name = NAMES[comparison.settings["adjust"]]
    over = len(comparison.criteria)
    several = comparison.settings["correct"] == "criteria" and over > 1 and comparison.settings["adjust"] != "none"
    return f"{name} over {over} {comparison.settings['over']}" if several else name


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
    """Say which system is rated highest and by how much, or that there is no clear difference."""
    design = comparison.rows("design", criterion)[0]
    about, verdict = about_these(design), _verdict(comparison, criterion, design)
    if about and verdict.startswith(("No clear difference", "Every rating")):
        verdict = verdict[0].lower() + verdict[1:]
    return _prefixed(criterion, about + verdict, _weights(comparison, criterion))


def _weights(comparison: Comparison, criterion: str | None) -> str:
    """Return the weights of a ranking over all criteria, in parentheses; nothing for one criterion."""
    said = [one for one in comparison.findings if one.code == "overall-weights"] if criterion == OVERALL else []
    weights = listed(said[0].values["weights"]) if said else ""
    return f" ({weights})" if 0 < len(weights) <= MOST_LETTERS else ""


def _verdict(comparison: Comparison, criterion: str | None, design: dict[str, Any]) -> str:
    ranking, pairs = comparison.rows("ranking", criterion), comparison.rows("pairs", criterion)
    unit = units(design, comparison.settings["estimand"])
    always = {row["system"]: row["always"] for row in ranking}
    if (reference := comparison.settings["reference"]) is not None and len(pairs) > 1:
        return _against(reference, pairs, comparison.alpha, unit)
    top, everyone = ranking[0], [row["system"] for row in ranking]
    if len({row["always"] for row in ranking}) == 1 and top["always"] is not None:
        return f"{_named(everyone)} were always rated {top['always']}."
    less = (criterion or "") in comparison.settings.get("lower_is_better", ())
    if len(pairs) == 1:
        said, name = _pair(pairs[0], unit, always, comparison), f"{pairs[0]['system_a']} is "
        better = less and differ(pairs[0], comparison.alpha) and said.startswith(f"{name}{unit.verb} ")
        return f"{name}better: {said.removeprefix(name)}" if better else said
    first = f"{unit.rating(top['estimate'])}{_of_what(unit, design)}"
    most, best = ("lowest", "lowest, which is best") if less else ("highest", "highest")
    side = "below" if less else "above"
    if not any(differ(row, comparison.alpha) for row in pairs):
        level = [row["system"] for row in ranking if abs(row["estimate"] - top["estimate"]) < LEVEL]
        highest = f"{_named(level)} scored {most} with {first}" if len(level) < len(everyone) else f"all have {first}"
        return f"No clear difference between {_named(everyone)}; {highest}."
    same = [row["system_b"] for row in pairs if row["system_a"] == top["system"] and not differ(row, comparison.alpha)]
    if same:
        return f"{top['system']} is {unit.verb} {best}: {first}, but not clearly {side} {_named(same)}."
    ahead = next(row for row in pairs if row["system_a"] == top["system"] and row["system_b"] == ranking[1]["system"])
    tested = _tested(ahead, unit, comparison, turned=less and not unit.ratio)
    size = f", {unit.gap(ahead['difference'], side, ahead['system_b'])} {tested}"
    return f"{top['system']} is {unit.verb} {best}: {first}{size}."


def _named(systems: Sequence[str]) -> str:
    """Return names, or how many there are where they are too many for a sentence."""
    few = len(systems) <= MOST_NAMED and (len(systems) <= 2 or sum(map(len, systems)) <= MOST_LETTERS)
    return listed(systems) if few else f"{len(systems)} systems"


def _tested(row: dict[str, Any], unit: Units, comparison: Comparison, turned: bool = False) -> str:
    """Return interval and p-value in parentheses, as seen from the other side where that is wanted."""
    low, high = row["conf_low"], row["conf_high"]
    if turned:
        low, high = _minus(high), _minus(low)
    parts = []
    if low is not None and high is not None:
        level = f"{comparison.settings['conf_level']:.0%}"
        parts.append(f"{level} CI {unit.value(low)} to {unit.value(high)}")
    parts.append(p_text(row["p_adjusted"]))
    if comparison.settings["comparisons"] > 1:
        parts.append(corrected_by(comparison))
    return f"({', '.join(parts)})"


def _of_what(unit: Units, design: dict[str, Any]) -> str:
    if unit.latent:
        return " on the latent scale"
    if unit.is_share:
        return f" of its ratings are {design['scale_high_label']}"
    low, high = design["scale_low"], design["scale_high"]
    plain = low in (0, 1) and design["scale"] == f"from {low:g} to {high:g}"
    return f" of {high:g}" if plain else f" on the scale {design['scale']}"


def differ(row: dict[str, Any], alpha: float) -> bool:
    """Tell whether a pair differs after the correction; one that could not be compared does not."""
    return row["p_adjusted"] is not None and row["p_adjusted"] < alpha


def _against(reference: str, pairs: Sequence[dict[str, Any]], alpha: float, unit: Units) -> str:
    higher = [row["system_a"] for row in pairs if differ(row, alpha) and row["difference"] > 0]
    lower = [row["system_a"] for row in pairs if differ(row, alpha) and row["difference"] <= 0]
    same = [row["system_a"] for row in pairs if not differ(row, alpha)]
    parts = [f"{_named(higher)} {_are(higher)} {unit.verb} higher than {reference}"] if higher else []
    parts += [f"{_named(lower)} {_are(lower)} {unit.verb} lower than {reference}"] if lower else []
    parts += [f"no clear difference between {reference} and {_named(same)}"] if same else []
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}." if not higher and not lower else f"{text}."


def _are(words: Sequence[str]) -> str:
    return "is" if len(words) == 1 else "are"


def pair_sentences(comparison: Comparison, criterion: str | None) -> list[str]:
    """Return a sentence for each pair; of many pairs only for those that differ."""
    pairs = comparison.rows("pairs", criterion)
    unit = units(comparison.rows("design", criterion)[0], comparison.settings["estimand"])
    always = {row["system"]: row["always"] for row in comparison.rows("ranking", criterion)}
    shown = [row for row in pairs if len(pairs) <= MANY_PAIRS or differ(row, comparison.alpha)]
    lines = [_prefixed(criterion, _pair(row, unit, always, comparison) + _chance(row, comparison)) for row in shown]
    if rest := len(pairs) - len(shown):
        lines.append(_prefixed(criterion, f"No clear difference in the other {rest} of {len(pairs)} pairs."))
    return lines


def _pair(row: dict[str, Any], unit: Units, always: dict[str, str | None], comparison: Comparison) -> str:
    a, b = row["system_a"], row["system_b"]
    if row["p_adjusted"] is None:
        return f"{a} and {b} were not compared: the design cannot tell them apart."
    alike = _always(row, always)
    if alike and row["difference"] == 0:
        return alike
    if not differ(row, comparison.alpha):
        if row["difference"] < 0:
            a, b = b, a
        size = "both scored the same" if row["difference"] == 0 else (
            f"{a} scored {unit.gap(row['difference'], 'higher than', b)}"
        )  # fmt: skip
        return f"{alike}No clear difference: {size} {_tested(row, unit, comparison, turned=row['difference'] < 0)}."
    word = "higher" if row["difference"] > 0 else "lower"
    tested = _tested(row, unit, comparison, turned=row["difference"] < 0 and not unit.ratio)
    return f"{alike}{a} is {unit.verb} {unit.gap(row['difference'], f'{word} than', b)} {tested}."


def _chance(row: dict[str, Any], comparison: Comparison) -> str:
    """Say how often a text of the one is rated above one of the other, where they differ."""
    if row["p_adjusted"] is None or not differ(row, comparison.alpha) or row["superiority"] in (None, 0.0, 1.0):
        return ""
    chance, ends = row["superiority"], [row["superiority_low"], row["superiority_high"]]
    if row["difference"] < 0:
        chance, ends = 1 - chance, [None if end is None else 1 - end for end in reversed(ends)]
    relation = "above" if row["difference"] > 0 else "below"
    interval = "" if None in ends else f" ({100 * (ends[0] or 0):.0f} to {100 * (ends[1] or 0):.0f}%)"
    return (
        f" A text of {row['system_a']} is rated {relation} one of {row['system_b']} {100 * chance:.0f}% of the time"
        f"{interval}, ties split."
    )


def _always(row: dict[str, Any], always: dict[str, str | None]) -> str:
    """Say which of the two always has the same rating."""
    a, b = (always[row[name]] for name in ("system_a", "system_b"))
    if a is not None and a == b:
        return f"Every rating of {row['system_a']} and of {row['system_b']} was {a}."
    parts = [
        f"every rating of {row[name]} was {value}"
        for name, value in (("system_a", a), ("system_b", b))
        if value is not None
    ]
    text = " and ".join(parts)
    return f"{text[0].upper()}{text[1:]}. " if text else ""


def disagreement(comparison: Comparison, criterion: str | None) -> Finding | None:
    """Say where the ordinal model's own test, of the latent scale, answers differently."""
    pairs = comparison.rows("pairs", criterion)
    apart = [row for row in pairs if row["latent_agrees"] is False]
    if not apart:
        return None
    said = f"{len(apart)} of {len(pairs)} pairs"
    if len(apart) == 1:
        row = apart[0]
        side = "above" if row["latent_difference"] > 0 else "below"
        said = (
            f"{row['system_a']} and {row['system_b']}: {row['system_a']} is {abs(row['latent_difference']):.2f} {side} "
            f"({p_text(row['latent_p_value'])}, uncorrected)"
        )
    return found("latent-disagrees", criterion, pairs=said)


def _minus(number: float | None) -> float | None:
    return None if number is None else -number


def _prefixed(criterion: str | None, text: str, more: str = "") -> str:
    return text if criterion is None else f"{shortened(criterion, LONGEST)}{more}: {text}"
