"""Run a model through ordbridge and through plain R, and show the largest differences.

Plain R gets the same columns as the bridge, under generated names, so that no word of a user's file is ever read as
code; a column on a scale on which R is not accurate is multiplied by the same power of two on both sides.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ordbridge.bridge import rscript
from ordbridge.bridge.session import r_folder
from ordbridge.formula import written
from ordbridge.models import api
from ordbridge.models.columns import Column
from ordbridge.models.fit import Fit
from ordbridge.models.kinds import BEYOND_LOCATION
from ordbridge.models.name_mangling import MangledProblem, mangle_names
from ordbridge.models.r_engine import formula_text
from ordbridge.reading.tables import read, write
from ordbridge.support.temp_cleanup import private_folder, scratch_folder

TOLERANCE = 1e-10
"""Largest relative difference allowed: both sides run the same code of R on the same numbers."""

R_RUNS = 10
"""How often plain R is run at most. lme4 adds in an order that depends on where memory happens to lie, so R's own
numbers can vary from run to run (df by 1e-8); ordbridge must agree with one of R's own answers."""


@dataclass(frozen=True)
class Case:
    """One model on one file; ``factors`` and ``ordered`` set the levels of columns that a CSV file cannot express."""

    name: str
    file: Path
    model: str
    formula: str
    options: Mapping[str, Any] = field(default_factory=dict)
    factors: Mapping[str, Sequence[str]] = field(default_factory=dict)
    ordered: Mapping[str, Sequence[str]] = field(default_factory=dict)


def validate(case: Case) -> dict[str, Any]:
    """Fit a case on both sides and return how far they are apart.

    Returns
    -------
    dict
        case, model, numbers (how many were compared), largest_difference (relative, from the nearest of R's runs),
        where, same (within ``TOLERANCE``), r_runs, seconds_r, seconds_ordbridge.
    """
    started = time.perf_counter()
    fit = fitted(case)
    seconds = time.perf_counter() - started
    ours = _numbers(fit)
    hidden = mangle_names(fit.problem, rescaled=True)
    largest, where, runs = float("inf"), "", 0
    with scratch_folder() as folder:
        file = _hidden_file(hidden, folder)
        while largest > TOLERANCE and runs < R_RUNS:
            expected = _baseline(case, hidden, file)
            seconds_r = expected.pop("seconds")
            largest, where = min((largest, where), _largest_difference(expected, ours))
            runs += 1
    return {
        "case": case.name,
        "model": case.model,
        "numbers": len(expected),
        "largest_difference": largest,
        "where": where,
        "same": largest <= TOLERANCE,
        "r_runs": runs,
        "seconds_r": seconds_r,
        "seconds_ordbridge": seconds,
    }


