"""``ob.compare``: from ratings to an answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np
import pyarrow as pa

from ordbridge.comparison.analysis import ESTIMANDS, Analysis, Request, analyse
from ordbridge.comparison.blocks import apart, by_column
from ordbridge.comparison.family import ADJUSTMENTS, Corrected
from ordbridge.comparison.family import correct as correct_all
from ordbridge.comparison.latent import TESTS
from ordbridge.comparison.overall import OVERALL, criteria_rows, overall_ratings, weights_of
from ordbridge.comparison.predictors import (
    TRIAL,
    Blocks,
    recognised_blocks,
    recognised_document,
    recognised_orders,
    with_trial_order,
)
from ordbridge.comparison.result import TABLES, Comparison
from ordbridge.comparison.result_rows import (
    design_row,
    model_rows,
    pair_rows,
    ranking_rows,
    share_rows,
    stability_rows,
    tables,
    turned,
)
from ordbridge.comparison.wording import disagreement
from ordbridge.errors import FitError, FitTimeout, InputError
from ordbridge.judges import judges_in
from ordbridge.logs import compare as compare_logs
from ordbridge.logs import is_log
from ordbridge.models.engines import engine_name
from ordbridge.models.fit import Fit
from ordbridge.models.kinds import KINDS
from ordbridge.models.prepare import LINKS
from ordbridge.preferences import PreferenceComparison, compare_preferences, pair_table
from ordbridge.reading import RatingTable, check, read
from ordbridge.reading.parts import listed
from ordbridge.reading.preferences import Preferences, PreferencesFound
from ordbridge.reading.rating_table import ROLES
from ordbridge.results.finding import Finding, found, has, worst_first
from ordbridge.support.arguments import choice, proportion, seconds, whole
from ordbridge.support.naming import arg
from ordbridge.support.progress import Progress, of_parts, part_of

CORRECT = ("criteria", "none")
UNSAID = ("refitted-natively",)  # which the note on the bootstrap says
SET_ASIDE = (
    "not-a-rating",
    "no-variation",
    "duplicated-rows",
    "no-participant",
    "no-item",
    "no-system",
    "no-criterion",
)
"""Errors in the ratings that do not stop a comparison: what they are about is left out, and that is said."""
ANSWERED = ("systems-share-no-items", "systems-differ-in-block", "several-criteria")  # by what is done about it
QUICK = "quick-answer"  # said once for all criteria, and first
FEW = {"few-raters": 2, "few-items": 1}  # with so many the answer is about these only
ALLOWED = "The test used here allows for it."
THESE = "The answer is not about others."


@dataclass(frozen=True)
class CompareOptions:
    """What is seldom changed about a comparison.

    Attributes
    ----------
    correct
        ``"criteria"``: the comparisons of all criteria are one family. ``"none"``: each criterion is its own.
    link
        Of ordinal models.
    test
        On the latent scale: ``"auto"``, Wald's z; with fewer than thirty participants or items Student's t, with the
        degrees of freedom of the linear mixed model with the same terms; with fewer than ten that differ in how they
        rate systems a bootstrap, the likelihood ratio with Bartlett's correction. Or ``"wald"``, ``"t"``, ``"lrt"``,
        ``"bootstrap"``.
    timeout
        Seconds that one fit may take.
    draws
        Of the bootstrap: by default 199, and fewer, down to 49, where there are so many ratings, pairs and criteria
        that these would take more than some minutes.
    seed, jobs, store, progress
        Of the bootstrap, as for :meth:`ordbridge.Fit.test`.
    by
        A column: each of its values has an answer of its own, corrected over all of them.
    blocks
        Columns of blocks such as datasets, languages, sessions: fixed effects beside the system, and a test of whether
        differences depend on them. Default: those that are recognised by their names and unevenly spread over systems;
        ``"none"`` for none.
    covariates
        Numeric columns such as length or position: predictors beside the system, centred. ``"trial_order"`` is the
        place of a rating among those of its participant, in the order of the file; whether differences between systems
        change with it, by learning or tiring, is tested, too.
    magnitude
        Ratings are magnitudes: each rater's ratios to a modulus of their own. They are compared as logarithms, so that
        effects of raters are their moduli, and differences are ratios.
    quick
        The answer without what takes long, the ordinal model beside differences in points and the bootstrap of the
        latent scale; a finding says what is still open.
    overall
        One ranking over all criteria, beside those of each: ``"equal"`` weights, or a weight for each criterion that
        counts, as a mapping or as texts such as ``"fluency=2"``.
    """

    correct: str = "criteria"
    link: str = "logit"
    test: str = "auto"
    timeout: float | None = None
    draws: int | None = None
    seed: int = 0
    jobs: int = 1
    store: str | PathLike[str] | None = None
    progress: Callable[[Progress], None] | None = None
    by: str | None = None
    blocks: str | Sequence[str] | None = None
    covariates: str | Sequence[str] = ()
    magnitude: bool = False
    quick: bool = False
    overall: str | Mapping[str, float] | Sequence[str] | None = None


def compare(
    data: Any,
    *,
    participant: str | None = None,
    item: str | None = None,
    system: str | None = None,
    rating: str | Sequence[str] | None = None,
    criterion: str | None = None,
    estimand: str = "points",
    reference: str | None = None,
    adjust: str | None = None,
    model: str | None = None,
    formula: str | None = None,
    engine: str = "r",
    conf_level: float = 0.95,
    force: bool = False,
    options: CompareOptions | None = None,
) -> Comparison | PreferenceComparison:
    """Say which system is rated higher, by how much, and how sure that is.

    By default the answer is about expected ratings: differences in points, for new participants and items, from linear
    mixed models with every random effect that the design identifies. Beside it stands what R's ordinal model
    (``clmm``, or ``clm`` without random effects) says of the same pairs, in ``latent_difference`` and
    ``latent_p_value``: another question, which has another answer where systems spread differently. Each criterion has
    its own models.

    Parameters
    ----------
    data
        A file, a table, or what :func:`ordbridge.read` returned. Logs of evaluations are compared by
        :func:`ordbridge.logs.compare`, which has its own result and more options.
    participant, item, system, rating, criterion
        Its columns, where they are not recognised. For all other options of reading give what :func:`ordbridge.read`
        returned.
    estimand
        What the test, the interval, the ranking and every sentence are about. ``"points"``: the difference of expected
        ratings. ``"latent"``: the difference on the latent scale of an ordinal model.
    reference
        A system with which all others are compared, in place of all pairs.
    adjust
        ``"holm"`` (default), ``"tukey"``, ``"bonferroni"``, ``"sidak"``, ``"fdr"``, ``"none"``, or ``"dunnett"``, the
        default with a reference.
    model, formula
        ``"clmm"``, ``"clm"``, ``"lmer"`` or ``"lm"``, and a formula such as ``"rating ~ system + (1 | participant)"``,
        where they are not to be chosen here. Columns have the names of their roles. The linear model of the points has
        the same formula; ``"lmer"`` and ``"lm"`` leave the ordinal model out.
    engine
        ``"r"``: R fits, started at the native optimum. ``"fast"``: the native engine alone.
    conf_level
        Level of the intervals; 1 − conf_level is the level of the tests.
    force
        Whether to go on although :func:`ordbridge.check` finds errors in the ratings.
    options
        Link, test of the latent scale, family of the correction, time limit, and how a bootstrap is made.

    Returns
    -------
    Comparison
        Of a file of comparisons (a or b, ranks, best–worst) a :class:`ordbridge.preferences.PreferenceComparison`: who
        is preferred, how often. Otherwise tables ``ranking`` and ``pairs``, ``answer``, ``plot()``, ``report(path)``,
        ``latex()``, ``markdown()``. In points the test is Satterthwaite's t of the linear mixed model; Welch's t where
        nothing repeats; an exact test where a system always has the same rating.

    References
    ----------
    Lenth, R. V. (2023). emmeans: Estimated marginal means. R package.
    Agresti, A. & Kateri, M. (2017). Ordinal probability effect measures for group comparisons in multinomial
    cumulative link models. Biometrics 73, 214–219.

    Examples
    --------
    >>> import ordbridge as ob
    >>> plan = ob.design.crossed(items=12, raters=12)
    >>> truth = ob.simulate.Truth(effects=1.2, thresholds=(-1, 0, 1), participant_sd=(0.5, 0), item_sd=(0.5, 0))
    >>> found = ob.compare(ob.simulate.ratings(plan, truth, seed=1), engine="fast")
    >>> found.ranking["system"].to_pylist()
    ['B', 'A']
    >>> print(found.answer)
    B is rated 0.83 points higher than A (95% CI 0.51 to 1.14, p < .001).
    """
    if is_log(data):
        about_people = {"participant": participant, "item": item, "system": system, "rating": rating,
                        "criterion": criterion, "formula": formula, "options": options}  # fmt: skip
        for name, value in about_people.items():
            if value is not None:
                raise InputError(f"{arg(name)} is about ratings by people; leave it out with logs")
        common = {"reference": reference, "conf_level": conf_level, "model": model, "engine": engine}
        return compare_logs(data, adjust=adjust or "holm", **common)  # type: ignore[return-value, arg-type]
    options = CompareOptions() if options is None else options
    if options.magnitude and (estimand == "latent" or model in ("clm", "clmm")):
        raise InputError("magnitudes have no categories; leave out magnitude, or the ordinal model")
    asked = _question(estimand, reference, model, formula, engine, conf_level, options)
    choice("correct", options.correct, CORRECT)
    adjust = adjust or ("holm" if reference is None else "dunnett")
    choice("adjust", adjust, ADJUSTMENTS)
    if (adjust == "dunnett") != (reference is not None) and adjust in ("dunnett", "tukey"):
        raise InputError(
            f"{arg('adjust', 'dunnett')} needs {arg('reference')}, a system to compare with; {arg('adjust', 'tukey')} "
            "is for all pairs"
        )
    if isinstance(data, Preferences):
        return _preferences(data, adjust, asked, options)
    roles: dict[str, Any] = {"participant": participant, "item": item, "system": system, "criterion": criterion}
    try:
        ratings = read(data, rating=rating, **roles)
    except PreferencesFound as recognised:
        if recognised.preferences is None:
            raise
        return _preferences(recognised.preferences, adjust, asked, options)
    if "system" not in ratings.table.column_names:
        raise InputError(_without_system(ratings))
    models = judges_in(ratings.table) if {"kind", "participant"} <= set(ratings.table.column_names) else []
    noticed = (*check(ratings).findings, *ratings.notes)
    noticed += (found("judge-among-raters", names=models),) if models else ()
    if options.magnitude or has(noticed, "spans-scored"):  # neither has an upper end
        noticed = tuple(one for one in noticed if one.code != "outside-scale")
    if not force and any(one.severity == "error" and one.code not in SET_ASIDE for one in noticed):
        return _unanswered(ratings, noticed, {"adjust": adjust, "correct": options.correct, **_settings(asked)})
    parts, said = _parts(ratings, has(noticed, "duplicated-rows"), options.by, asked)
    if options.overall is not None:
        part, weighted = _overall(ratings, parts, options)
        parts, said = [*parts, part], [*said, weighted]
    answers, failures = _analyses(ratings, parts, asked, options.by)
    noticed = (*(one for one in noticed if one.code not in ANSWERED), *said)
    return _result(ratings, noticed, answers, failures, adjust, options.correct, asked)


def _overall(
    ratings: RatingTable, parts: Sequence[tuple[str | None, str, pa.Table]], options: CompareOptions
) -> tuple[tuple[str | None, str, pa.Table], Finding]:
    """Return the ratings of all criteria together, as a part of its own, and what its weights are."""
    criteria = [name for name, criterion, _ in parts if criterion and name == criterion]
    if len(criteria) < 2 or len(criteria) < len(parts) or options.magnitude or options.overall is None:
        raise InputError(
            "overall is for ratings on several criteria whose systems share items, without by or magnitude"
        )
    if OVERALL in criteria:
        raise InputError(f"there is a criterion {OVERALL!r} already; leave overall out, or rename that criterion")
    known = {criterion: (table, _levels(ratings, table)) for _, criterion, table in parts}
    weights = weights_of(options.overall, [str(one) for one in criteria])
    table, said = overall_ratings(known, weights, ratings.lower_is_better)
    return (OVERALL, OVERALL, table), said


def _without_system(ratings: RatingTable) -> str:
    """Say what can be done with ratings that name no system."""
    known = {name for names in ratings.taken_from.values() for name in names}
    others = [name for name in ratings.table.column_names if name not in (*ROLES, *known)]
    texts = "" if len(ratings.table["item"].unique() if "item" in ratings.table.column_names else ()) < 2 else (
        f", or {arg('join')} with a table that says which system made each item"
    )  # fmt: skip
    which = f", which may be {listed(others)}" if others else ""
    return (
        f"no column of {ratings.source} says which system made a text; give {arg('system')} with its "
        f"column{which}{texts}. Without systems, ordbridge reliability says how well raters agree"
    )


def _preferences(data: Preferences, adjust: str, asked: Request, options: CompareOptions) -> PreferenceComparison:
    """Hand comparisons over; what only ratings have is refused."""
    only: dict[str, Any] = {"model": asked.model, "formula": asked.formula, "reference": asked.reference}
    only |= {"estimand": None if asked.estimand == "points" else asked.estimand}
    only |= {"adjust": adjust if adjust == "tukey" else None, "draws": options.draws, "overall": options.overall}
    only |= {"blocks": options.blocks, "covariates": asked.covariates or None, "magnitude": options.magnitude or None}
    if given := [name for name, value in only.items() if value is not None]:
        raise InputError(f"{data.source} has comparisons, and {arg(given[0])} is for ratings; leave it out")
    settings = {"adjust": adjust, "correct": options.correct, "link": options.link, "engine": asked.engine}
    table = pair_table(data)
    return compare_preferences(
        table if options.by is None else table.by(options.by), conf_level=asked.conf_level, **settings
    )


def _question(
    estimand: str,
    reference: str | None,
    model: str | None,
    formula: str | None,
    engine: str,
    conf_level: float,
    options: CompareOptions,
) -> Request:
    """Check the settings before anything is read or fitted."""
    if model is not None:
        choice("model", model, tuple(KINDS))
    choice("estimand", estimand, ESTIMANDS)
    choice("link", options.link, LINKS)
    choice("test", options.test, TESTS)
    if estimand == "points" and options.test not in ("auto", "t"):
        raise InputError(
            f"{arg('test', options.test)} is a test of the latent scale; add {arg('estimand', 'latent')}, or leave the "
            "test out"
        )
    if estimand == "latent" and model in ("lmer", "lm"):
        raise InputError(f"{arg('model', model)} has no latent scale; leave it out, or use {arg('estimand', 'points')}")
    proportion("conf_level", conf_level)
    if options.draws is not None:
        whole("draws", options.draws, least=19)
    whole("seed", options.seed, least=0)
    reference = None if reference is None else str(reference)
    return Request(
        estimand, reference, model, formula, options.link, engine_name(engine), options.test, conf_level,
        options.draws, options.seed, options.jobs, seconds("timeout", options.timeout), options.store, options.progress,
        blocks=_listed(options.blocks), covariates=_listed(options.covariates),
        recognise=options.blocks is None and formula is None, magnitude=options.magnitude,
        quick=options.quick,
    )  # fmt: skip


def _listed(columns: str | Sequence[str] | None) -> tuple[str, ...]:
    if columns is None or columns in ("none", ["none"], ("none",)):
        return ()
    return (columns,) if isinstance(columns, str) else tuple(columns)


def _parts(
    ratings: RatingTable, copied: bool, by: str | None, asked: Request
) -> tuple[list[tuple[str | None, str, pa.Table]], list[Finding]]:
    """Return what is analysed by itself: criteria, blocks, systems without common items. Copies count once.

    Each has a name, and that of its criterion.
    """
    table = _with_names_of_the_file(ratings)
    table = _without_copies(table) if copied else table
    if TRIAL in asked.covariates and TRIAL not in table.column_names:
        table = with_trial_order(table)
    criteria = [("", table)] if "criterion" not in table.column_names else by_column(table, "criterion")
    if "criterion" in table.column_names:
        order = list(dict.fromkeys(table["criterion"].cast(pa.string()).drop_null().to_pylist()))
        criteria.sort(key=lambda one: order.index(one[0]))
    parts: list[tuple[str | None, str, pa.Table]] = []
    said: list[Finding] = []
    for criterion, its in criteria:
        for block, rows in [("", its)] if by is None else by_column(its, by):
            linked, why = apart(rows)
            said += [replace(one, subject=", ".join(filter(None, (criterion, block)))) for one in why]
            parts += [
                (", ".join(filter(None, (criterion, block, name))) or None, criterion, part) for name, part in linked
            ]
    return parts, said


def _analyses(
    ratings: RatingTable, parts: Sequence[tuple[str | None, str, pa.Table]], asked: Request, by: str | None
) -> tuple[list[Analysis], dict[str | None, Exception]]:
    """Analyse each part; what cannot be answered is kept beside those that can."""
    asked = replace(asked, criteria=len(parts))
    answers: list[Analysis] = []
    failures: dict[str | None, Exception] = {}
    of_file = {*_columns(ratings).values(), *(() if by is None else (by,))}
    started = time.monotonic()
    for place, (name, criterion, part) in enumerate(parts):
        if place and asked.progress is not None and asked.estimand == "points":
            asked.progress(of_parts(place, len(parts), time.monotonic() - started))
        try:
            its = replace(asked, progress=part_of(asked.progress, place, len(parts)))
            blocks = recognised_blocks(part, {*of_file, *asked.beside}) if asked.recognise else Blocks()
            orders = recognised_orders(part, {*of_file, *asked.beside}) if asked.formula is None else ()
            fixed = (*its.blocks, *blocks.columns)
            document = recognised_document(part, {*of_file, *asked.covariates, *fixed}) if asked.recognise else None
            its = replace(its, blocks=fixed, orders=orders, document=document)
            answer = analyse(part, name, _levels(ratings, part), its)
            answer = replace(answer, notes=tuple(dict.fromkeys((*blocks.findings, *answer.notes))))
            answers.append(replace(answer, lower_is_better=criterion in ratings.lower_is_better))
        except FitTimeout:
            raise
        except (FitError, InputError) as failure:
            if isinstance(failure, InputError) and len(parts) == 1:
                raise
            failures[name] = failure
    if not answers and all(isinstance(failure, InputError) for failure in failures.values()):
        raise next(iter(failures.values()))
    return answers, failures


def _levels(ratings: RatingTable, part: pa.Table) -> Sequence[str]:
    """Return the labels of the scale; where criteria have their own scales, those of this one."""
    if ratings.levels is None:
        return ()
    used = set(part["rating"].cast(pa.string()).drop_null().to_pylist())
    return ratings.levels if used <= set(ratings.levels) else ()


def _with_names_of_the_file(ratings: RatingTable) -> pa.Table:
    """Return the ratings with columns under the names of the file, too, so that a formula may use them."""
    table = ratings.table
    for role, name in _columns(ratings).items():
        if name not in table.column_names and role in table.column_names:
            table = table.append_column(name, table[role])
    return table


def _without_copies(table: pa.Table) -> pa.Table:
    """Leave out rows that repeat another in every column."""
    seen: set[str] = set()
    first = []
    for row in zip(*(table[name].to_pylist() for name in table.column_names), strict=True):
        first.append(repr(row) not in seen)
        seen.add(repr(row))
    return table.filter(pa.array(first, pa.bool_()))


def _columns(ratings: RatingTable) -> dict[str, str]:
    """Return the name of the column that each role was taken from, or where it was none or several, what was."""
    return {role: ratings.column(role) or words for role, words in ratings.recognised.items()}


def _settings(asked: Request) -> dict[str, Any]:
    names = ("estimand", "reference", "model", "formula", "link", "engine", "test", "conf_level", "seed", "blocks",
             "covariates", "magnitude")  # fmt: skip
    return {name: getattr(asked, name) for name in names}


def _result(
    ratings: RatingTable,
    noticed: Sequence[Finding],
    answers: Sequence[Analysis],
    failures: Mapping[str | None, Exception],
    adjust: str,
    correct: str,
    asked: Request,
) -> Comparison:
    alpha = 1.0 - asked.conf_level
    corrected = _corrected(answers, adjust, correct == "criteria", alpha)
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in TABLES}
    said: list[Finding] = []
    for name, failure in failures.items():
        said.append(found("no-answer" if isinstance(failure, FitError) else "not-usable", name, reason=str(failure)))
    for answer, its in zip(answers, corrected, strict=True):
        rows["ranking"] += ranking_rows(answer, its, alpha, asked.reference)
        pairs = pair_rows(answer, its, _latent_different(answer, adjust, alpha), alpha)
        rows["pairs"] += [turned(row) for row in pairs] if answer.lower_is_better and asked.reference is None else pairs
        rows["shares"] += share_rows(answer)
        rows["stability"] += (stable := stability_rows(answer, its, alpha))
        said += _stable(stable, len(answer.systems))
        rows["design"].append(design_row(answer))
        rows["models"] += model_rows(answer)
        own_notes = (one for one in answer.notes if one.code != QUICK)
        its_own = (*_out_of_reach(answer, its, alpha), *_why(answer), *own_notes)
        said += [replace(one, subject=answer.criterion or "") for one in its_own]
    rows["criteria_together"] += criteria_rows(answers, asked.conf_level)
    comparisons = [len(answer.differences.pairs) for answer in answers]
    family = sum(comparisons) if correct == "criteria" else max(comparisons, default=0)
    parts = "criteria" if {answer.criterion for answer in answers} <= _criteria(ratings) | {OVERALL} else "parts"
    settings = _settings(asked) | {"adjust": adjust, "correct": correct, "comparisons": family, "over": parts}
    settings["lower_is_better"] = [answer.criterion or "" for answer in answers if answer.lower_is_better]
    made = Comparison(
        **tables(rows),
        recognised=_columns(ratings),
        findings=(),
        settings=settings,
        fits={answer.criterion: fit for answer in answers if (fit := _fit_of(answer)) is not None},
    )
    disagree = [one for name in made.criteria if (one := disagreement(made, name)) is not None]
    open_still = dict.fromkeys(one for answer in answers for one in answer.notes if one.code == QUICK)
    kept = (*open_still, *disagree, *_still_true(noticed, answers), *(one for one in said if one.code not in UNSAID))
    return replace(made, findings=worst_first(kept))


def _stable(rows: Sequence[Mapping[str, Any]], systems: int) -> list[Finding]:
    """Say what a repetition would find, where there are several pairs."""
    return [
        found("stable-ranking", row["criterion"], n=row["pairs_that_differ"], kept=row["stable_ranking"],
              same=row["same_order"])
        for row in rows
        if row["stable_ranking"] is not None and systems > 2
    ]  # fmt: skip


def _criteria(ratings: RatingTable) -> set[str | None]:
    table = ratings.table
    return set(table["criterion"].cast(pa.string()).to_pylist()) if "criterion" in table.column_names else {None}


def _fit_of(answer: Analysis) -> Fit | None:
    """Return the model that R's users know: the ordinal one where there is one, otherwise the linear one."""
    return answer.fit if answer.latent is None else answer.latent.fit


