"""The answer to a file of comparisons: who beats whom how often, for new raters and items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import special, stats

from ordbridge.errors import FitError, InputError
from ordbridge.models.engines import engine_name
from ordbridge.models.inference.adjust import ADJUSTMENTS, adjusted_p
from ordbridge.preferences.analysis import PreferenceAnalysis, TestedContrast, analyse
from ordbridge.preferences.result import PreferenceComparison
from ordbridge.preferences.rows import LINKS
from ordbridge.preferences.table import PairTable, pair_table
from ordbridge.results.finding import Finding, found, worst_first
from ordbridge.support.arguments import choice, proportion
from ordbridge.support.letters import letters
from ordbridge.support.ranks import rank_intervals

__all__ = ["TestedPair", "compare_preferences", "corrected", "interval"]


@dataclass(frozen=True)
class TestedPair:
    """A tested pair with its corrected p-value, and the level of its interval."""

    test: TestedContrast
    p_adjusted: float
    level: float
    naive: float


def compare_preferences(
    data: Any,
    *,
    adjust: str | None = None,
    correct: str = "criteria",
    link: str = "logit",
    engine: str = "r",
    conf_level: float = 0.95,
    **columns: Any,
) -> PreferenceComparison:
    """Say which system is preferred, how often, and how sure that is, for new raters and items.

    Strengths come from a cumulative link model of the answers with one variance per rater:system and item:system. Tests
    are t tests from its restricted likelihood with Satterthwaite's degrees of freedom.

    Parameters
    ----------
    data, **columns
        As for :func:`ordbridge.prefer`.
    adjust
        ``"holm"`` (default), ``"bonferroni"``, ``"sidak"``, ``"fdr"`` or ``"none"``.
    correct
        ``"criteria"``: the comparisons of all criteria are one family. ``"none"``: each criterion is its own.
    link
        ``"logit"`` or ``"probit"``.
    engine
        Of the analysis without raters and items, which is shown beside: ``"r"`` or ``"fast"``.
    conf_level
        Level of the intervals; 1 − conf_level is that of the tests.

    References
    ----------
    Agresti, A. (1992). Analysis of ordinal paired comparison data. Applied Statistics 41, 287–297.
    Satterthwaite, F. E. (1946). An approximate distribution of estimates of variance components. Biometrics Bulletin 2,
    110–114.

    Examples
    --------
    >>> votes = {"rater": list("uuuuvvvvwwww"), "item": list("1234" * 3), "x": list("AB" * 6), "y": list("BA" * 6),
    ...          "vote": ["A", "A", "A", "B", "A", "A", "tie", "A", "B", "A", "A", "B"]}
    >>> found = compare_preferences(votes, first="x", second="y", outcome="vote", rater="rater", item="item",
    ...                             engine="fast")
    >>> found.ranking["system"].to_pylist()
    ['A', 'B']
    """
    adjust = choice("adjust", adjust or "holm", tuple(name for name in ADJUSTMENTS if name != "tukey"))
    choice("correct", correct, ("criteria", "none"))
    choice("link", link, LINKS)
    engine = engine_name(engine)
    proportion("conf_level", conf_level)
    table = pair_table(data, **columns)
    answers, failures = _analyses(table, link, engine)
    families = corrected(answers, adjust, correct == "criteria", 1 - conf_level)
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in SCHEMAS}
    said: list[Finding] = [found("no-answer", name, reason=str(why)) for name, why in failures.items()]
    for one, pairs in zip(answers, families, strict=True):
        rows["pairs"] += _pair_rows(one, pairs)
        rows["ranking"] += _ranking_rows(one, pairs, 1 - conf_level, conf_level)
        rows["checks"] += _check_rows(one)
        rows["models"].append(_model_row(one))
        rows["design"].append(_design_row(one))
        said += [Finding(f.code, f.severity, one.criterion or "", f.values) for f in one.findings]
        said += _naive_says(one, pairs, adjust, 1 - conf_level)
    return PreferenceComparison(
        **{name: pa.Table.from_pylist(rows[name], SCHEMAS[name]) for name in SCHEMAS},
        recognised=dict(table.columns),
        findings=worst_first(said),
        settings={"adjust": adjust, "correct": correct, "link": link, "engine": engine, "conf_level": conf_level,
                  "comparisons": sum(len(pairs) for pairs in families)},
    )  # fmt: skip


def _analyses(
    table: PairTable, link: str, engine: str
) -> tuple[list[PreferenceAnalysis], Mapping[str | None, Exception]]:
    if table.criterion is None:
        return [analyse(table, None, link, engine)], {}
    answers: list[PreferenceAnalysis] = []
    failures: dict[str | None, Exception] = {}
    for place, name in enumerate(table.criteria):
        only = name if len(table.criteria) > 1 else None
        try:
            answers.append(analyse(table.rows(table.criterion == place), only, link, engine))
        except (InputError, FitError) as why:
            if len(table.criteria) == 1:
                raise
            failures[name] = why
    if not answers:
        raise next(iter(failures.values()))
    return answers, failures


def corrected(
    answers: Sequence[PreferenceAnalysis], adjust: str, together: bool, alpha: float
) -> list[list[TestedPair]]:
    """Correct p-values; an interval has the level at which its pair was tested, so that both say the same."""
    raw = [np.array([test.p_value for test in one.tests]) for one in answers]
    if together:
        parts = np.split(adjusted_p(np.concatenate(raw), adjust), np.cumsum([len(p) for p in raw])[:-1])
    else:
        parts = [adjusted_p(p, adjust) for p in raw]
    out = []
    for one, p, corrected in zip(answers, raw, parts, strict=True):
        times = np.where(p > 0, np.minimum(corrected, 1.0) / np.maximum(p, 1e-300), len(p))
        times = np.where(corrected >= 1.0, np.maximum(times, 1.0), times)
        out.append(
            [TestedPair(test, float(c), float(1 - alpha / max(t, 1.0)), float(n))
             for test, c, t, n in zip(one.tests, corrected, times, one.naive_p, strict=True)]
        )  # fmt: skip
    return out


def interval(one: PreferenceAnalysis, pair: TestedPair) -> tuple[float | None, float | None]:
    """Return the interval of the win rate of the first of a pair."""
    test = pair.test
    if not np.isfinite(test.std_error):
        return None, None
    half = float(stats.t.ppf(0.5 + pair.level / 2, test.df)) * test.std_error
    return float(one.rates.points(test.estimate - half)), float(one.rates.points(test.estimate + half))


def _pair_rows(one: PreferenceAnalysis, pairs: Sequence[TestedPair]) -> list[dict[str, Any]]:
    out = []
    names, direct = one.table.systems, one.table.points_matrix()
    for pair in pairs:
        test = pair.test
        low, high = interval(one, pair)
        a, b, eta = test.a, test.b, test.estimate
        if eta < 0:  # the better one first
            a, b, eta = b, a, -eta
            low, high = (None, None) if low is None or high is None else (1 - high, 1 - low)
        n = direct[a, b] + direct[b, a]
        finite = np.isfinite(eta)
        out.append({
            "criterion": one.criterion, "system_a": names[a], "system_b": names[b],
            "win_rate": float(one.rates.points(eta)) if finite else 1.0, "conf_low": low, "conf_high": high,
            "win": float(one.rates.win(eta)) if finite else None, "tie": float(one.rates.ties(eta)) if finite else None,
            "log_odds": eta if finite else None, "std_error": test.std_error if finite else None,
            "df": test.df if finite else None, "p_value": test.p_value, "p_adjusted": pair.p_adjusted,
            "n": int(n), "observed": float(direct[a, b] / n) if n else None, "test": test.test,
            "naive_p_value": None if np.isnan(pair.naive) else pair.naive,
        })  # fmt: skip
    return out


def _ranking_rows(
    one: PreferenceAnalysis, pairs: Sequence[TestedPair], alpha: float, conf_level: float
) -> list[dict[str, Any]]:
    names = one.table.systems
    order = [one.core[k] for k in np.argsort(-one.strengths, kind="stable")]
    tests = [pair.test for pair in pairs if pair.p_adjusted < alpha]
    better = [(names[t.a], names[t.b]) if t.estimate > 0 else (names[t.b], names[t.a]) for t in tests]
    marked = letters([names[k] for k in order], [frozenset(pair) for pair in better])
    places = rank_intervals([names[k] for k in order], better)
    raw = one.table.points_matrix()
    out = []
    everyone = [*one.above, *order, *one.below]
    for rank, k in enumerate(everyone, 1):
        played = raw[k].sum() + raw[:, k].sum()
        row: dict[str, Any] = {
            "criterion": one.criterion, "rank": rank, "system": names[k], "n": int(played),
            "observed": float(raw[k].sum() / played), "win_rate": None, "conf_low": None, "conf_high": None,
            "strength": None, "letters": None, "rank_low": None, "rank_high": None,
        }  # fmt: skip
        if k in order:
            at = one.core.index(k)
            mean, error, df, _ = one.system_rates[at]
            row |= {"win_rate": mean, "letters": marked[names[k]]}
            if np.isfinite(error):
                centre, half = np.log(mean / (1 - mean)), float(stats.t.ppf(0.5 + conf_level / 2, df)) * error
                row["strength"] = float(one.strengths[at])
                row["conf_low"], row["conf_high"] = map(float, special.expit([centre - half, centre + half]))
            low, high = places[names[k]]
            row |= {"rank_low": len(one.above) + low, "rank_high": len(one.above) + high}
        out.append(row)
    return out


def _check_rows(one: PreferenceAnalysis) -> list[dict[str, Any]]:
    """Return position, circles and agreement, one row each."""
    out: list[dict[str, Any]] = []
    of = {"criterion": one.criterion}
    if one.position:
        p = one.position
        out.append(of | {"check": "wins of what is shown first, between equals", "value": p["shown_first"],
                         "conf_low": p["conf_low"], "conf_high": p["conf_high"], "p_value": p["p_value"]})  # fmt: skip
    if one.consistency:
        c = one.consistency
        out.append(of | {"check": f"intransitivity, likelihood ratio on {c['df']} df", "value": c["statistic"],
                         "p_value": c["p_value"]})  # fmt: skip
    if len(one.table.systems) > 2:
        out.append(of | {"check": "circular triads", "value": float(len(one.triads)),
                         "detail": "; ".join(" > ".join((*triad, triad[0])) for triad in one.triads[:10])})  # fmt: skip
    if one.same_pair:
        s = one.same_pair
        out.append(of | {"check": "raters agree on the same pair", "value": s["agreement"],
                         "detail": f"{s['chance']:.3f} by chance; {s['cells']} pairs with several raters"})  # fmt: skip
    return out


def _model_row(one: PreferenceAnalysis) -> dict[str, Any]:
    sds = {} if one.fit is None else dict(zip(one.groups, map(float, one.fit.sd), strict=True))
    random = ", ".join(f"{name}:system" for name in one.groups)
    return {"criterion": one.criterion, "model": one.model, "random": random,
            "rater_sd": sds.get("rater"), "item_sd": sds.get("item"), "ranked": one.ranked,
            "naive_engine": one.engine}  # fmt: skip


def _design_row(one: PreferenceAnalysis) -> dict[str, Any]:
    t = one.table
    return {"criterion": one.criterion, "comparisons": t.n, "systems": len(t.systems), "raters": len(t.raters) or None,
            "items": len(t.items) or None, "ties": float((t.points == 0.5).mean()), "kind": t.kind}  # fmt: skip


def _naive_says(one: PreferenceAnalysis, pairs: Sequence[TestedPair], adjust: str, alpha: float) -> list[Finding]:
    """Say where the analysis without raters and items would have said something else."""
    naive = np.array([pair.naive for pair in pairs])
    if not len(naive) or np.isnan(naive).any() or not (one.groups or one.ranked):
        return []
    without = int((adjusted_p(naive, adjust) < alpha).sum())
    here = sum(pair.p_adjusted < alpha for pair in pairs)
    if without == here:
        return []
    return [found("naive-preferences", one.criterion, naive=without, here=here, n=len(pairs))]


def _schema(text: str, numbers: str, counts: str = "", truths: str = "") -> pa.Schema:
    kinds = ((text, pa.string()), (numbers, pa.float64()), (counts, pa.int64()), (truths, pa.bool_()))
    return pa.schema([(name, kind) for names, kind in kinds for name in names.split()])


SCHEMAS = {
    "ranking": _schema("criterion system letters", "win_rate conf_low conf_high strength observed",
                       "rank rank_low rank_high n"),
    "pairs": _schema("criterion system_a system_b test", "win_rate conf_low conf_high win tie log_odds std_error df "
                     "p_value p_adjusted observed naive_p_value", "n"),
    "checks": _schema("criterion check detail", "value conf_low conf_high p_value"),
    "models": _schema("criterion model random naive_engine", "rater_sd item_sd", "", "ranked"),
    "design": _schema("criterion kind", "ties", "comparisons systems raters items"),
}  # fmt: skip
