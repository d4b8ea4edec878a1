"""Which link and which thresholds describe the ratings best: the same model with each of them, by AIC."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from ordbridge.errors import FitError, InputError
from ordbridge.models.engines import engine_module
from ordbridge.models.fit import Fit
from ordbridge.models.links import LINKS
from ordbridge.models.prepare import THRESHOLDS
from ordbridge.support.columns import columns

KINDS = columns("link threshold: text; loglik: number; edf: count; aic delta_aic: number; converged: truth; note: text")


def compare_links(fit: Fit) -> pa.Table:
    """Fit a clm or clmm with every link and every kind of thresholds, and compare them by AIC.

    Differences in AIC of less than about 2 say nothing; most studies cannot tell logit from probit.

    Parameters
    ----------
    fit
        A clm or clmm; its engine makes all fits.

    Returns
    -------
    pyarrow.Table
        link, threshold, loglik, edf, aic, delta_aic (from the best), converged, note (why there is no fit); the best
        first, those that could not be fitted or did not converge last.

    References
    ----------
    Akaike, H. (1974). A new look at the statistical model identification. IEEE Transactions on Automatic Control 19.
    Christensen, R. H. B. (2022). ordinal: Regression Models for Ordinal Data. R package.

    Examples
    --------
    >>> import ordbridge as ob
    >>> ratings = {"rating": [1, 2, 2, 3, 1, 3, 2, 3, 1, 2], "system": list("AABBAABBAB")}
    >>> found = ob.compare_links(ob.clm("rating ~ system", ratings, engine="fast"))
    >>> found.num_rows, found["delta_aic"][0].as_py()
    (20, 0.0)
    """
    if not isinstance(fit, Fit) or not fit.problem.ordinal:
        what = f"a fitted {fit.problem.model}" if isinstance(fit, Fit) else f"a {type(fit).__name__}"
        raise InputError(f"links are compared for clm and clmm; this is {what}")
    engine = engine_module(fit.engine)
    rows = []
    for link in LINKS:
        for threshold in THRESHOLDS:
            row: dict[str, object] = {"link": link, "threshold": threshold}
            try:
                e = engine.fit(replace(fit.problem, link=link, threshold=threshold))
                row |= {"loglik": e.loglik, "edf": e.edf, "aic": 2.0 * e.edf - 2.0 * e.loglik, "converged": e.converged}
            except (InputError, FitError) as refusal:
                row |= {"note": str(refusal)}
            rows.append(row)
    usable = [float(str(row["aic"])) for row in rows if row.get("converged")]
    if not usable:
        raise FitError(f"{fit.problem.formula} could not be fitted with any link")
    best = min(usable)
    for row in rows:
        if row.get("converged"):
            row["delta_aic"] = float(str(row["aic"])) - best
    rows.sort(key=lambda row: (not row.get("converged"), row.get("aic") or 0.0))
    return pa.Table.from_pylist(rows, schema=pa.schema(KINDS))
