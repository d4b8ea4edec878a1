"""The methods paragraph of each kind of result."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ordbridge import __version__
from ordbridge.formats import listed
from ordbridge.judges import JudgeAnalysis
from ordbridge.models.fit import Fit
from ordbridge.models.kinds import KINDS
from ordbridge.models.summary import factor_lines
from ordbridge.papers.reproduction import Reproduction
from ordbridge.planning import Plan
from ordbridge.power import Run
from ordbridge.power.result import r_versions
from ordbridge.reliability import Reliability
from ordbridge.reliability.reading import located
from ordbridge.reliability.scales import ScaleComparison

__all__ = [
    "fitted_with",
    "models_of",
    "of_fit",
    "of_judge",
    "of_plan",
    "of_reliability",
    "of_reproduction",
    "of_run",
    "of_scales",
    "versions_of",
    "without_options",
]


def versions_of(result: Any, kind: str) -> dict[str, str]:
    """Return the versions of R and of the packages that fitted; nothing if it was the native engine."""
    if kind == "fit":
        row = result.glance().to_pylist()[0]
        if row["r_version"] is None:
            return {}
        package, _, number = row["package_version"].partition(" ")
        return {"R": row["r_version"], package: number}
    if kind == "plan":
        return dict(result.asked["versions"])
    return r_versions(result.manifest["environments"])


def models_of(result: Any, kind: str) -> set[str]:
    """Return the kinds of models that were fitted."""
    if kind == "fit":
        return {result.problem.model}
    return {result.asked["model"]} if kind == "plan" else {model.kind for model in result.models}


def _software(versions: dict[str, str], engine: str) -> str:
    if engine == "fast":
        return f"the native engine of ordbridge {__version__}"
    if not versions:  # a run without any fit yet
        return f"R through ordbridge {__version__}"
    packages = " and ".join(f"{name} {number}" for name, number in versions.items() if name != "R")
    return f"{packages} in R {versions['R']}, through ordbridge {__version__}"


def fitted_with(fit: Fit) -> str:
    """Say which software fitted a model, with its versions."""
    return _software(versions_of(fit, "fit"), fit.engine)


def of_fit(fit: Fit) -> str:
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
        f"{f' ({groups})' if groups else ''}, "
        f"with {fitted_with(fit)}{used}."
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
    doubts = [row["text"] for row in fit.conditions.to_pylist() if row["stage"] == "inference"]
    return " ".join(said + [f"{text[0].upper()}{text[1:]}." for text in doubts])


def of_run(run: Run) -> str:
    """Say how power was simulated."""
    power = run.power()
    counts = sorted({n for n in power["n"].to_pylist()})
    number = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}" if counts else "no"
    formulas = "; ".join(f"{KINDS[model.kind].name} {model}" for model in run.models)
    failed = sum(power["n_failed"].to_pylist())
    audit = f" {run.audit()}." if run.manifest["audit"] else ""
    what = sorted({f"{m.goal} within {m.margin:g} ({m.on})" for m in run.models if m.margin is not None})
    goal = f" What was to be shown is {' or '.join(what)}, by two one-sided tests." if what else ""
    null = "an effect" if not what else "more than the margin"
    sizes = (
        f" Size-adjusted power is the share of datasets with p below a critical value, which {run.calibration} "
        f"datasets without {null} give for each design, so that all tests have size {run.alpha:g}; its "
        "intervals include the error of the critical value."
        if run.calibration
        else ""
    )
    return (
        f"Power was estimated by simulation: {number} datasets for each of {len(run.grid.cells)} cells (seed "
        f"{run.manifest['seed']}), each analysed by {formulas}, with {_software(versions_of(run, 'run'), run.engine)}. "
        f"Power is the share of datasets with p < {run.alpha:g}; the {failed} failed fits count as not significant. "
        f"Intervals are exact 95 % intervals (Clopper & Pearson 1934)."
        f"{_compared(run.grid.cells[0].systems)}{goal}{sizes}{audit}"
    )


def of_plan(plan: Plan) -> str:
    """Say how the size of a study was planned."""
    asked = plan.asked
    effect = "the smallest detectable effect" if asked["effect"] == "smallest" else (
        f"an effect of {', '.join(f'{e:g}' for e in asked['effect'])} latent units"
    )  # fmt: skip
    source = {"pilot": "the estimates of a pilot study", "truth": "assumed parameters"}.get(
        asked["source"], f"the parameters of {asked['source']}"
    )
    model = f"a {KINDS[asked['model']].name}, {asked['formula']} ({asked['test']}, alpha {asked['alpha']:g})"
    sizes = (
        " Critical values come from datasets without a difference on the same designs: the test keeps its level."
        if asked["calibrated"]
        else ""
    )
    return (
        f"The size of the study was planned by simulation: {asked['datasets']} datasets (seed {asked['seed']}) were "
        f"drawn from {source} with {effect} and analysed by {model}, with "
        f"{_software(asked['versions'], asked['engine'])}. A design was simulated until the exact 95 % interval of its "
        f"power (Clopper & Pearson 1934) lay on one side of {asked['target']:.0%} or its share of the datasets was "
        f"spent.{_compared(asked['systems'])}{sizes} {without_options(plan.sentence)}"
    )


def without_options(sentence: str) -> str:
    """Return a sentence without the arguments that it names in parentheses, which are for those who call.

    Examples
    --------
    >>> without_options("About 400 more datasets would decide (datasets=600, most=200).")
    'About 400 more datasets would decide.'
    >>> without_options("item: column 'text' (to change this give item=); it may be so (p = .2)")
    "item: column 'text'; it may be so (p = .2)"
    """
    return re.sub(r" \([^()]*\b[a-z_]+=[^()]*\)", "", sentence)


def _compared(systems: Sequence[Any]) -> str:
    """Name the systems of simulated studies in their order, and the one that others are set against."""
    first, *others = map(str, systems)
    return f" The systems are {first} (the reference) and {', '.join(others)}."


def of_reliability(result: Reliability) -> str:
    """Say how reliability was described."""
    answers = {row["what"]: row["answer"] for row in result.checklist.to_pylist()}
    names = list(dict.fromkeys(name.partition(",")[0] for name in result.coefficients["coefficient"].to_pylist()))
    intervals = "" if answers["Intervals"] == "none" else f", with {answers['Intervals']}"
    return (
        f"{result.counted}, at the {result.level} level of measurement. Their reliability was described by "
        f"{', '.join(names[:-1])} and {names[-1]}{intervals}, with ordbridge {__version__}, and agreement and "
        f"correlation were read together (Amidei et al. 2019). {_finding(result)}"
    )


def _finding(result: Reliability) -> str:
    """Return what was found, without what a reading advises the authors to do about it."""
    if result.readings.num_rows != 1:
        return result.answer
    (row,) = result.readings.to_pylist()
    return located(row, f"{row['verdict']} ({row['numbers']}).")


def of_judge(result: JudgeAnalysis) -> str:
    """Say how a judge was compared with people."""
    said = [f"{result.counted}."]
    if result.alternative is not None:
        said.append(
            f"Whether {result.judge} can stand in for a person was tested by the alternative annotator test (Calderon "
            f"et al. 2025) with ε = {result.alternative.epsilon:g}, as published and with standard errors over "
            "clusters of texts and over people."
        )
    if result.agreement is not None:
        said.append(
            "Its agreement with people was compared with that of people on the same texts, each person left out in "
            f"turn; intervals are a jackknife over items{' and people' if result.agreement.raters == 'random' else ''}."
        )
    if result.estimates is not None:
        said.append(
            "Means were estimated by prediction-powered inference with a tuned weight (Angelopoulos et al. 2023), with "
            + (
                "variances over items and people from components of variance, and Satterthwaite's degrees of freedom."
                if result.estimates.raters == "random"
                else "variances over items."
            )
        )
    return " ".join([*said, f"All with ordbridge {__version__}.", *result.sentences[:-1]])


def of_scales(found: ScaleComparison) -> str:
    """Say how scales were compared."""
    means = found.means.to_pylist()
    counts = [f"{sum(row['n_ratings'] for row in means if row['scale'] == name)} ratings on {name}"
              for name in found.scales]  # fmt: skip
    systems = len({row["system"] for row in means})
    criteria = f", on {len(found.criteria)} criteria" if len(found.criteria) > 1 else ""
    tests = listed(list(dict.fromkeys(found.sensitivity["posthoc"].to_pylist())))
    level = "" if found.conf_level is None else f", with {100 * found.conf_level:g} % jackknife intervals"
    between = "" if found.conf_level is None else (
        "; the interval of a difference comes from those of both scales (Zou 2007), whose ratings it takes as "
        "independent"
    )  # fmt: skip
    return (
        f"{systems} systems were rated on {len(found.scales)} scales{criteria}: {listed(counts)}. The scales were "
        f"compared by the measures of Belz & Kow (2011), with ordbridge {__version__}: agreement of the raters is "
        f"Kendall's W{level}{between}; pairs of systems were tested by {tests}, after a significant one-way "
        f"analysis of variance. {found.answer}"
    )


def of_reproduction(result: Reproduction) -> str:
    """Say what was computed again."""
    software = _software(dict(result.versions), "ordinal") if result.versions else f"ordbridge {__version__}"
    return f"We computed again, with {software}, what is claimed in {result.reference.rstrip('.')}. {result.answer}"
