"""Amidei, Piwek & Willis (2019): agreement and correlation side by side, from the user's copies of the ratings.

"Agreement is overrated: A plea for correlation to assess human evaluation reliability", INLG 2019. Which coefficient
the paper computed was found by computing again: its "Fleiss' κ" is nltk's ``multi_kappa``, the coefficient of Davies &
Fleiss (for two judges that is Cohen's κ), and its numbers are cut off after two decimals, not rounded.
"""

from __future__ import annotations

import os
import re
import warnings
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from ordbridge import reading as data
from ordbridge.errors import InputError, StatisticalWarning
from ordbridge.papers.amidei_printed import (
    COMMON_QUESTIONS,
    SLIPS,
    TABLE_3,
    TABLE_5,
    TABLE_7,
    averages,
    cut_off,
    printed_tables,
    slips,
    table_7,
)
from ordbridge.papers.reproduction import (
    CORRECTED,
    HOLDS,
    NOT_AT_HAND,
    Claim,
    Part,
    Reproduction,
    claims_table,
)
from ordbridge.reading.source import text_of
from ordbridge.reading.text_files import rows_of
from ordbridge.reliability import Reliability, analyse, davies_fleiss_kappa, fleiss_kappa, goodman_kruskal_gamma
from ordbridge.reliability.cautions import MISLEADING
from ordbridge.reliability.ratings import GAP, Ratings
from ordbridge.render import figures
from ordbridge.results import Finding
from ordbridge.results import found as noticed
from ordbridge.support.naming import arg

__all__ = [
    "COMMON_QUESTIONS",
    "SLIPS",
    "TABLE_3",
    "TABLE_5",
    "TABLE_7",
    "claims",
    "cut_off",
    "reproduce",
    "shuffled_within_items",
]

REFERENCE = (
    "Amidei, J., Piwek, P., & Willis, A. (2019). Agreement is overrated: a plea for correlation to assess human "
    "evaluation reliability. INLG 2019, 344-354."
)
Printed = dict[tuple[str, ...], dict[str, str]]
"""κ and γ as a reader of the paper typed them, by criterion or by criterion and two judges."""

claims = {
    "kappa": Claim("κ of the three Flickr-8k judges", "0.52", "Flickr-8k"),
    "gamma": Claim("mean pairwise γ of the three Flickr-8k judges", "0.98", "Flickr-8k"),
}
"""The paper's two coefficients of Flickr-8k."""


def reproduce(
    qgstec: str | os.PathLike[str] | None = None,
    flickr: str | os.PathLike[str] | None = None,
    *,
    printed: str | os.PathLike[str] | None = None,
) -> Reproduction:
    """Compute κ and γ for every criterion and pair of judges, beside the numbers that the paper prints.

    Tables 3, 5 and 7 are built in, with their averages, which are computed again from the printed numbers. Whether the
    single numbers of Table 7 come out can be said only with the ratings of the six judges, and those of Table 5 cannot
    be had: nothing is downloaded.

    Parameters
    ----------
    qgstec
        Ratings of QG-STEC; see :func:`ordbridge.reading.read_qgstec`. The paper's six judges are in
        ``Export-Subsets.zip``; a table in the long form of :mod:`ordbridge.reading` is taken too.
    flickr
        Judgements of Flickr-8k; see :func:`ordbridge.reading.read_flickr8k`, or the long form.
    printed
        Further coefficients of the paper, such as those of its Table 6, typed from a copy of it: CSV with
        ``criterion, participant_a, participant_b, kappa, gamma``. Judges are 1 to 6, left empty for all together;
        numbers stand as they are printed, or are left empty. Table 7 is built in (:data:`TABLE_7`); what a file says
        comes before it.
    """
    if printed is not None and qgstec is None:
        raise InputError(f"the printed tables are about QG-STEC; name its file as well ({arg('qgstec')})")
    parts: list[Part] = []
    rows: list[dict[str, str]] = []
    summary: list[str] = []
    cautions: list[Finding] = []
    six = False
    if qgstec is not None:
        typed = {} if printed is None else _printed(printed)
        six = _questions(_ratings(qgstec, data.read_qgstec), typed, parts, rows, summary, cautions)
    if flickr is not None:
        _captions(_ratings(flickr, data.read_flickr8k), parts, rows, summary, cautions)
    if not six:
        rows += slips()
        summary.append(
            "Table 7: without the ratings of the six judges of QG-STEC (Export-Subsets.zip) its 80 "
            "coefficients stand only as they are printed. Two of them are known to be slips, and its averages follow "
            "from them."
        )
    rows += averages()
    parts += printed_tables()
    title = "Agreement and correlation, computed again"
    return Reproduction(title, REFERENCE, tuple(summary), claims_table(rows), tuple(parts), tuple(cautions))


