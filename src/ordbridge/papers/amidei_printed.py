"""The numbers that Amidei, Piwek & Willis (2019) print, and what can be said about them without any ratings.

Numbers are text, as they stand in the paper: cut off, not rounded, with as many decimals as are printed.
"""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa

from ordbridge.papers.reproduction import CORRECTED, HOLDS, Claim, Part

COMMON_QUESTIONS = {
    (1, 2): 80,
    (1, 3): 67,
    (1, 4): 81,
    (1, 5): 7,
    (1, 6): 106,
    (2, 5): 158,
    (3, 5): 125,
    (4, 5): 142,
    (5, 6): 129,
}
"""How many questions of QG-STEC each pair of the six judges rated, as the paper says."""

TABLE_3: dict[str, tuple[int, str, str | None, str | None]] = {
    "percent agreement": (7, "0.69", "0.44", "0.94"),
    "Cohen's κ": (4, "0.40", "0.10", "0.88"),
    "Krippendorff's α": (5, "0.62", "0.37", "0.90"),
    "Fleiss' κ": (5, "0.53", "0.29", "0.78"),
    "Pearson's r": (2, "0.42", "0.20", "0.71"),
    "Kendall's W": (1, "0.61", "0.47", "0.76"),
    "weighted κ": (1, "0.07", None, None),
    "κ, unnamed": (3, "0.57", "0.32", "0.77"),
}
"""What 24 of the 135 surveyed papers report: times used, mean, lowest, highest."""

TABLE_5: dict[str, tuple[tuple[str, str], ...]] = {
    "Syntactic": ((".36", ".56"), (".59", ".86"), (".21", ".37")),
    "Comprehensibility": ((".55", ".92"), (".63", "1"), (".48", ".91")),
    "Fluency": ((".30", ".56"), (".39", "1"), (".17", ".27")),
    "Pertinence": ((".20", ".57"), (".22", ".47"), (".07", ".48")),
    "average": ((".35", ".65"), (".45", ".83"), (".23", ".50")),
}
"""The pilot, whose ratings are not public: κ and γ of all seven judges, of three native, of four non-native ones."""

TABLE_7_PAIRS = ((1, 2), (1, 3), (1, 4), (1, 6), (2, 5), (3, 5), (4, 5), (5, 6))
TABLE_7: dict[str, tuple[str, str]] = {
    "Ambiguity": (".06 .17 .29 .08 .45 .14 .17 .23", ".33 .33 .61 .21 .84 .51 .39 .75"),
    "Correctness": (".31 .31 .31 -.00013 .20 .32 .28 .13", ".67 .67 .71 .39 .57 .62 .57 .39"),
    "QuestionType": (".32 -.05 .2 .34 1 .14 .15 .52", ".91 -1 1 .89 1 .45 .80 .95"),
    "Relevance": (".13 .16 .13 .08 .15 .28 .19 .01", ".41 .63 .67 .76 .58 .79 .63 1"),
    "Variety": (".35 .89 .10 .08 .52 .36 .29 .35", ".81 .99 .08 .15 .82 .73 .43 .54"),
    "average": (".23 .29 .20 .11 .46 .24 .21 .24", ".62 .32 .61 .48 .76 .62 .56 .72"),
}
"""κ and γ of each pair of judges of QG-STEC as printed: cut off, with as many decimals as stand there."""

SLIPS: dict[str, tuple[str, float, str]] = {
    "γ, Correctness, judges 1 and 3": (".67", 0.634, "it repeats the γ of judges 1 and 2"),
    "κ, QuestionType, judges 1 and 4": (".2", 0.223, "it has one decimal where all others have two"),
}
"""The two numbers of Table 7 that do not come out of the paper's own ratings: printed, computed again, and what is odd.

They were computed again from the six judges' ratings, which are not part of ordbridge.
"""


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
    reason = "the printed numbers are cut off, so that their own average is not exact"
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
