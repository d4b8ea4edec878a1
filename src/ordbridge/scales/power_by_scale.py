"""Which rating scale detects more from the same latent quality, and with which analysis.

Belz & Kow (2011) could compare scales only on ratings that people gave; simulation can hold latent quality fixed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ordbridge.errors import InputError
from ordbridge.simulate.draw import vas_line
from ordbridge.simulate.truth import Truth
from ordbridge.support.naming import arg


def power(
    truth: Truth,
    design: Any,
    scales: Sequence[str] = ("ordinal:5", "ordinal:7", "vas"),
    models: Sequence[str] | None = None,
    datasets: int = 200,
    seed: int = 0,
    *,
    engine: str = "r",
    jobs: int = 1,
    store: str | os.PathLike[str] | None = None,
    alpha: float = 0.05,
    term: str | None = None,
) -> pa.Table:
    """Simulate one study on several rating scales and return the power of each analysis on each of them.

    All scales are cuts of one line: see :func:`on_scale`.

    Parameters
    ----------
    truth
        The latent quality, with fixed thresholds.
    design
        Who rates what: ``participant, item, system``.
    scales
        ``"ordinal:k"`` for k categories, ``"vas"`` for a slider from 0 to 100.
    models
        Analyses; default: ``lmer`` on every scale and ``clmm`` on those with categories. Ordinal models are left out on
        the slider.
    datasets, seed, engine, jobs, alpha, term
        As for :func:`ordbridge.power.run`.
    store
        A folder; each scale has a run of its own in it, so that the same call goes on where it stopped.

    Returns
    -------
    pyarrow.Table
        ``scale`` and the columns of :meth:`ordbridge.power.Run.power`.

    References
    ----------
    Belz, A. & Kow, E. (2011). Discrete vs. continuous rating scales for language evaluation in NLP. ACL.

    Examples
    --------
    >>> import ordbridge as ob
    >>> truth = ob.simulate.Truth(effects=(1.5,), thresholds=(-1, 0, 1), participant_sd=(0.5, 0), item_sd=(0.5, 0))
    >>> design = ob.design.counterbalanced(items=20, ratings_per_text=2, texts_per_participant=10)
    >>> table = power(truth, design, ["ordinal:2", "vas"], models=["lm"], datasets=5)
    >>> table.select(["scale", "model", "n"]).to_pylist()[0]
    {'scale': 'ordinal:2', 'model': 'lm', 'n': 5}
    """
    from ordbridge.power import Grid, run

    if isinstance(scales, str) or not scales or len(set(scales)) < len(scales):
        raise InputError(f"{arg('scales', scales)} is not a list of different scales such as ['ordinal:5', 'vas']")
    truths = {scale: on_scale(truth, scale) for scale in scales}
    tables = []
    for scale, cut in truths.items():
        wanted = _models(models, cut)
        if not wanted:
            raise InputError(f"none of the models {', '.join(models or ())} can analyse the scale {scale!r}; add lmer")
        result = run(
            Grid(truth=cut, design=design, effect=[tuple(cut.effects)]),
            models=wanted,
            datasets=datasets,
            seed=seed,
            engine=engine,
            jobs=jobs,
            store=None if store is None else Path(store) / scale.replace(":", "-"),
            alpha=alpha,
            term=term,
        )
        table = result.power().replace_schema_metadata(None)
        tables.append(table.add_column(0, "scale", pa.array([scale] * table.num_rows)))
    return pa.concat_tables(tables)


def on_scale(truth: Truth, scale: str) -> Truth:
    """Return the truth with the same latent quality, seen through another rating scale.

    The slider refines the categories of the truth (see :class:`ordbridge.simulate.Truth`), and ``"ordinal:k"`` cuts the
    slider into k equal parts; so all scales order texts alike and differ only in resolution.

    Examples
    --------
    >>> truth = Truth(effects=(0.3,), thresholds=(-1, 0, 1))
    >>> on_scale(truth, "ordinal:2").thresholds
    (0.0,)
    """
    if truth.thresholds is None:
        raise InputError("comparing scales needs a truth with fixed thresholds; give truth.shift(thresholds=(…))")
    if scale == "vas":
        return truth.shift(scale="vas")
    found = re.fullmatch(r"ordinal:(\d+)", str(scale))
    if not found or int(found.group(1)) < 2:
        raise InputError(f"there is no scale {scale!r}; write 'ordinal:k' with k from 2 on, or 'vas'")
    k = int(found.group(1))
    latent, mark = vas_line(np.array(truth.thresholds))
    cuts = np.interp(100.0 * np.arange(1, k) / k, mark, latent)
    return truth.shift(scale="ordinal", thresholds=tuple(float(cut) for cut in cuts))


def _models(models: Sequence[str] | None, truth: Truth) -> list[str]:
    wanted = ["lmer", "clmm"] if models is None else list(models)
    return [model for model in wanted if truth.scale == "ordinal" or model in ("lm", "lmer")]