def shuffled_within_items(ratings: Ratings, seed: int = 1) -> Ratings:
    """Return the ratings of each item in random order, so that no judge is a rank position.

    Examples
    --------
    >>> from ordbridge.reliability import prepare
    >>> shuffled = shuffled_within_items(prepare([[1, 2, 3]] * 4))
    >>> sorted(shuffled.codes[0].tolist())
    [0, 1, 2]
    """
    from dataclasses import fields

    order = np.random.RandomState(seed).random_sample(ratings.codes.shape)
    order = np.where(ratings.codes == GAP, 2.0, order)  # gaps go last
    labels = {f.name: getattr(ratings, f.name) for f in fields(ratings) if f.name not in ("row", "column", "code")}
    return Ratings.from_codes(np.take_along_axis(ratings.codes, order.argsort(axis=1), axis=1), **labels)


def _ratings(path: str | os.PathLike[str], reader: Any) -> pa.Table:
    """Read the long form where the file has it, else the published one."""
    from ordbridge.reading import tables

    if str(path).endswith((".parquet", ".pq")):
        return tables.read(path)
    if str(path).endswith(".csv") and os.path.isfile(path):
        with open(path, encoding="utf-8-sig", errors="replace") as file:
            if {"item", "participant", "criterion", "rating"} <= set(file.readline(10_000).strip().split(",")):
                return tables.read(path)
    table: pa.Table = reader(path)
    return table


def _analysed(table: pa.Table, item: str, cautions: list[Finding], where: str) -> Reliability:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticalWarning)
        result = analyse(table, item=item, criterion="criterion")
    own = [one for one in result.findings if one.code in MISLEADING]
    cautions += [replace(one, subject=", ".join(filter(None, (where, one.subject)))) for one in own]
    return result


def _printed(path: str | os.PathLike[str]) -> Printed:
    """Read the paper's coefficients as its reader typed them."""
    names = ("criterion", "participant_a", "participant_b", "kappa", "gamma")
    header, *lines = rows_of(text_of(path), ",", str(path)) or [[]]
    missing = [name for name in names if name not in header]
    if missing:
        raise InputError(f"{path} has no column {missing[0]!r}; it needs: {', '.join(names)}")
    found: Printed = {}
    for number, line in enumerate(lines, 2):
        where, cells = f"{path}, line {number}", dict(zip(header, line, strict=False))
        criterion, *judges, kappa, gamma = ((cells.get(name) or "").strip() for name in names)
        for value in filter(None, (kappa, gamma)):
            if not re.fullmatch(r"-?[01]?\.\d+|-?[01]", value):
                raise InputError(f"{where}: {value!r} is not a coefficient such as 0.52")
        for judge in filter(None, judges):
            if not judge.isdigit():
                raise InputError(f"{where}: judge {judge!r} is not a number from 1 to 6")
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
    decimals = len(claim.paper.partition(".")[2])
    if claim.what in SLIPS and claim.paper == SLIPS[claim.what][0] and cut_off(value) != cut_off(float(claim.paper)):
        return claim.judged(f"{value:.5f}", CORRECTED, f"a slip of the paper: {SLIPS[claim.what][2]}")
    if float(cut_off(value, decimals)) == float(claim.paper):
        return claim.judged(f"{value:.5f}", HOLDS, f"cut off after {decimals} decimals")
    if round(value, decimals) == float(claim.paper):
        return claim.judged(f"{value:.5f}", HOLDS, f"rounded to {decimals} decimals, not cut off")
    if other is not None and float(cut_off(other, decimals)) == float(claim.paper):
        return claim.judged(f"{value:.5f}", CORRECTED, f"printed is the coefficient of Fleiss (1971), {other:.5f}")
    return claim.judged(f"{value:.5f}", CORRECTED, "no way of computing it that we know gives the printed number")


