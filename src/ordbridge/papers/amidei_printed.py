"""The numbers that Amidei, Piwek & Willis (2019) print, and what can be said about them without any ratings.

The numbers are in ``amidei2019.toml``, as text: cut off, not rounded, with as many decimals as are printed.
"""

from __future__ import annotations

import math
import tomllib
from pathlib import Path

import numpy as np
import pyarrow as pa

from ordbridge.papers.reproduction import CORRECTED, HOLDS, Claim, Part

_PRINTED = tomllib.loads(Path(__file__).with_name("amidei2019.toml").read_text(encoding="utf-8"))
COMMON_QUESTIONS = {(int(pair[0]), int(pair[2])): number for pair, number in _PRINTED["common_questions"].items()}
TABLE_3: dict[str, tuple[int, str, str | None, str | None]] = {
    name: (times, mean, low or None, high or None) for name, (times, mean, low, high) in _PRINTED["table_3"].items()
}
TABLE_5: dict[str, list[tuple[str, str]]] = _PRINTED["table_5"]
TABLE_7_PAIRS = ((1, 2), (1, 3), (1, 4), (1, 6), (2, 5), (3, 5), (4, 5), (5, 6))
TABLE_7: dict[str, tuple[str, str]] = _PRINTED["table_7"]
SLIPS: dict[str, tuple[str, float, str]] = _PRINTED["slips"]


def cut_off(value: float, decimals: int = 2) -> str:
    """Return a number cut off after two decimals, or after as many as the paper prints.

    Examples
    --------
    >>> cut_off(0.98875), cut_off(-0.019), cut_off(-0.000139, 5), cut_off(0.29)
    ('0.98', '-0.01', '-0.00013', '0.29')
    """
    whole = math.trunc(round(10**decimals * value, 9))  # 100 · 0.29 is 28.999999999999996
    return f"{whole / 10**decimals:.{decimals}f}"


def table_7(criteria: set[str]) -> dict[tuple[str, ...], dict[str, str]]:
    """Return Table 7 of those criteria that are in the ratings, by criterion and two judges."""
    return {
        (criterion, f"P{a:03d}", f"P{b:03d}"): {"kappa": kappa, "gamma": gamma}
        for criterion, (kappas, gammas) in TABLE_7.items()
        if criterion in criteria
        for (a, b), kappa, gamma in zip(TABLE_7_PAIRS, kappas.split(), gammas.split(), strict=True)
    }


def slips() -> list[dict[str, str]]:
    """Name the two slips of Table 7."""
    return [
        Claim(what, printed, "Table 7").judged(f"{found:.3f}", CORRECTED, f"a slip of the paper: {odd}")
        for what, (printed, found, odd) in SLIPS.items()
    ]


def averages() -> list[dict[str, str]]:
    """Compute the averages of Tables 5 and 7 again from the numbers printed above them."""
    rows = []
    for group, who in enumerate(("all judges", "native judges", "non-native judges")):
        for measure, symbol in enumerate("κγ"):
            column = {name: numbers[group][measure] for name, numbers in TABLE_5.items()}
            rows.append(_average(f"average {symbol}, {who} (Table 5)", column, {}))
    for place, (a, b) in enumerate(TABLE_7_PAIRS):
        for measure, symbol in enumerate("κγ"):
            who = f"judges {a} and {b}"
            column = {name: numbers[measure].split()[place] for name, numbers in TABLE_7.items()}
            wrong = {name: SLIPS[what][1] for name in column if (what := f"{symbol}, {name}, {who}") in SLIPS}
            rows.append(_average(f"average {symbol}, {who} (Table 7)", column, wrong))
    return rows


def _average(what: str, column: dict[str, str], wrong: dict[str, float]) -> dict[str, str]:
    """Judge a printed average: it must be one that numbers cut off as printed can have."""
    *criteria, last = column
    bounds = {name: _meant(column[name]) for name in criteria}
    printed, decimals = column[last], len(column[last].partition(".")[2])
    mean = float(np.mean([float(column[name]) for name in criteria]))
    ends = _mean_ends(list(bounds.values()))
    fits = ends[0] < _meant(printed)[1] and ends[1] >= float(printed)
    reason = "the printed numbers are cut off, so their own average is not exact"
    if wrong:
        right = _mean_ends([(wrong[name], wrong[name]) if name in wrong else bounds[name] for name in criteria])
        would = list(dict.fromkeys(cut_off(end - 1e-6 * at, decimals) for at, end in enumerate(right)))
        number = ", ".join(f"{value:.3f}" for value in wrong.values())
        reason = f"it has a slip in it; with {number} instead it would be {' or '.join(would)}"
    return Claim(what, printed, "Tables 5 and 7").judged(f"{mean:.4f}", HOLDS if fits else CORRECTED, reason)


def _meant(printed: str) -> tuple[float, float]:
    """Return between which numbers one lies that is cut off to this.

    Examples
    --------
    >>> [tuple(round(end, 2) for end in _meant(number)) for number in (".17", "-.05", "1")]
    [(0.17, 0.18), (-0.06, -0.05), (1.0, 1.0)]
    """
    value, decimals = float(printed), len(printed.partition(".")[2])
    step = 10**-decimals if decimals else 0.0
    return (value, value + step) if value >= 0 else (value - step, value)


def _mean_ends(bounds: list[tuple[float, float]]) -> tuple[float, float]:
    low, high = (float(np.mean(ends)) for ends in zip(*bounds, strict=True))
    return low, high


def printed_tables() -> list[Part]:
    """Return Tables 3, 5 and 7 as the paper has them."""
    rows = [
        {"coefficient": name, "papers": times, "mean": mean, "lowest": low, "highest": high}
        for name, (times, mean, low, high) in TABLE_3.items()
    ]
    pairs = [f"J{a}–J{b}" for a, b in TABLE_7_PAIRS]
    by_pair = [
        {"criterion": criterion, "coefficient": symbol} | dict(zip(pairs, numbers.split(), strict=True))
        for criterion, both in TABLE_7.items()
        for symbol, numbers in zip("κγ", both, strict=True)
    ]
    return [
        Part("table_3", "Coefficients in 24 of 135 surveyed papers (Table 3)", pa.Table.from_pylist(rows)),
        Part("table_5", "The pilot of the paper (Table 5), whose ratings are not public", _pilot()),
        Part("table_7", "Pairs of judges of QG-STEC (Table 7), as printed", pa.Table.from_pylist(by_pair)),
    ]


def _pilot() -> pa.Table:
    names = ("all", "native", "non_native")
    return pa.Table.from_pylist(
        [
            {"criterion": criterion}
            | {
                f"{symbol}_{name}": pair[at]
                for name, pair in zip(names, pairs, strict=True)
                for at, symbol in enumerate(("kappa", "gamma"))
            }
            for criterion, pairs in TABLE_5.items()
        ]
    )
