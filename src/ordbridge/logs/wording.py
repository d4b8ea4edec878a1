"""The answer from logs in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ordbridge.logs.paired import items_needed
from ordbridge.support.formatting import listed, p_text

if TYPE_CHECKING:
    from ordbridge.logs.result import LogComparison

__all__ = ["conclusion", "difference", "read_line", "score", "task_lines"]

MOST_LINES, MOST_NAMED = 8, 4
TESTS = {
    "mcnemar": "McNemar's mid-p test with the interval of Bonett & Price (right or wrong, one epoch)",
    "t": "paired t test on item means",
    "cluster": "paired differences with cluster-robust standard errors, t with clusters − 1 degrees of freedom",
    "none": "no test",
}


def score(value: float, percent: bool) -> str:
    """Write the score of a model.

    Examples
    --------
    >>> score(56.32, True), score(3.1, False)
    ('56.3%', '3.10')
    """
    return f"{value:.1f}%" if percent else f"{value:.2f}"


def points(value: float, percent: bool, sign: bool = False) -> str:
    """Write a difference, with a typographic minus."""
    digits = f"{abs(value):.{1 if percent else 2}f}"
    zero = float(digits) == 0
    return f"{'−' if value < 0 and not zero else '+' if sign and not zero else ''}{digits}"


def read_line(found: LogComparison) -> str:
    """Say what was read, and what was left out and why."""
    logs, scores = found.logs.to_pylist(), found.scores.to_pylist()
    written = dict.fromkeys(f"{one['harness']} {one['version'] or ''}".strip() for one in logs)
    models, tasks = len({one["model"] for one in scores}), len({one["task"] for one in scores})
    seen = {(one["task"], one["scorer"]): one for one in scores}
    answers, scored = (sum(one[name] for one in seen.values()) for name in ("answers", "scored"))
    items = sorted({one["items"] for one in scores})
    epochs = sorted({round(one["epochs"]) for one in scores})
    why = {"errors": "error", "unscored": "unscored", "no_answers": "no answer", "limits": "at a limit"}
    wrong = {word: sum(one[name] for one in scores) for name, word in why.items()}
    if found.settings["errors"] == "wrong":
        wrong["error counted as wrong"] = wrong.pop("error")
    said = [f"{n:,} {word}{'s' if word == 'error' and n > 1 else ''}" for word, n in wrong.items() if n]
    return (
        f"{listed(list(written))}: {models} models, {_n(tasks, 'task')}, {_range(items)} common items, "
        f"{_range(epochs)} epoch{'' if epochs == [1] else 's'}; {scored:,} of {answers:,} answers scored"
        f"{' (' + ', '.join(said) + ')' if said else ''}."
    )


def task_lines(found: LogComparison) -> list[str]:
    """Return a line for each task; of many tasks only those with a difference."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in found.pairs.to_pylist():
        groups.setdefault((row["task"], row["scorer"]), []).append(row)
    shown = list(groups.values())
    if len(shown) > MOST_LINES:
        shown = [rows for rows in shown if any(row["better"] for row in rows)]
    lines = [_pair_line(rows[0], found) if len(rows) == 1 else _group_line(rows, found) for rows in shown[:MOST_LINES]]
    rest = len(groups) - len(lines)
    return lines + ([f"{_n(rest, 'other task')}: see the table."] if rest and lines else [])


def _pair_line(row: dict[str, Any], found: LogComparison) -> str:
    percent = row["percent"]
    own = {name: found.estimate(row["task"], row["scorer"], name) for name in (row["system_a"], row["system_b"])}
    means = ", ".join(f"{name} {score(value, percent)}" for name, value in own.items())
    lower = ", lower is better" if row["lower_is_better"] else ""
    named = row["task"] if found.one_scorer else f"{row['task']}, {row['scorer']}"
    return f"{named}: {difference(row, found.settings['conf_level'])}; {means} on {row['items']} items{lower}."