def _questions(
    table: pa.Table,
    printed: Printed,
    parts: list[Part],
    rows: list[dict[str, str]],
    summary: list[str],
    cautions: list[Finding],
) -> bool:
    """Add what the paper does with the judges of QG-STEC; tell whether these are its six judges."""
    # A sentence has several questions, and a judge rates each of them.
    result = _analysed(table, "text_id", cautions, "QG-STEC")
    judges = sorted({row["participant"] for row in result.raters.to_pylist()})
    six = len(judges) == 6
    if six:
        printed = table_7(set(result.ratings)) | printed
    pairs = [row for row in result.pairs.to_pylist() if row["n_common"]]
    if not six:
        cautions.append(noticed("other-judges", "QG-STEC", judges=len(judges)))
    rows += _common_questions(pairs) if six else []
    by_criterion, by_pair = _by_criterion(result, printed), _by_pair(result, printed)
    ours: dict[tuple[str, ...], dict[str, Any]] = {(r["criterion"],): r for r in by_criterion.to_pylist()}
    ours |= {(r["criterion"], r["participant_a"], r["participant_b"]): r for r in by_pair.to_pylist()}
    rows += _beside_the_paper(printed, ours)
    summary += _reading(result)
    beside = "those that the paper prints in its Table 7 stand beside them" if printed else "only ours are shown"
    summary.append(
        f"QG-STEC: κ and γ of {len(pairs)} pairs of judges and criteria are computed from {len(judges)} judges; "
        f"{beside}."
    )
    text = (
        "κ is Cohen's, which for two judges is what the paper calls Fleiss' κ; the coefficient of Fleiss (1971) stands "
        "beside it. The columns cut off after two decimals are what the paper would print.",
    )
    parts += [
        Part("qgstec_criteria", "QG-STEC: all judges, by criterion", by_criterion, text),
        Part("qgstec_pairs", "QG-STEC: every pair of judges with common questions", by_pair),
        Part("qgstec_judges", "QG-STEC: outlying judges", _flagged(result)),
        _survey(result, "QG-STEC"),
    ]
    for criterion, ratings in result.ratings.items():
        name = criterion.lower()
        parts.append(
            Part(
                f"qgstec_{name}_pairs", f"{criterion}: pairs of judges", figures.pairs_heatmap(result.pairs, criterion)
            )
        )
        parts.append(
            Part(f"qgstec_{name}_categories", f"{criterion}: categories used", figures.categories_used(ratings))
        )
    return six


def _survey(result: Reliability, where: str) -> Part:
    """Set the user's coefficients beside those of the papers that the authors surveyed (Table 3)."""
    short = {name: name for name in TABLE_3} | {f"Krippendorff's α, {result.level}": "Krippendorff's α"}
    rows = []
    for row in result.coefficients.to_pylist():
        if short.get(row["coefficient"]) in TABLE_3 and row["estimate"] is not None:
            times, mean, low, high = TABLE_3[short[row["coefficient"]]]
            rows.append(
                {
                    "criterion": row["criterion"],
                    "coefficient": row["coefficient"],
                    "estimate": row["estimate"],
                    "papers": times,
                    "mean": mean,
                    "lowest": low,
                    "highest": high,
                }
            )
    caption = f"{where}: beside what 24 surveyed papers report (Table 3)"
    return Part(f"{where.lower().replace('-', '')}_survey", caption, pa.Table.from_pylist(rows))