def fitted(case: Case) -> Fit:
    """Return the fit of a case through ordbridge, without warnings: plain R has the same problems, if any."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit: Fit = getattr(api, case.model)(case.formula, _data(case), **case.options)
    return fit


def builtin(folder: Path | None = None) -> Iterator[Case]:
    """Yield the built-in set: data that come with R's packages, and simulated crossed designs."""
    folder = private_folder() if folder is None else folder
    sources = ("ordinal::wine", "ordinal::soup", "lme4::sleepstudy", "lmerTest::carrots", "lmerTest::ham")
    files = {source: folder / f"{source.split('::')[1]}.csv" for source in sources}
    for source, file in files.items():
        rscript.run(r_folder() / "baseline.R", "--export", source, file)
    wine, soup, sleepstudy, carrots, ham = files.values()
    judge = {"judge": [str(i) for i in range(1, 10)]}
    yield Case("wine", wine, "clm", "rating ~ temp * contact")
    yield Case("wine, scale and nominal", wine, "clm", "rating ~ temp", {"scale": "~ temp", "nominal": "~ contact"})
    yield Case("wine, weights and offset", wine, "clm", "rating ~ temp", {"weights": "response", "offset": "bottle"})
    yield Case("wine, logit", wine, "clmm", "rating ~ temp + contact + (1 | judge)", {}, judge)
    yield Case("wine, probit", wine, "clmm", "rating ~ temp + contact + (1 | judge)", {"link": "probit"}, judge)
    yield Case("wine, nAGQ 10", wine, "clmm", "rating ~ temp + contact + (1 | judge)", {"nAGQ": 10}, judge)
    sure = {"SURENESS": [str(i) for i in range(1, 7)]}
    yield Case("soup", soup, "clm", "SURENESS ~ PROD * GENDER + DAY", {"link": "probit"}, {}, sure)
    yield Case("soup", soup, "clmm", "SURENESS ~ PROD + (1 | RESP)", {"link": "cloglog"}, {}, sure)
    yield Case("sleepstudy", sleepstudy, "lmer", "Reaction ~ Days + (Days | Subject)")
    yield Case("sleepstudy, uncorrelated", sleepstudy, "lmer", "Reaction ~ Days + (Days || Subject)", {"REML": False})
    yield Case("sleepstudy", sleepstudy, "lm", "Reaction ~ poly(Days, 2)")
    # contr.SAS takes the last level as the base, as treatment contrasts do when it comes first
    base_last = {"Frequency": ["5", "4", "3", "2", "1"], "Income": ["4", "3", "2", "1"]}
    formula = "Preference ~ sens2 * Frequency * Income + (1 + sens2 | Consumer)"
    yield Case("carrots", carrots, "lmer", formula, {}, base_last)
    formula = "Informed.liking ~ Product * Information + (1 | Consumer) + (1 | Product:Consumer)"
    yield Case("ham", ham, "lmer", formula, {}, {"Product": ["1", "2", "3", "4"], "Information": ["1", "2"]})
    yield Case(
        "ham, Kenward-Roger", ham, "lmer", "Informed.liking ~ Information + (1 | Consumer)", {"ddf": "Kenward-Roger"}
    )
    yield from _simulated(folder / "crossed.csv")


def _simulated(file: Path) -> Iterator[Case]:
    """Yield cases on a crossed design with numeric, factor and interaction terms, and one, two and three groups."""
    random = np.random.default_rng(20210)
    n_participants, n_items = 12, 8
    participant, item = (g.ravel() for g in np.meshgrid(range(n_participants), range(n_items), indexing="ij"))
    system = (participant + item) % 3
    batch = item % 4 + 4 * (participant % 2)
    length = np.round(random.normal(0, 1, n_items), 2)[item]
    latent = 0.4 * system + 0.3 * length + random.normal(0, 0.6, n_participants)[participant]
    latent += random.normal(0, 0.5, n_items)[item] + random.normal(0, 0.3, 8)[batch] + random.normal(size=item.size)
    rating = 1 + (latent[:, None] > np.quantile(latent, [0.1, 0.3, 0.6, 0.85])).sum(axis=1)
    table = {
        "rating": rating,
        "system": np.array(["A", "B", "C"])[system],
        "length": length,
        "participant": [f"p{i:02d}" for i in participant],
        "item": [f"i{i:02d}" for i in item],
        "batch": [f"b{i}" for i in batch],
    }
    write(pa.table(table), file)
    two = "rating ~ system * length + (1 | participant) + (1 | item)"
    three = "rating ~ system + (1 | participant) + (1 | item) + (1 | batch)"
    yield Case("crossed, interaction", file, "clmm", two, {"link": "probit"})
    yield Case(
        "crossed, slopes", file, "clmm", "rating ~ system + (length | participant) + (1 | item)", {"link": "probit"}
    )
    yield Case("crossed, three groups", file, "clmm", three, {"threshold": "symmetric"})
    yield Case(
        "crossed, equidistant", file, "clm", "rating ~ system * length", {"threshold": "equidistant", "link": "cauchit"}
    )
    yield Case("crossed, interaction", file, "lmer", two, {"REML": False})
    yield Case("crossed, three groups", file, "lmer", three)
    yield Case("crossed", file, "lm", "rating ~ system * length + I(length^2)")


def _data(case: Case) -> pa.Table:
    table = read(case.file)
    for levels, ordered in ((case.factors, False), (case.ordered, True)):
        for name, order in levels.items():
            text = table[name].cast(pa.string()).to_pylist()
            codes = [None if value is None else list(order).index(value) for value in text]
            array = pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(list(order)), ordered=ordered)
            table = table.set_column(table.column_names.index(name), name, array)
    return table


