"""What a fit has found, as tables: coefficients with their tests, the fit in one row, random effects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ordbridge.errors import InputError
from ordbridge.formula import Summand, quote, written
from ordbridge.support.arguments import proportion
from ordbridge.support.columns import columns
from ordbridge.support.naming import arg

if TYPE_CHECKING:
    from ordbridge.models.fitted import Fitted
    from ordbridge.models.problem import Estimates

VARIANCES = {
    "group": pa.string(),
    "term": pa.string(),
    "sd": pa.float64(),
    "variance": pa.float64(),
    "correlations": pa.list_(pa.float64()),
}
MODES = columns("group level term: text; estimate std_error: number")


def coefficients(e: Estimates, conf_level: float) -> pa.Table:
    """Return thresholds and coefficients with tests and intervals; see :meth:`ordbridge.Fit.tidy`."""
    from scipy import stats

    proportion("conf_level", conf_level)
    upper = 0.5 + conf_level / 2
    z = np.isnan(e.df)
    quantile = np.where(z, stats.norm.ppf(upper), stats.t.ppf(upper, np.where(z, 1.0, e.df)))
    return pa.table(
        {
            "effect": pa.array(e.effects, pa.string()),
            "term": pa.array(e.terms, pa.string()),
            "estimate": floats(e.estimate),
            "std_error": floats(e.std_error),
            "statistic": floats(e.statistic),
            "df": floats(e.df),
            "p_value": floats(e.p_value),
            "conf_low": floats(e.estimate - quantile * e.std_error),
            "conf_high": floats(e.estimate + quantile * e.std_error),
        }
    )


def place_of(fit: Fitted, term: str, effect: str | None) -> int:
    """Return where a term stands among the coefficients; one with a single coefficient needs no level."""
    e = fit.estimates
    for name in (term, quote(term)):
        if (place := e.position(name, effect)) is not None:
            return place
    column = fit.problem.columns.get(term)
    if column is not None:
        labels = column.levels if column.kind == "factor" else ("TRUE",)
        wanted = {prefix + label for prefix in (term, quote(term)) for label in labels}
        found = [place for name in wanted if (place := e.position(name, effect)) is not None]
        if len(found) == 1:
            return found[0]
    both = zip(e.terms, e.effects, strict=True)
    listed = [repr(own) + (f" ({arg('effect', 'scale')})" if kind == "scale" else "") for own, kind in both]
    raise InputError(f"there is no term {term!r}; the terms are {', '.join(listed)}")


def one_row(fit: Fitted) -> pa.Table:
    """Return one row about the whole fit; see :meth:`ordbridge.Fit.glance`."""
    p, e = fit.problem, fit.estimates
    groups = {term.group: len(term.levels) for term in e.random}
    return pa.table(
        {
            "model": [p.model],
            "engine": [fit.engine],
            "formula": [str(p.formula)],
            "link": pa.array([p.link], pa.string()),
            "threshold": pa.array([p.threshold], pa.string()),
            "scale": pa.array([_one_sided(p.scale)], pa.string()),
            "nominal": pa.array([_one_sided(p.nominal)], pa.string()),
            "weights": pa.array([p.weights], pa.string()),
            "offset": pa.array([p.offset], pa.string()),
            "n_obs": [fit.n_obs],
            "n_dropped": [p.n_rows - fit.n_obs],
            "n_groups": pa.array([groups or None], pa.struct({name: pa.int64() for name in groups})),
            "loglik": [e.loglik],
            "aic": [fit.aic],
            "bic": [fit.bic],
            "edf": [e.edf],
            "converged": [e.converged],
            "singular": [e.singular],
            "max_gradient": pa.array([e.max_gradient], pa.float64()),
            "hessian_condition": pa.array([e.hessian_condition], pa.float64()),
            "evaluations": pa.array([e.evaluations], pa.int64()),
            "seconds": [fit.seconds],
            "r_version": pa.array([e.r_version], pa.string()),
            "package_version": [e.package_version],
        }
    )


def variances(e: Estimates) -> pa.Table:
    """Return the variances and correlations of the random effects; see :meth:`ordbridge.Fit.varcorr`."""
    rows: list[dict[str, Any]] = []
    for random in e.random:
        sd = np.sqrt(np.diag(random.covariance))
        for i, term in enumerate(random.terms):
            with np.errstate(invalid="ignore", divide="ignore"):
                correlations = random.covariance[i, :i] / (sd[i] * sd[:i])
            known = [None if np.isnan(r) else r for r in correlations]
            own = {"group": random.group, "term": term, "sd": sd[i], "variance": sd[i] ** 2, "correlations": known}
            rows.append(own)
    if e.sigma is not None:
        rows.append({"group": "Residual", "term": None, "sd": e.sigma, "variance": e.sigma**2, "correlations": []})
    return pa.Table.from_pylist(rows, schema=pa.schema(VARIANCES))


def modes(e: Estimates) -> pa.Table:
    """Return the conditional modes of the random effects; see :meth:`ordbridge.Fit.ranef`."""
    parts = [pa.schema(MODES).empty_table()]
    for random in e.random:
        n, q = random.modes.shape
        columns = (
            [random.group] * (n * q),
            np.repeat(np.array(random.levels, dtype=object), q),
            list(random.terms) * n,
            random.modes.ravel(),
            random.mode_sd.ravel(),
        )
        parts.append(pa.table(columns, schema=pa.schema(MODES)))
    return pa.concat_tables(parts)


def floats(values: np.ndarray) -> pa.Array:
    """Return numbers with NaN as null, because a missing number is not a number."""
    return pa.array(values, pa.float64(), from_pandas=True)


def _one_sided(summands: tuple[Summand, ...]) -> str | None:
    return f"~ {written(summands)}" if summands else None