def _common_questions(pairs: list[dict[str, Any]]) -> list[dict[str, str]]:
    ours: dict[tuple[int, int], int] = {}
    for row in pairs:
        pair = (int(row["participant_a"].lstrip("P")), int(row["participant_b"].lstrip("P")))
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
    parts: list[Part],
    rows: list[dict[str, str]],
    summary: list[str],
    cautions: list[Finding],
) -> None:
    """Add the paper's two numbers for Flickr-8k, and what becomes of them when ratings are not sorted."""
    result = _analysed(table, "item", cautions, "Flickr-8k")
    (ratings,) = result.ratings.values()
    kappa, fleiss = (f(ratings, conf_level=None).estimate for f in (davies_fleiss_kappa, fleiss_kappa))
    gamma = goodman_kruskal_gamma(ratings, pooled=False, conf_level=None).estimate
    shuffled = goodman_kruskal_gamma(shuffled_within_items(ratings), pooled=False, conf_level=None).estimate
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
            f"columns are ranks, not judges. γ = {gamma:.2f} follows from that order; without it γ is {shuffled:.2f}."
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
        _survey(result, "Flickr-8k"),
        Part("flickr_categories", "Flickr-8k: categories used in each column", figures.categories_used(ratings)),
    ]


def _reading(result: Reliability) -> list[str]:
    return [f"QG-STEC, {line}" for line in result.answer.splitlines()]


def _by_criterion(result: Reliability, printed: Printed) -> pa.Table:
    """Compute κ and γ of all judges as the paper does: nltk's multi_kappa, and the mean of the pairs' γ."""
    wanted: dict[str, Any] = {
        "kappa": davies_fleiss_kappa,
        "fleiss_1971": fleiss_kappa,
        "gamma": partial(goodman_kruskal_gamma, pooled=False),
    }
    rows: list[dict[str, Any]] = []
    for criterion, ratings in result.ratings.items():
        rows.append({"criterion": criterion})
        for name, function in wanted.items():
            try:
                rows[-1][name] = function(ratings, conf_level=None).estimate
            except InputError:  # no variation
                rows[-1][name] = None
    kinds = [("criterion", pa.string()), *((name, pa.float64()) for name in wanted)]
    return _as_in_paper(pa.Table.from_pylist(rows, schema=pa.schema(kinds)), printed)


def _by_pair(result: Reliability, printed: Printed) -> pa.Table:
    rows = [row for row in result.pairs.to_pylist() if row["n_common"]]
    for row in rows:
        ratings = result.ratings[row["criterion"]].of_raters([row["participant_a"], row["participant_b"]]).complete()
        try:
            row["fleiss_1971"] = fleiss_kappa(ratings, conf_level=None).estimate
        except InputError:  # no variation; the note says so
            row["fleiss_1971"] = None
    names = ("criterion", "participant_a", "participant_b", "n_common", "kappa", "fleiss_1971", "gamma", "note")
    kinds = [pa.string()] * 3 + [pa.int64()] + [pa.float64()] * 3 + [pa.string()]
    schema = pa.schema(list(zip(names, kinds, strict=True)))
    return _as_in_paper(pa.Table.from_pylist([{n: row.get(n) for n in names} for row in rows], schema), printed)


def _as_in_paper(table: pa.Table, printed: Printed) -> pa.Table:
    """Add the coefficients cut off as the paper prints them, and what it prints."""
    columns = [
        table[name].to_pylist()
        for name in ("criterion", "participant_a", "participant_b")
        if name in table.column_names
    ]
    keys = list(zip(*columns, strict=True))
    for name in ("kappa", "gamma"):
        cut = [None if value is None else cut_off(value) for value in table[name].to_pylist()]
        paper = [printed.get(key, {}).get(name) or NOT_AT_HAND for key in keys]
        table = table.append_column(f"{name}_cut_off", pa.array(cut, pa.string()))
        table = table.append_column(f"{name}_paper", pa.array(paper, pa.string()))
    return table


def _flagged(result: Reliability) -> pa.Table:
    rows = [row for row in result.raters.to_pylist() if row["flagged"]]
    names = ("criterion", "participant", "leniency", "consistency", "mean_kappa", "mean_gamma", "reason")
    if not rows:
        return pa.table({"criterion": ["none"], "participant": ["no outlier on any criterion"]})
    return pa.Table.from_pylist([{name: row[name] for name in names} for row in rows])