def _hidden_file(hidden: MangledProblem, folder: Path) -> Path:
    """Write what R may see of the data: generated names and levels."""
    file = folder / "hidden.csv"
    write(pa.table({name: _values(column) for name, column in hidden.problem.columns.items()}), file)
    return file


def _values(column: Column) -> pa.Array:
    if column.kind == "numeric":
        return pa.array(column.values, from_pandas=True)
    labels = np.array([*(column.levels or ("FALSE", "TRUE")), None], dtype=object)
    return pa.array(labels[column.values], pa.string())


def _baseline(case: Case, hidden: MangledProblem, file: Path) -> dict[str, float]:
    """Return plain R's numbers under the user's names."""
    problem = hidden.problem
    arguments = [str(file), "--model", case.model, "--formula", formula_text(problem)]
    for name in ("scale", "nominal"):
        if terms := getattr(problem, name):
            arguments += [f"--{name}", f"~ {written(terms)}"]
    if problem.weights:
        arguments += ["--weights", problem.weights]
    for name, value in case.options.items():
        if name in BEYOND_LOCATION:
            continue
        arguments += [f"--{name}", str(value).upper() if isinstance(value, bool) else str(value)]
    for name, column in hidden.problem.columns.items():
        if column.ordered:
            arguments += ["--ordered", f"{name}={','.join(column.levels)}"]
    lines = rscript.run(r_folder() / "baseline.R", *arguments).splitlines()
    numbers = {name: float(value) for name, value in (line.rsplit("\t", 1) for line in lines)}
    coefficients = sum(name.startswith("estimate[") for name in numbers)
    numbers["loglik"] = hidden.loglik(numbers["loglik"], int(numbers["n_obs"]), coefficients)
    return dict(_revealed(hidden, name, value) for name, value in numbers.items())


def _revealed(hidden: MangledProblem, name: str, value: float) -> tuple[str, float]:
    kind, _, term = name.partition("[")
    scaled = kind in ("estimate", "std_error", "sd", "ranef", "ranef_sd", "sigma")
    return hidden.text(name), value * hidden.scale(term) if scaled else value


def _numbers(fit: Fit) -> dict[str, float]:
    """Return the numbers of a fit under the names that the baseline gives them."""
    e = fit.estimates
    found = {"loglik": e.loglik, "n_obs": fit.n_weighted}
    labels = [f"scale:{term}" if kind == "scale" else term for term, kind in zip(e.terms, e.effects, strict=True)]
    for name in ("estimate", "std_error", "statistic", "p_value"):
        found |= {f"{name}[{label}]": float(value) for label, value in zip(labels, getattr(e, name), strict=True)}
    if fit.problem.model == "lmer":
        found |= {f"df[{term}]": float(value) for term, value in zip(e.terms, e.df, strict=True)}
    if e.sigma is not None:
        found["sigma"] = e.sigma
    for random in e.random:
        for j, term in enumerate(random.terms):
            found[f"sd[{random.group}:{term}]"] = float(np.sqrt(random.covariance[j, j]))
            for i, level in enumerate(random.levels):
                found[f"ranef[{random.group}:{level}:{term}]"] = float(random.modes[i, j])
                found[f"ranef_sd[{random.group}:{level}:{term}]"] = float(random.mode_sd[i, j])
    return found


def _largest_difference(expected: Mapping[str, float], ours: Mapping[str, float]) -> tuple[float, str]:
    if missing := sorted(expected.keys() ^ ours.keys()):
        return float("inf"), missing[0]
    differences = {name: _difference(expected[name], ours[name]) for name in expected}
    where = max(sorted(differences), key=differences.__getitem__)
    return differences[where], where if differences[where] > 0 else ""


def _difference(a: float, b: float) -> float:
    """Relative difference; numbers that are zero to working precision count as equal."""
    if a == b or (np.isnan(a) and np.isnan(b)):
        return 0.0
    return abs(a - b) / max(abs(a), abs(b), 1e-8)