def difference(row: dict[str, Any], conf_level: float) -> str:
    """Write one difference with its verdict, from the side of the model that is ahead.

    Examples
    --------
    >>> row = {"system_a": "a", "system_b": "b", "difference": -10.3, "conf_low": -27.9, "conf_high": 7.2,
    ...        "p_adjusted": 0.35, "better": None, "percent": True, "lower_is_better": False}
    >>> difference(row, 0.95)
    'no clear difference: b +10.3 points (95% CI −7.2 to 27.9, p = .350)'
    """
    percent, flip = row["percent"], (row["difference"] < 0) != row["lower_is_better"]
    ahead = row["system_b"] if flip else row["system_a"]
    sign = -1.0 if flip else 1.0
    size = points(sign * row["difference"], percent, sign=True)
    if row["p_adjusted"] is None:
        return f"{ahead} {size} points on every item"
    verdict = f"{row['better']} is better:" if row["better"] else "no clear difference:"
    inside = p_text(row["p_adjusted"])
    if row["conf_low"] is not None:
        low, high = sorted((sign * row["conf_low"], sign * row["conf_high"]))
        inside = f"{100 * conf_level:g}% CI {points(low, percent)} to {points(high, percent)}, {inside}"
    who = f"{ahead} {size}" if row["difference"] else f"{size}"
    return f"{verdict} {size if row['better'] == ahead else who} points ({inside})"


def _group_line(rows: Sequence[dict[str, Any]], found: LogComparison) -> str:
    first = rows[0]
    percent = first["percent"]
    names = dict.fromkeys(name for row in rows for name in (row["system_a"], row["system_b"]))
    own = {name: found.estimate(first["task"], first["scorer"], name) for name in names}
    order = sorted(own, key=lambda name: own[name], reverse=not first["lower_is_better"])
    shown = ", ".join(f"{name} {score(own[name], percent)}" for name in order[:MOST_NAMED])
    more = f" and {len(order) - MOST_NAMED} more" if len(order) > MOST_NAMED else ""
    best = [row for row in rows if order[0] in (row["system_a"], row["system_b"])]
    beaten = [
        row["system_b"] if row["system_a"] == order[0] else row["system_a"] for row in best if row["better"] == order[0]
    ]
    if len(beaten) == len(own) - 1:
        verdict = f"{order[0]} is better than all others"
    elif beaten:
        verdict = f"{order[0]} is better than {listed(beaten[:MOST_NAMED])}"
    else:
        clear = sum(row["better"] is not None for row in rows)
        verdict = "no clear difference" if not clear else f"no clear winner, {_n(clear, 'clear difference')}"
    named = first["task"] if found.one_scorer else f"{first['task']}, {first['scorer']}"
    return f"{named}: {verdict}; {shown}{more} on {first['items']} items."


def conclusion(found: LogComparison) -> list[str]:
    """Say how many differences are clear, what could have been found, and what would find less."""
    rows = found.pairs.to_pylist()
    clear = sum(row["better"] is not None for row in rows)
    lines = []
    if len(rows) > 1:
        corrected = ", uncorrected" if found.settings["adjust"] == "none" else ", corrected for all of them"
        said = f"{clear} of {len(rows)} comparisons show" if clear else f"None of {len(rows)} comparisons shows"
        lines.append(f"{said} a clear difference{corrected}.")
    sizes = [row for row in rows if row["detectable"] is not None]
    if sizes:
        least, most = min(sizes, key=lambda row: row["detectable"]), max(sizes, key=lambda row: row["detectable"])
        low, high = (points(row["detectable"], row["percent"]) for row in (least, most))
        aim = _aim(most)
        needed = items_needed(most["variance"], aim, most["interval_alpha"])
        lines.append(
            f"These items have 80% power to find {low if low == high else f'{low} to {high}'} points; "
            f"{aim:g} {'point' if aim == 1 else 'points'} would take about {_rough(needed):,} items."
        )
    return lines


def _aim(row: dict[str, Any]) -> float:
    """Return a round difference that is about half of what could be found."""
    half = row["detectable"] / 2
    rounds = [base * 10.0**power for power in range(-4, 4) for base in (1, 2, 5)]
    return max((one for one in rounds if one <= half), default=half)


def _rough(n: int) -> int:
    """Round a number of items up to two digits."""
    unit = 10 ** max(0, len(str(n)) - 2)
    return -(-n // unit) * unit


def _range(numbers: Sequence[int]) -> str:
    return f"{numbers[0]:,}" if numbers[0] == numbers[-1] else f"{numbers[0]:,} to {numbers[-1]:,}"


def _n(n: int, word: str) -> str:
    return f"{n:,} {word}{'' if n == 1 else 's'}"