def _latent_different(answer: Analysis, adjust: str, alpha: float) -> np.ndarray:
    """Tell which pairs the ordinal model's own test calls different, corrected as far as p-values alone allow."""
    if answer.latent is None:
        return np.zeros(len(answer.differences.pairs), dtype=bool)
    method = "holm" if adjust in ("dunnett", "tukey") else adjust
    [found] = correct_all([answer.latent.p_value], method, alpha, False, [], [], [])
    different: np.ndarray = found.p_value < alpha
    return different


def _still_true(noticed: Sequence[Finding], answers: Sequence[Analysis]) -> list[Finding]:
    """Say of few raters or items that the test allows for them, where it does."""
    if not answers or any({"wald", "lrt"} & set(answer.differences.tests) for answer in answers):
        return list(noticed)
    return [
        replace(one, values={**one.values, "wald": "", "advice": ALLOWED if one.values["n"] > FEW[one.code] else THESE})
        if one.code in FEW
        else one
        for one in noticed
    ]


def _unanswered(ratings: RatingTable, noticed: Sequence[Finding], settings: dict[str, Any]) -> Comparison:
    """Return a comparison without an answer, because the ratings have errors."""
    empty: dict[str, list[dict[str, Any]]] = {name: [] for name in TABLES}
    return Comparison(
        **tables(empty),
        recognised=_columns(ratings),
        findings=worst_first((found("ratings-have-errors"), *noticed)),
        settings={**settings, "comparisons": 0},
    )


