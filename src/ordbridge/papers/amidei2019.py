"""Amidei, Piwek & Willis (2019): agreement and correlation side by side, from the user's copies of the ratings.

"Agreement is overrated: A plea for correlation to assess human evaluation reliability", INLG 2019. Which coefficient
the paper computed was found by computing again: its "Fleiss' κ" is nltk's ``multi_kappa``, the coefficient of Davies &
Fleiss (for two judges that is Cohen's κ), and its numbers are cut off after two decimals, not rounded.
"""

from __future__ import annotations

import csv
import math
import os
import re
import warnings
from typing import Any

import numpy as np
import pyarrow as pa

from ordbridge import datasets
from ordbridge.errors import InputError, StatisticalWarning
from ordbridge.papers.reproduction import (
    CORRECTED,
    HOLDS,
    NOT_AT_HAND,
    Claim,
    Part,
    Reproduction,
    claims_table,
)
from ordbridge.reliability import Reliability, analyse, davies_fleiss_kappa, fleiss_kappa, goodman_kruskal_gamma, plots
from ordbridge.reliability.ratings import GAP, Ratings

__all__ = ["COMMON_QUESTIONS", "claims", "cut_off", "reproduce", "shuffled_within_items"]

REFERENCE = (
    "Amidei, J., Piwek, P., & Willis, A. (2019). Agreement is overrated: a plea for correlation to assess human "
    "evaluation reliability. INLG 2019, 344-354."
)
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

Printed = dict[tuple[str, ...], dict[str, str]]
"""κ and γ as a reader of the paper typed them, by criterion or by criterion and two judges."""

claims = {
    "kappa": Claim("κ of the three Flickr-8k judges", "0.52", "Flickr-8k"),
    "gamma": Claim("mean pairwise γ of the three Flickr-8k judges", "0.98", "Flickr-8k"),
}
"""The paper's coefficients that are at hand; those of its Tables 6 and 7 are not (``printed`` takes them)."""


def reproduce(
    qgstec: str | os.PathLike[str] | None = None,
    flickr: str | os.PathLike[str] | None = None,
    *,
    printed: str | os.PathLike[str] | None = None,
    draws: int = 1000,
) -> Reproduction:
    """Compute κ and γ for every criterion and pair of judges, with the paper's numbers where they are at hand.

    Parameters
    ----------
    qgstec
        Ratings of QG-STEC; see :func:`ordbridge.datasets.read_qgstec`. The paper's six judges are in
        ``Export-Subsets.zip``; a table in the long form of :mod:`ordbridge.datasets` is taken too.
    flickr
        Judgements of Flickr-8k; see :func:`ordbridge.datasets.read_flickr8k`, or the long form.
    printed
        The coefficients of the paper's Tables 6 and 7, which are not at hand here, typed from a copy of the paper: CSV
        with ``criterion, rater_a, rater_b, kappa, gamma``. Judges are 1 to 6, left empty for all judges together;
        numbers stand as they are printed, or are left empty.
    draws
        Resamples for the intervals.
    """
    if qgstec is None and flickr is None:
        raise InputError("name a file: qgstec=… or flickr=…; nothing is downloaded")
    if printed is not None and qgstec is None:
        raise InputError("the printed tables are about QG-STEC; name its file as well: qgstec=…")
    parts: list[Part] = []
    rows: list[dict[str, str]] = []
    summary: list[str] = []
    cautions: list[str] = []
    if qgstec is not None:
        tables_6_and_7 = {} if printed is None else _printed(printed)
        _questions(_ratings(qgstec, datasets.read_qgstec), tables_6_and_7, draws, parts, rows, summary, cautions)
    if flickr is not None:
        _captions(_ratings(flickr, datasets.read_flickr8k), draws, parts, rows, summary, cautions)
    title = "Agreement and correlation, computed again"
    return Reproduction(title, REFERENCE, tuple(summary), claims_table(rows), tuple(parts), tuple(cautions))


def cut_off(value: float) -> str:
    """Return a number cut off after two decimals, as the paper prints them.

    Examples
    --------
    >>> cut_off(0.98875), cut_off(-0.019)
    ('0.98', '-0.01')
    """
    return f"{math.trunc(100 * value) / 100:.2f}"


