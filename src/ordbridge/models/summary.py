"""A fit as text, laid out as R's ``summary`` lays it out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ordbridge.models.kinds import KINDS
from ordbridge.support.formatting import as_text

if TYPE_CHECKING:
    from ordbridge.models.fitted import Fitted

TABLES = {
    ("fixed",): "Coefficients:",
    ("scale",): "log-scale coefficients:",
    ("threshold", "nominal"): "Threshold coefficients:",
}
STARS = "Signif. codes:  0 '***' 0.001 '**' 0.01 '*' 0.05 '.' 0.1 ' ' 1"


def text(fit: Fitted) -> str:
    """Return the summary of a fit."""
    parts = [_head(fit)]
    if fit.estimates.random:
        parts.append(_random(fit))
    for effects, title in TABLES.items():
        rows = [row for row in fit.tidy().to_pylist() if row["effect"] in effects]
        if rows:
            parts.append(_coefficients(title, rows))
    said = [f"{one.severity}: {one.text}" for one in fit.estimates.findings]
    if said:
        parts.append("\n".join(said))
    return "\n\n".join(parts) + "\n"


def _head(fit: Fitted) -> str:
    p, g = fit.problem, fit.glance().to_pylist()[0]
    method = {
        "clmm": f" fitted with {'the Laplace approximation' if p.nAGQ == 1 else f'{p.nAGQ}-point quadrature'}",
        "lmer": f" fitted by {'REML' if p.REML else 'maximum likelihood'}; t-tests use {p.ddf}'s method",
    }.get(p.model, "")
    columns = [
        name
        for name in ("link", "threshold", "n_obs", "loglik", "aic", "max_gradient", "hessian_condition")
        if g[name] is not None
    ]
    cells = [
        f"{g[name]:.2f}"
        if name in ("loglik", "aic")
        else f"{g[name]:.2e}"
        if isinstance(g[name], float)
        else str(g[name])
        for name in columns
    ]
    notes = [f"({g['n_dropped']} rows with missing values dropped)"] if g["n_dropped"] else []
    if fit.estimates.dropped:
        notes.append(f"(aliased and dropped: {', '.join(fit.estimates.dropped)})")
    if not fit.converged:
        notes.append("NOT CONVERGED: do not trust these numbers")
    if fit.singular:
        notes.append("SINGULAR: a variance is estimated at zero or a correlation at ±1")
    beyond = [f"{name}: {g[name]}" for name in ("scale", "nominal", "weights", "offset") if g[name] is not None]
    lines = [f"formula: {p.formula}", *beyond, *factor_lines(fit), *_grid([columns, cells]), *notes]
    return "\n".join([f"{KINDS[p.model].title}{method}", "", *lines])


def factor_lines(fit: Fitted) -> list[str]:
    """Say for each factor of the fixed part which levels it has, in their order, and which is the reference."""
    lines = []
    for row in fit.factors().to_pylist():
        levels = [f"{level} (reference)" if level == row["reference"] else level for level in row["levels"]]
        lines.append(f"{row['factor']}: {(' < ' if row['ordered'] else ', ').join(levels)}")
    return lines


def _random(fit: Fitted) -> str:
    rows = [["Groups", "Name", "Variance", "Std.Dev.", "Corr"]]
    last = None
    for row in fit.varcorr().to_pylist():
        correlations = " ".join("NaN" if r is None else f"{r:.3f}" for r in row["correlations"])
        group = row["group"] if row["group"] != last else ""
        rows.append([group, row["term"] or "", f"{row['variance']:.4g}", f"{row['sd']:.4g}", correlations])
        last = row["group"]
    groups = ", ".join(f"{name} {n}" for name, n in fit.glance()["n_groups"].to_pylist()[0].items())
    return "\n".join(["Random effects:", *_grid(rows), f"Number of groups: {groups}"])


def _coefficients(title: str, rows: list[dict[str, Any]]) -> str:
    t = any(row["df"] is not None for row in rows)
    head = [
        "",
        "Estimate",
        "Std. Error",
        *(["df"] if t else []),
        "t value" if t else "z value",
        "Pr(>|t|)" if t else "Pr(>|z|)",
        "",
    ]
    cells = [head]
    for row in rows:
        numbers = [_number(row["estimate"]), _number(row["std_error"])]
        numbers += [_number(row["df"])] if t else []
        numbers += [_number(row["statistic"]), _p_value(row["p_value"]), _stars(row["p_value"])]
        cells.append([row["term"], *numbers])
    return "\n".join([title, *_grid(cells), "---", STARS])


def _number(value: float | None) -> str:
    return as_text(value, "{:.5g}".format, missing="NaN")


def _p_value(p: float | None) -> str:
    return "NaN" if p is None else "< 2e-16" if p < 2e-16 else f"{p:.3g}"


def _stars(p: float | None) -> str:
    if p is None:
        return ""
    return next((mark for limit, mark in ((0.001, "***"), (0.01, "**"), (0.05, "*"), (0.1, ".")) if p < limit), "")


def _grid(rows: list[list[str]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join(cells).rstrip())
    return lines
