"""``ob.compare``: from ratings to an answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ordbridge.checks import choice, seconds, share, whole
from ordbridge.comparison.analysis import Analysis, Request, analyse
from ordbridge.comparison.differences import TESTS
from ordbridge.comparison.family import ADJUSTMENTS, Corrected
from ordbridge.comparison.family import correct as correct_all
from ordbridge.comparison.result import Comparison
from ordbridge.comparison.tables import (
    analysis_rows,
    design_row,
    model_row,
    pair_rows,
    ranking_rows,
    share_rows,
    tables,
)
from ordbridge.data import RatingTable, check, read
from ordbridge.errors import FitError, FitTimeout, InputError
from ordbridge.models.engines import engine_name
from ordbridge.models.kinds import KINDS
from ordbridge.models.prepare import LINKS
from ordbridge.progress import Progress, part_of

__all__ = ["compare"]

CORRECT = ("criteria", "none")
UNSAID = ("the model was fitted again by the native engine, as all others are",)  # which the note on the bootstrap says
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
FEW = ("few-raters", "few-items")


def compare(
    data: Any,
    *,
    participant: str | None = None,
    item: str | None = None,
    system: str | None = None,
    rating: str | Sequence[str] | None = None,
    criterion: str | None = None,
    levels: Sequence[str] | None = None,
    scale: Sequence[float] | None = None,
    columns: str | None = None,
    format: str | None = None,
    sheet: str | None = None,
    join: str | PathLike[str] | Sequence[str | PathLike[str]] | None = None,
    reference: str | None = None,
    adjust: str | None = None,
    correct: str = "criteria",
    model: str | None = None,
    formula: str | None = None,
    link: str = "logit",
    engine: str = "r",
    test: str = "auto",
    conf_level: float = 0.95,
    draws: int | None = None,
    seed: int = 0,
    jobs: int = 1,
    store: str | PathLike[str] | None = None,
    timeout: float | None = None,
    anyway: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Comparison:
    """Say which system is rated higher, by how much, and how sure that is.

    Ratings in ordered categories are analysed by a cumulative link mixed model, a slider by a linear mixed model, and
    two categories by the cumulative link model of two; without participants or items that occur more than once, by the
    same models without random effects. Each criterion has its own model. Differences are in rating points, for new
    participants and items.

    Parameters
    ----------
    data
        A file, a table, or what :func:`ordbridge.read` returned.
    participant, item, system, rating, criterion, levels, columns, format, sheet, join
        How to read it, where it is not recognised; see :func:`ordbridge.read`.
    scale
        The lowest and the highest rating that the scale has, for :func:`ordbridge.check`.
    reference
        A system with which all others are compared, in place of all pairs.
    adjust
        ``"holm"`` (default), ``"tukey"``, ``"bonferroni"``, ``"sidak"``, ``"fdr"``, ``"none"``, or ``"dunnett"``, the
        default with a reference.
    correct
        ``"criteria"``: the comparisons of all criteria are one family. ``"none"``: each criterion is its own.
    model, formula
        ``"clmm"``, ``"clm"``, ``"lmer"`` or ``"lm"``, and a formula such as ``"rating ~ system + (1 | participant)"``,
        where they are not to be chosen here. Columns have the names of their roles.
    link
        Of ordinal models.
    engine
        ``"r"``: R fits, started at the native optimum. ``"fast"``: the native engine alone.
    test
        ``"auto"``: t tests for linear models, Wald's z for ordinal ones. Where that does not hold: with fewer than
        thirty participants or items Student's t, with the degrees of freedom of the linear mixed model with the same
        terms; with fewer than ten that differ in how they rate systems a bootstrap, the likelihood ratio with
        Bartlett's correction. Or ``"wald"``, ``"t"``, ``"lrt"``, ``"bootstrap"``.
    conf_level
        Level of the intervals; 1 − conf_level is the level of the tests.
    draws
        Of the bootstrap: by default 199, and fewer, down to 49, where there are so many ratings, pairs and criteria
        that these would take more than some minutes.
    seed, jobs, store, progress
        Of the bootstrap, as for :meth:`ordbridge.Fit.test`.
    timeout
        Seconds that one fit may take.
    anyway
        Whether to go on although :func:`ordbridge.check` finds errors in the ratings.

    Returns
    -------
    Comparison
        Its tables ``ranking`` and ``pairs``, ``sentences``, ``plot()``, ``report(path)``, ``latex()``, ``markdown()``.

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
    >>> print(found.sentences[1].split(". ")[0])
    B is rated 0.81 points higher than A (95 % interval 0.50 to 1.13; p < .001, Holm)
    """
    asked = _question(
        reference, model, formula, link, engine, test, conf_level, draws, seed, jobs, timeout, store, progress
    )
    choice("correct", correct, CORRECT)
    adjust = adjust or ("holm" if reference is None else "dunnett")
    choice("adjust", adjust, ADJUSTMENTS)
    if (adjust == "dunnett") != (reference is not None) and adjust in ("dunnett", "tukey"):
        raise InputError("adjust='dunnett' needs reference=, a system to compare with; adjust='tukey' is for all pairs")
    roles: dict[str, Any] = {"participant": participant, "item": item, "system": system, "criterion": criterion}
    how: dict[str, Any] = {"rating": rating, "levels": levels, "columns": columns, "format": format, "sheet": sheet}
    ratings = data if isinstance(data, RatingTable) else read(data, **roles, **how, join=join)
    if "system" not in ratings.table.column_names:
        raise InputError(
            f"no column of {ratings.source} was recognised as the system; give system= with one of "
            f"{', '.join(ratings.table.column_names)}"
        )
    checks = check(ratings, scale=scale)
    errors = [row for row in checks.table.to_pylist() if row["severity"] == "error" and row["problem"] not in SET_ASIDE]
    if errors and not anyway:
        reasons = [f"{row['what']}. {row['remedy']}" for row in errors]
        return _unanswered(ratings, checks.table, reasons, {"adjust": adjust, "correct": correct, **_settings(asked)})
    copied = "duplicated-rows" in checks.table["problem"].to_pylist()
    answers, failures = _analyses(ratings, asked, copied)
    return _result(ratings, checks.table, answers, failures, adjust, correct, asked)


def _question(
    reference: str | None,
    model: str | None,
    formula: str | None,
    link: str,
    engine: str,
    test: str,
    conf_level: float,
    draws: int | None,
    seed: int,
    jobs: int,
    timeout: float | None,
    store: str | PathLike[str] | None,
    progress: Callable[[Progress], None] | None,
) -> Request:
    """Check the settings before anything is read or fitted."""
    if model is not None:
        choice("model", model, tuple(KINDS))
    choice("link", link, LINKS)
    choice("test", test, TESTS)
    share("conf_level", conf_level)
    if draws is not None:
        whole("draws", draws, least=19)
    whole("seed", seed, least=0)
    reference = None if reference is None else str(reference)
    return Request(
        reference, model, formula, link, engine_name(engine), test, conf_level, draws, seed, jobs,
        seconds("timeout", timeout), store, progress,
    )  # fmt: skip


def _analyses(ratings: RatingTable, asked: Request, copied: bool) -> tuple[list[Analysis], dict[str | None, Exception]]:
    """Analyse each criterion; what cannot be answered is kept beside those that can. Copied rows count once."""
    table = _with_names_of_the_file(ratings)
    table = _without_copies(table) if copied else table
    criteria: list[str | None] = [None]
    if "criterion" in table.column_names:
        criteria = [str(name) for name in dict.fromkeys(table["criterion"].drop_null().to_pylist())]
    asked = replace(asked, criteria=len(criteria))
    answers: list[Analysis] = []
    failures: dict[str | None, Exception] = {}
    for place, name in enumerate(criteria):
        part = table if name is None else table.filter(pc.equal(table["criterion"], name))
        try:
            its = replace(asked, progress=part_of(asked.progress, place, len(criteria)))
            answers.append(analyse(part, name, _levels(ratings, part), its))
        except FitTimeout:
            raise
        except (FitError, InputError) as failure:
            if isinstance(failure, InputError) and len(criteria) == 1:
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
    for role, name in _columns(ratings.recognised).items():
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


def _columns(recognised: Mapping[str, str]) -> dict[str, str]:
    """Return the plain name of the column that each role was taken from; other descriptions stay as they are."""
    found = {}
    for role, words in recognised.items():
        quoted = re.fullmatch(r"column ['\"](.*)['\"]", words)
        found[role] = quoted[1] if quoted else words
    return found


def _settings(asked: Request) -> dict[str, Any]:
    names = ("reference", "model", "formula", "link", "engine", "test", "conf_level", "seed")
    return {name: getattr(asked, name) for name in names}


def _result(
    ratings: RatingTable,
    checks: pa.Table,
    answers: Sequence[Analysis],
    failures: Mapping[str | None, Exception],
    adjust: str,
    correct: str,
    asked: Request,
) -> Comparison:
    alpha = 1.0 - asked.conf_level
    corrected = _corrected(answers, adjust, correct == "criteria", alpha)
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in ("ranking", "pairs", "shares", "design", "models")}
    notes: dict[str, None] = {}
    for answer, its in zip(answers, corrected, strict=True):
        rows["ranking"] += ranking_rows(answer, its, alpha, asked.reference)
        rows["pairs"] += pair_rows(answer, its)
        rows["shares"] += share_rows(answer)
        rows["design"].append(design_row(answer))
        rows["models"].append(model_row(answer))
        said = [*_why(answer, asked), *(note for note in answer.notes if note not in UNSAID)]
        notes |= dict.fromkeys(said if answer.criterion is None else [f"{answer.criterion}: {note}" for note in said])
    for name, failure in failures.items():
        notes[f"{name}: no answer, because {failure}" if name else f"No answer, because {failure}"] = None
    comparisons = [len(answer.differences.pairs) for answer in answers]
    family = sum(comparisons) if correct == "criteria" else max(comparisons, default=0)
    settings = _settings(asked) | {"adjust": adjust, "correct": correct, "comparisons": family}
    return Comparison(
        **tables(rows),
        checks=analysis_rows(_still_true(checks, answers), failures),
        recognised=_columns(ratings.recognised),
        notes=(*ratings.said, *notes),
        asked=settings,
        fits={answer.criterion: answer.fit for answer in answers},
    )


def _still_true(checks: pa.Table, answers: Sequence[Analysis]) -> pa.Table:
    """Leave out the warning that the usual tests do not hold where another test was used."""
    if not answers or any(answer.test in ("wald", "lrt") for answer in answers):
        return checks
    few = pc.and_(pc.is_in(checks["problem"], pa.array(FEW)), pc.match_substring(checks["remedy"], "bootstrap"))
    return checks.filter(pc.invert(few))


def _unanswered(ratings: RatingTable, checks: pa.Table, reasons: Sequence[str], asked: dict[str, Any]) -> Comparison:
    """Return a comparison without an answer, because the ratings have errors."""
    notes = (*ratings.said, f"No answer, because {' '.join(reasons)} To go on all the same, give anyway=True")
    empty: dict[str, list[dict[str, Any]]] = {name: [] for name in ("ranking", "pairs", "shares", "design", "models")}
    return Comparison(
        **tables(empty), checks=checks, recognised=_columns(ratings.recognised), notes=notes,
        asked={**asked, "comparisons": 0},
    )  # fmt: skip


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


def _why(answer: Analysis, asked: Request) -> list[str]:
    """Say why this model and this test."""
    fit = answer.fit
    said = []
    if asked.model is None and asked.formula is None:
        why = f" because {answer.scale.why}" if fit.problem.ordinal == answer.scale.ordinal else ""
        said.append(f"{fit.problem.model} was used{why}: {fit.problem.formula}")
    if answer.test == "bootstrap":
        said.append(
            f"p-values and intervals of differences come from a bootstrap ({answer.draws} draws, native fits), because "
            f"with {' and '.join(answer.few) or 'so few levels'} Wald's test, which R prints, rejects true null "
            "hypotheses too often"
        )
    if answer.test == "t" and fit.problem.model == "clmm":
        df = answer.differences.df
        least = " to ".join(dict.fromkeys(f"{end:.0f}" for end in (df.min(), df.max())))
        said.append(
            f"p-values and intervals have Student's t with {least} degrees of freedom, those of the linear mixed model "
            "with the same terms, because Wald's z, which R prints, rejects true null hypotheses too often with so few "
            "participants or items; for z give test='wald'"
        )
    if fit.singular:
        said.append("The fit is singular, as often in small studies: a variance is at zero or a correlation at ±1")
    if not np.isfinite(answer.mean_error).all():
        said.append("An expected rating at the end of the scale has no interval")
    return said