def shuffled_within_items(ratings: Ratings, seed: int = 1) -> Ratings:
    """Return the ratings of each item in random order, so that no judge is a rank position.

    Examples
    --------
    >>> from ordbridge.reliability import prepare
    >>> shuffled = shuffled_within_items(prepare([[1, 2, 3]] * 4))
    >>> sorted(shuffled.codes[0].tolist())
    [0, 1, 2]
    """
    from dataclasses import replace

    order = np.random.RandomState(seed).random_sample(ratings.codes.shape)
    order = np.where(ratings.codes == GAP, 2.0, order)  # gaps go last
    return replace(ratings, codes=np.take_along_axis(ratings.codes, order.argsort(axis=1), axis=1))


def _ratings(path: str | os.PathLike[str], reader: Any) -> pa.Table:
    """Read the long form where the file has it, else the published one."""
    from ordbridge import tables

    if str(path).endswith((".parquet", ".pq")):
        return tables.read(path)
    if str(path).endswith(".csv") and os.path.isfile(path):
        with open(path, encoding="utf-8-sig", errors="replace") as file:
            if {"item", "participant", "criterion", "rating"} <= set(file.readline().strip().split(",")):
                return tables.read(path)
    table: pa.Table = reader(path)
    return table


def _analysed(table: pa.Table, item: str, draws: int, cautions: list[str], where: str) -> Reliability:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", StatisticalWarning)
        result = analyse(table, item=item, criterion="criterion", draws=draws)
    cautions += [f"{where}: {w.message}" for w in caught if issubclass(w.category, StatisticalWarning)]
    return result


