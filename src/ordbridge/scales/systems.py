"""How the systems' means on one scale go with those on another, with a second run, and with an outside measure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import combinations, permutations
from typing import Any

import numpy as np

from ordbridge.errors import InputError
from ordbridge.reliability.correlation import kendall_w, test_retest
from ordbridge.reliability.interpretation import stars
from ordbridge.results import Finding, found
from ordbridge.scales.columns import OnScale, as_texts

FEW_SYSTEMS = 9  # up to here Spearman's p-value is counted over all orders


def reliability_row(name: str, scale: OnScale, conf_level: float | None) -> tuple[dict[str, Any], list[Finding]]:
    """Return Kendall's W over the texts that all raters rated or, where most texts were not, over systems."""
    raters, levels = np.unique(scale.participant), np.unique(scale.system)
    texts = as_texts(scale)
    seen = Counter(texts["text"])
    noticed: list[Finding] = []
    if 2 * sum(count >= len(raters) for count in seen.values()) >= len(seen):
        over, what, columns = "texts", texts, ("text", "participant", "rating")
    else:
        cells = [[scale.rating[(scale.system == s) & (scale.participant == r)] for r in raters] for s in levels]
        lacking = [str(s) for s, row in zip(levels, cells, strict=True) if not all(len(cell) for cell in row)]
        if lacking:
            noticed.append(found("systems-not-ranked", name, systems=lacking))
        means = [(str(s), str(r), float(c.mean())) for s, row in zip(levels, cells, strict=True)
                 for r, c in zip(raters, row, strict=True) if len(c)]  # fmt: skip
        over, columns = "systems", ("name", "participant", "rating")
        what = {key: list(side) for key, side in zip(columns, zip(*means, strict=True), strict=True)}
    try:
        w = kendall_w(what, *columns, conf_level=conf_level)
    except InputError as reason:
        return {"scale": name, "over": over, "stars": ""}, [*noticed, found("no-kendalls-w", name, text=str(reason))]
    row = {
        "scale": name,
        "kendall_w": w.estimate,
        "stars": stars(w.p_value if w.p_value is not None else 1.0),
        "over": over,
        "n_ranked": w.n_items,
        "n_raters": w.n_raters,
        **{field: getattr(w, field) for field in ("conf_low", "conf_high", "statistic", "df", "p_value")},
    }
    return row, noticed


def interchangeability_rows(means: dict[str, dict[str, float]]) -> tuple[list[dict[str, Any]], list[Finding]]:
    """Return both correlations of the systems' means for every pair of scales."""
    rows, noticed = [], list[Finding]()
    for (name_a, a), (name_b, b) in combinations(means.items(), 2):
        both = f"{name_a} and {name_b}"
        if only := sorted(set(a) ^ set(b)):
            noticed.append(found("systems-on-one-scale", both, systems=only))
        for method, label in (("pearson", "Pearson's r"), ("spearman", "Spearman's ρ")):
            row: dict[str, Any] = {"scales": both, "coefficient": label, "stars": "", "n_systems": len(set(a) & set(b))}
            try:
                value, p = _correlate(a, b, method, f"scales {name_a!r} and {name_b!r}")
            except InputError as reason:
                if len(means) == 2 and not row["n_systems"]:
                    raise
                noticed.append(found("no-correlation-of-scales", both, text=str(reason)))
            else:
                row |= {"estimate": value, "p_value": p, "stars": stars(p)}
            rows.append(row)
    return rows, noticed


def stability_row(name: str, first: OnScale, second: OnScale, conf_level: float | None) -> dict[str, Any]:
    """Return Pearson's r of the single ratings in two runs."""
    r = test_retest(as_texts(first), as_texts(second), "text", "participant", "rating", conf_level=conf_level)
    ends = {"conf_low": r.conf_low, "conf_high": r.conf_high}
    p = 1.0 if r.p_value is None else r.p_value
    return {"scale": name, "estimate": r.estimate, "stars": stars(p), "p_value": p, **ends, "n_ratings": r.n_pairs}


def validity_row(name: str, means: dict[str, float], outside: dict[str, float]) -> dict[str, Any]:
    """Return Pearson's r of the systems' means with an outside measure."""
    r, p = _correlate(means, outside, "pearson", f"{name} and the outside measure")
    common = len(set(means) & set(outside))
    return {"scale": name, "estimate": r, "stars": stars(p), "p_value": p, "n_systems": common}


def _correlate(a: Mapping[str, float], b: Mapping[str, float], method: str, what: str) -> tuple[float, float]:
    """Return a correlation of the systems' means and its p-value: exact for Spearman's ρ of few systems."""
    from scipy import stats

    common = sorted(set(a) & set(b))
    if len(common) < 3:
        raise InputError(f"{what} have {len(common)} systems in common; a correlation of means needs at least 3")
    x, y = (np.array([side[name] for name in common]) for side in (a, b))
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        raise InputError(f"the systems' means do not differ, so there is no correlation between {what}")
    if method == "pearson":
        result = stats.pearsonr(x, y)
        return float(result.statistic), float(result.pvalue)
    result = stats.spearmanr(x, y)
    if len(common) > FEW_SYSTEMS:
        return float(result.statistic), float(result.pvalue)
    return float(result.statistic), _exact_p(stats.rankdata(x), stats.rankdata(y))


def _exact_p(x: np.ndarray, y: np.ndarray) -> float:
    """Return the share of all orders of y that correlate with x as strongly, in either direction.

    Examples
    --------
    >>> round(_exact_p(np.arange(4.0), np.arange(4.0)), 4)
    0.0833
    """
    x, y = x - x.mean(), y - y.mean()
    orders = np.array(list(permutations(range(len(y)))))
    products = np.abs(y[orders] @ x)
    return float((products >= abs(x @ y) - 1e-9).mean())
