"""A fit in words and sections: its answer, coefficients, methods paragraph and references. Nothing is fitted here."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from ordbridge import __version__
from ordbridge.formula import expand
from ordbridge.models.inference.adjust import adjusted_p
from ordbridge.models.kinds import KINDS
from ordbridge.models.summary import factor_lines
from ordbridge.render.cells import cell
from ordbridge.render.layout import Block, Bullets, Section, ShownPicture, ShownTable, Verbatim
from ordbridge.results import citations
from ordbridge.support.formatting import p_text

if TYPE_CHECKING:
    from ordbridge.models.fit import Fit

LEVEL = 0.05
NO_ANSWER = "There is no answer: the fit did not converge."


def title(fit: Fit) -> str:
    """Return what the report is called."""
    factor = main_factor(fit)
    return f"Ratings by {factor}" if factor else "What the ratings depend on"


def main_factor(fit: Fit) -> str | None:
    """Return the factor that a report is about: the one called system, or the only one."""
    factors = [row["factor"] for row in fit.factors().to_pylist()]
    return "system" if "system" in factors else factors[0] if len(factors) == 1 else None


def answer(fit: Fit) -> str:
    """Say which coefficients differ from 0; one that did not converge has no answer."""
    if not fit.converged:
        return NO_ANSWER
    effects, beyond = _effects(fit), _beyond_location(fit)
    if beyond and not effects:
        return beyond[0]
    if not effects:
        return "There is no predictor in the model."
    differ = [term for term, differs in effects if differs]
    if len(effects) == 1:
        (sentence,) = effects.values()
        return sentence if differ else f"No clear effect of {sentence}"
    level = "at the 5% level, after Holm's correction"
    which = f": {', '.join(differ)}" if differ else ""
    return f"{len(differ) or 'None'} of {len(effects)} coefficients differ from 0 {level}{which}."


def counted(fit: Fit) -> str:
    """Say how many ratings were used, and by which model."""
    groups = ", ".join(f"{n} {name}s" for name, n in (fit.glance()["n_groups"][0].as_py() or {}).items())
    return (
        f"{fit.n_obs} ratings{f' ({groups})' if groups else ''}; {KINDS[fit.problem.model].name}, "
        f"{fit.problem.described}, with {fitted_with(fit)}."
    )


def coefficients(fit: Fit, conf_level: float = 0.95) -> ShownTable:
    """Return the coefficients; thresholds only where there is nothing else."""
    table = fit.tidy(conf_level)
    effects = table["effect"].to_pylist()
    shown = [effect != "threshold" for effect in effects]
    several = {effect for effect in effects if effect != "threshold"} - {"fixed"}
    kept = table.filter(shown) if any(shown) else table
    return ShownTable(kept if several or not any(shown) else kept.drop_columns(["effect"]))


def picture(fit: Fit) -> ShownPicture | None:
    """Return the picture of the coefficients."""
    return ShownPicture("coefficients", "Coefficients with 95% intervals") if fit.converged else None


def sentences(fit: Fit) -> list[str]:
    """Return every coefficient in a sentence."""
    return [*_effects(fit).values(), *_beyond_location(fit)]


def model_table(fit: Fit, conf_level: float = 0.95) -> ShownTable:
    """Return the whole model as papers print it: coefficients, thresholds, standard deviations of random effects."""
    level = f"{100 * conf_level:g}% CI"
    statistic = "t" if fit.problem.model in ("lm", "lmer") else "z"
    rows = []
    order = ("fixed", "scale", "nominal", "threshold")
    for row in sorted(fit.tidy(conf_level).to_pylist(), key=lambda row: order.index(row["effect"])):
        name = named(fit, row["term"])
        name = {"threshold": f"threshold {name}", "scale": f"scale: {name}"}.get(row["effect"], name)
        ends = None if row["conf_low"] is None else f"{row['conf_low']:.2f} to {row['conf_high']:.2f}".replace("-", "−")
        shown = row["p_value"] is not None and row["effect"] != "threshold"
        p = p_text(row["p_value"]).removeprefix("p ").removeprefix("= ") if shown else None
        number = {key: _number(row[key]) for key in ("estimate", "std_error", "statistic")}
        rows.append((name, number["estimate"], number["std_error"], ends, number["statistic"] if shown else None, p))
    for row in fit.varcorr().to_pylist():
        of = f": {named(fit, row['term'])}" if row["term"] else ""
        rows.append((f"SD {row['group']}{of}", _number(row["sd"]), None, None, None, None))
    names = ("term", "estimate", "SE", level, statistic, "p")
    columns = {
        name: pa.array(list(column), pa.string()) for name, column in zip(names, zip(*rows, strict=True), strict=True)
    }
    what = "Coefficients" + (f" ({fit.problem.link} scale)" if fit.problem.ordinal else "")
    return ShownTable(pa.table(columns), f"{what} and standard deviations (SD) of {fit.problem.described}")


def _number(value: float | None) -> str | None:
    return None if value is None else f"{value:.2f}".replace("-", "−")


def named(fit: Fit, term: str) -> str:
    """Return a coefficient with its factor and its level apart.

    R writes ``systemwarm``.
    """
    levels = {f"{name}{level}": f"{name} = {level}" for name, column in fit.problem.columns.items()
              for level in column.levels or ()}  # fmt: skip
    return " × ".join(levels.get(part, part) for part in term.split(":"))


def _read_aloud(fit: Fit, grid: ShownTable) -> ShownTable:
    """Return coefficients with their terms as papers name them."""
    place = grid.table.column_names.index("term")
    terms = pa.array([named(fit, term) for term in grid.table["term"].to_pylist()], pa.string())
    return replace(grid, table=grid.table.set_column(place, "term", terms))


def sections(fit: Fit, pictured: bool = True) -> list[Section]:
    """Return coefficients in words, thresholds, random effects, and the fit in numbers.

    Where the picture of the coefficients does not stand below the answer, it stands here with their table.
    """
    words: list[Block] = []
    if fit.converged and not pictured:
        words = [ShownPicture("coefficients", "Coefficients with 95% intervals"), _read_aloud(fit, coefficients(fit))]
    words.append(Bullets(tuple(f"Levels of {line}." for line in factor_lines(fit))))
    found = [Section("Coefficients" if fit.converged else "Where the optimiser ended", tuple(words))]
    tidy = fit.tidy()
    thresholds = tidy.filter([effect == "threshold" for effect in tidy["effect"].to_pylist()]).drop_columns(["effect"])
    if 0 < thresholds.num_rows < tidy.num_rows:
        found.append(Section("Thresholds between the categories", (ShownTable(thresholds),), folded=True))
    if fit.varcorr().num_rows:
        found.append(
            Section("How much raters, items and other groups differ", (ShownTable(fit.varcorr()),), folded=True)
        )
    said = {name: cell(value) for name, value in fit.glance().drop_columns(["n_groups"]).to_pylist()[0].items()}
    said = {name.replace("_", " "): value for name, value in said.items() if value != "–"}
    numbers = ShownTable(pa.table({"what": list(said), "value": list(said.values())}))
    found.append(Section("The fit in numbers", (numbers,), folded=True))
    return [*found, Section("As R prints it", (Verbatim(fit.summary()),), folded=True)]


def _effects(fit: Fit) -> dict[tuple[str, bool], str]:
    """Return a sentence per coefficient, by its name and whether it differs from 0 at the 5% level.

    Several coefficients are several tests: what is called different is so after Holm's correction.
    """
    unit = f"on the {fit.problem.link} scale" if fit.problem.ordinal else "points of the rating"
    rows = [row for row in fit.tidy().to_pylist() if row["effect"] == "fixed" and row["term"] != "(Intercept)"]
    known = [row for row in rows if None not in (row["p_value"], row["conf_low"], row["conf_high"])]
    corrected = dict(
        zip([r["term"] for r in known], adjusted_p(np.array([r["p_value"] for r in known]), "holm"), strict=True)
    )
    sentences = {}
    for row in rows:
        start = f"{row['term']}: {row['estimate']:+.2f} {unit}"
        if row["term"] not in corrected:
            sentences[row["term"], False] = f"{start}, without a test."
            continue
        p = float(corrected[row["term"]])
        how = p_text(p) if len(known) == 1 else f"{p_text(p)}, Holm"
        interval = f"95% CI {row['conf_low']:.2f} to {row['conf_high']:.2f}"
        sentences[row["term"], p < LEVEL] = f"{start} ({interval}, {how})."
    return sentences


def _beyond_location(fit: Fit) -> list[str]:
    """Return a sentence per scale effect, and one per term that moves every threshold on its own."""
    found = []
    for row in fit.tidy().to_pylist():
        if row["effect"] == "scale":
            times = f"The residual spread of {row['term']} is {np.exp(row['estimate']):.2f} times that of the reference"
            rest = ", without a test"
            if None not in (row["p_value"], row["conf_low"], row["conf_high"]):
                low, high = np.exp(row["conf_low"]), np.exp(row["conf_high"])
                rest = f" (95% CI {low:.2f} to {high:.2f}, {p_text(row['p_value'])})"
            found.append(f"{times}{rest}.")
    for term in expand(fit.problem.nominal).terms:
        name = ":".join(map(str, term))
        row = fit.test(name).to_pylist()[0]
        said = "without a test"
        if row["p_value"] is not None:
            said = f"χ²({row['df']}) = {row['statistic']:.2f}, {p_text(row['p_value'])}"
        found.append(f"{name} moves every threshold on its own: {said}.")
    return found


def fitted_with(fit: Fit) -> str:
    """Say which software fitted a model, with its versions."""
    return citations.software(versions(fit), fit.engine)


def versions(fit: Fit) -> dict[str, str]:
    """Return the versions of R and of the package that fitted; nothing if it was the native engine."""
    row = fit.glance().to_pylist()[0]
    if row["r_version"] is None:
        return {}
    package, _, number = row["package_version"].partition(" ")
    return {"R": row["r_version"], package: number}


def methods(fit: Fit) -> str:
    """Say how a model was fitted."""
    row = fit.glance().to_pylist()[0]
    p = fit.problem
    link = f" with {p.link} link and {p.threshold} thresholds" if p.ordinal else ""
    groups = ", ".join(f"{count} {name}s" for name, count in (row["n_groups"] or {}).items())
    how = {
        "clmm": "the Laplace approximation" if p.nAGQ == 1 else f"{p.nAGQ}-point adaptive quadrature",
        "lmer": f"{'REML' if p.REML else 'maximum likelihood'}; t tests use {p.ddf}'s degrees of freedom",
    }.get(p.model)
    used = f", by {how}" if how else ""
    said = [
        f"We fitted a {KINDS[p.model].name}{link}, {p.described}, to {fit.n_obs} ratings"
        f"{f' ({groups})' if groups else ''}, with {fitted_with(fit)}{used}."
    ]
    if p.scale:
        said.append("Scale effects are on the logarithm of the residual standard deviation.")
    if p.nominal:
        said.append("Nominal effects move each threshold on its own.")
    if levels := factor_lines(fit):
        said.append(f"The levels of the factors were, in order, {'; '.join(levels)}.")
    if row["n_dropped"]:
        said.append(f"{row['n_dropped']} rows with missing values were left out.")
    if not fit.converged:
        said.append("The fit did not converge.")
    elif fit.singular:
        said.append("The fit is singular.")
    return " ".join(said)


def references(fit: Fit) -> list[str]:
    """Return the references of the methods paragraph, with the versions that were used."""
    ordinal = [citations.WORKS["mccullagh"]] if fit.problem.ordinal else []
    return [f"ordbridge {__version__}.", *ordinal, *citations.of_software(versions(fit))]