def _printed(path: str | os.PathLike[str]) -> Printed:
    """Read the paper's coefficients as its reader typed them."""
    names = ("criterion", "rater_a", "rater_b", "kappa", "gamma")
    if not os.path.isfile(path):
        raise InputError(f"there is no file {path}")
    with open(path, encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        missing = [name for name in names if name not in (reader.fieldnames or [])]
        if missing:
            raise InputError(f"{path} has no column {missing[0]!r}; it needs: {', '.join(names)}")
        found: Printed = {}
        for line in reader:
            where = f"{path}, line {reader.line_num}"
            criterion, *judges, kappa, gamma = ((line[name] or "").strip() for name in names)
            for value in filter(None, (kappa, gamma)):
                if not re.fullmatch(r"-?[01]?\.\d+|-?[01]", value):
                    raise InputError(f"{where}: {value!r} is no coefficient such as 0.52")
            for judge in filter(None, judges):
                if not judge.isdigit():
                    raise InputError(f"{where}: judge {judge!r} is no number from 1 to 6")
            key = (criterion, *(f"P{int(judge):03d}" for judge in judges if judge))
            if key in found:
                raise InputError(f"{where}: {', '.join(key)} stands there twice")
            found[key] = {"kappa": kappa, "gamma": gamma}
    return found


def _beside_the_paper(printed: Printed, ours: dict[tuple[str, ...], dict[str, Any]]) -> list[dict[str, str]]:
    """Compare every printed coefficient with ours, and say where a difference comes from."""
    rows = []
    for key, numbers in printed.items():
        if key not in ours:
            raise InputError(
                f"the printed tables have {', '.join(key)}, which are not in the ratings; there are: "
                f"{'; '.join(sorted(', '.join(k) for k in ours))}"
            )
        criterion, *judges = key
        who = f"judges {' and '.join(judge.lstrip('P0') for judge in judges)}" if judges else "all judges"
        for name, text in numbers.items():
            if text:
                claim = Claim(f"{'κ' if name == 'kappa' else 'γ'}, {criterion}, {who}", text, "Tables 6, 7")
                rows.append(_explained(claim, name, ours[key]))
    return rows


def _explained(claim: Claim, name: str, ours: dict[str, Any]) -> dict[str, str]:
    value, other = ours[name], ours["fleiss_1971"] if name == "kappa" else None
    if value is None:
        return claim.judged("–", CORRECTED, "not defined: there is no variation")
    if float(cut_off(value)) == float(claim.paper):
        return claim.judged(f"{value:.5f}", HOLDS, "cut off after two decimals")
    if round(value, 2) == float(claim.paper):
        return claim.judged(f"{value:.5f}", HOLDS, "rounded to two decimals, not cut off")
    if other is not None and float(cut_off(other)) == float(claim.paper):
        return claim.judged(f"{value:.5f}", CORRECTED, f"printed is the coefficient of Fleiss (1971), {other:.5f}")
    return claim.judged(f"{value:.5f}", CORRECTED, "no way of computing it that we know gives the printed number")


def _questions(
    table: pa.Table,
    printed: Printed,
    draws: int,
    parts: list[Part],
    rows: list[dict[str, str]],
    summary: list[str],
    cautions: list[str],
) -> None:
    """Add what the paper does with the judges of QG-STEC."""
    # A sentence has several questions, and a judge rates each of them.
    result = _analysed(table, "text_id", draws, cautions, "QG-STEC")
    judges = sorted({row["rater"] for row in result.raters.to_pylist()})
    six = len(judges) == 6
    pairs = [row for row in result.pairs.to_pylist() if row["n_common"]]
    if not six:
        cautions.append(
            f"QG-STEC: this file has {len(judges)} judges; Tables 6 and 7 of the paper are about the six judges of "
            "the original challenge, so these are other numbers"
        )
    rows += _common_questions(pairs) if six else []
    by_criterion, by_pair = _by_criterion(result, printed), _by_pair(result, printed)
    ours: dict[tuple[str, ...], dict[str, Any]] = {(r["criterion"],): r for r in by_criterion.to_pylist()}
    ours |= {(r["criterion"], r["rater_a"], r["rater_b"]): r for r in by_pair.to_pylist()}
    rows += _beside_the_paper(printed, ours)
    summary += _reading(result)
    beside = "those of the paper that were typed in stand beside them" if printed else "only ours are shown"
    summary.append(
        f"QG-STEC: κ and γ of {len(pairs)} pairs of judges and criteria are computed from {len(judges)} judges; the "
        f"paper's own coefficients for them (Tables 6 and 7) are not at hand here: {beside}."
    )
    text = (
        "κ is Cohen's, which for two judges is what the paper calls Fleiss' κ; the coefficient of Fleiss (1971) stands "
        "beside it. The columns cut off after two decimals are what the paper would print.",
    )
    parts += [
        Part("qgstec_criteria", "QG-STEC: all judges, by criterion", by_criterion, text),
        Part("qgstec_pairs", "QG-STEC: every pair of judges with common questions", by_pair),
        Part("qgstec_judges", "QG-STEC: judges who stand apart", _flagged(result)),
    ]
    for criterion, ratings in result.ratings.items():
        name = criterion.lower()
        parts.append(
            Part(f"qgstec_{name}_pairs", f"{criterion}: pairs of judges", plots.pairs_heatmap(result.pairs, criterion))
        )
        parts.append(Part(f"qgstec_{name}_categories", f"{criterion}: categories used", plots.categories_used(ratings)))


def _common_questions(pairs: list[dict[str, Any]]) -> list[dict[str, str]]:
    ours: dict[tuple[int, int], int] = {}
    for row in pairs:
        pair = (int(row["rater_a"].lstrip("P")), int(row["rater_b"].lstrip("P")))
        ours[pair] = max(ours.get(pair, 0), row["n_common"])
    judged = []
    for (a, b), number in COMMON_QUESTIONS.items():
        claim = Claim(f"questions rated by judges {a} and {b}", str(number), "QG-STEC")
        found = ours.get((a, b), 0)
        reason = "" if found == number else "judges are numbered by their columns here, or the file was cleaned since"
        judged.append(claim.judged(str(found), HOLDS if found == number else CORRECTED, reason))
    return judged


def _captions(
    table: pa.Table,
    draws: int,
    parts: list[Part],
    rows: list[dict[str, str]],
    summary: list[str],
    cautions: list[str],
) -> None:
    """Add the paper's two numbers for Flickr-8k, and what becomes of them when ratings are not sorted."""
    result = _analysed(table, "item", draws, cautions, "Flickr-8k")
    (ratings,) = result.ratings.values()
    kappa, fleiss = (f(ratings, draws=0).value for f in (davies_fleiss_kappa, fleiss_kappa))
    gamma = goodman_kruskal_gamma(ratings, draws=0).value
    shuffled = goodman_kruskal_gamma(shuffled_within_items(ratings), draws=0).value
    for name, value, reason in (
        ("kappa", kappa, f"Davies & Fleiss, as nltk's multi_kappa, cut off; Fleiss (1971) gives {fleiss:.4f}"),
        ("gamma", gamma, f"cut off; with each caption's ratings in random order γ is {shuffled:.2f}"),
    ):
        same = cut_off(value) == claims[name].paper
        rows.append(claims[name].judged(f"{value:.5f}", HOLDS if same else CORRECTED, reason))
    codes = ratings.codes
    in_order = float(np.mean([(np.diff(row[row != GAP]) >= 0).all() for row in codes]))
    if in_order == 1.0:
        summary.append(
            f"Flickr-8k: in all {len(codes)} captions the ratings ascend from the first to the third column, so the "
            f"columns are ranks and no judges. γ = {gamma:.2f} follows from that order; without it γ is {shuffled:.2f}."
        )
    else:
        summary.append(f"Flickr-8k: κ {kappa:.4f}, mean pairwise γ {gamma:.4f}.")
    comparison = pa.table(
        {
            "coefficient": ["κ (Davies & Fleiss)", "κ (Fleiss 1971)", "γ, mean over pairs", "γ, ratings shuffled"],
            "ours": [kappa, fleiss, gamma, shuffled],
            "cut_off": [cut_off(v) for v in (kappa, fleiss, gamma, shuffled)],
            "paper": [claims["kappa"].paper, None, claims["gamma"].paper, None],
        }
    )
    parts += [
        Part("flickr", "Flickr-8k: the paper's two numbers and their variants", comparison),
        Part("flickr_pairs", "Flickr-8k: every pair of columns", _by_pair(result, {})),
        Part("flickr_categories", "Flickr-8k: categories used in each column", plots.categories_used(ratings)),
    ]


def _reading(result: Reliability) -> list[str]:
    return [f"QG-STEC, {row['criterion']}: {row['reading']}" for row in result.readings.to_pylist()]


def _by_criterion(result: Reliability, printed: Printed) -> pa.Table:
    wanted = {"Davies & Fleiss' κ": "kappa", "Fleiss' κ": "fleiss_1971", "Goodman & Kruskal's γ": "gamma"}
    found: dict[str, dict[str, Any]] = {}
    for row in result.coefficients.to_pylist():
        if row["coefficient"] in wanted:
            entry = found.setdefault(row["criterion"], {"criterion": row["criterion"]})
            entry[wanted[row["coefficient"]]] = row["estimate"]
    kinds = [("criterion", pa.string()), *((name, pa.float64()) for name in wanted.values())]
    table = pa.Table.from_pylist(list(found.values()), schema=pa.schema(kinds))
    return _as_in_paper(table, printed)


def _by_pair(result: Reliability, printed: Printed) -> pa.Table:
    rows = [row for row in result.pairs.to_pylist() if row["n_common"]]
    for row in rows:
        ratings = result.ratings[row["criterion"]].of_raters([row["rater_a"], row["rater_b"]]).complete()
        try:
            row["fleiss_1971"] = fleiss_kappa(ratings, draws=0).value
        except InputError:  # no variation; the note says so
            row["fleiss_1971"] = None
    names = ("criterion", "rater_a", "rater_b", "n_common", "kappa", "fleiss_1971", "gamma", "note")
    kinds = [pa.string()] * 3 + [pa.int64()] + [pa.float64()] * 3 + [pa.string()]
    schema = pa.schema(list(zip(names, kinds, strict=True)))
    return _as_in_paper(pa.Table.from_pylist([{n: row.get(n) for n in names} for row in rows], schema), printed)


def _as_in_paper(table: pa.Table, printed: Printed) -> pa.Table:
    """Add the coefficients cut off as the paper prints them, and what it prints."""
    columns = [table[name].to_pylist() for name in ("criterion", "rater_a", "rater_b") if name in table.column_names]
    keys = list(zip(*columns, strict=True))
    for name in ("kappa", "gamma"):
        cut = [None if value is None else cut_off(value) for value in table[name].to_pylist()]
        paper = [printed.get(key, {}).get(name) or NOT_AT_HAND for key in keys]
        table = table.append_column(f"{name}_cut_off", pa.array(cut, pa.string()))
        table = table.append_column(f"{name}_paper", pa.array(paper, pa.string()))
    return table


def _flagged(result: Reliability) -> pa.Table:
    rows = [row for row in result.raters.to_pylist() if row["flagged"]]
    names = ("criterion", "rater", "mean_kappa", "mean_gamma", "reason")
    if not rows:
        return pa.table({"criterion": ["none"], "rater": ["no judge stands apart on any criterion"]})
    return pa.Table.from_pylist([{name: row[name] for name in names} for row in rows])