def _corrected(answers: Sequence[Analysis], adjust: str, over_criteria: bool, alpha: float) -> list[Corrected]:
    if not answers:
        return []
    all_differences = [answer.differences for answer in answers]
    return correct_all(
        [one.p_value for one in all_differences],
        adjust,
        alpha,
        over_criteria,
        [one.correlation for one in all_differences],
        [one.df for one in all_differences],
        [len(answer.systems) for answer in answers],
    )


def _out_of_reach(answer: Analysis, corrected: Corrected, alpha: float) -> list[Finding]:
    """Say which pairs no ratings of so few participants and items could have shown to differ."""
    found_pairs = answer.differences
    stuck = [
        k
        for k, least in enumerate(found_pairs.least)
        if 0 < found_pairs.p_value[k] <= least * (1 + 1e-9) and corrected.p_value[k] >= alpha
    ]
    if not stuck:
        return []
    names = [" and ".join(answer.systems[one] for one in found_pairs.pairs[k]) for k in stuck]
    least, after = (min(float(p[k]) for k in stuck) for p in (found_pairs.p_value, corrected.p_value))
    return [found("exact-too-few", pairs=listed(names), least=least, corrected=after)]


def _why(answer: Analysis) -> list[Finding]:
    """Say why this test."""
    said = []
    tests = set(answer.differences.tests)
    if "bootstrap" in tests:
        few = " and ".join(answer.few) or "so few levels"
        said.append(found("bootstrap-used", draws=answer.draws, few=few))
    if "t" in tests and answer.estimand == "latent":
        df = answer.differences.df
        least = " to ".join(dict.fromkeys(f"{end:.0f}" for end in (df.min(), df.max())))
        said.append(found("student-used", df=least))
    if "exact" in tests:
        said.append(found("exact-used"))
    if answer.fit is not None and answer.fit.singular:
        said.append(found("fit-singular"))
    if not np.isfinite(answer.mean_error).all():
        said.append(found("no-interval"))
    return said
