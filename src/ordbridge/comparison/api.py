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
from ordbridge.comparison.analysis import ESTIMANDS, Analysis, Request, analyse
from ordbridge.comparison.family import ADJUSTMENTS, Corrected
from ordbridge.comparison.family import correct as correct_all
from ordbridge.comparison.latent import TESTS
from ordbridge.comparison.result import Comparison
from ordbridge.comparison.tables import (
    analysis_rows,
    design_row,
    model_rows,
    pair_rows,
    ranking_rows,
    share_rows,
    tables,
)
from ordbridge.data import RatingTable, check, read
from ordbridge.errors import FitError, FitTimeout, InputError
from ordbridge.models.engines import engine_name
from ordbridge.models.fit import Fit
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
ALLOWED = "The test used here allows for it."


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
    estimand: str = "points",
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

    By default the answer is about expected ratings: differences in points, for new participants and items, from linear
    mixed models with every random effect that the design identifies. Beside it stands what R's ordinal model
    (``clmm``, or ``clm`` without random effects) says of the same pairs, in ``latent_difference`` and
    ``latent_p_value``: another question, which has another answer where systems spread differently. Each criterion has
    its own models.

    Parameters
    ----------
    data
        A file, a table, or what :func:`ordbridge.read` returned.
    participant, item, system, rating, criterion, levels, columns, format, sheet, join
        How to read it, where it is not recognised; see :func:`ordbridge.read`.
    scale
        The lowest and the highest rating that the scale has, for :func:`ordbridge.check`.
    estimand
        What the test, the interval, the ranking and every sentence are about. ``"points"``: the difference of expected
        ratings. ``"latent"``: the difference on the latent scale of an ordinal model.
    reference
        A system with which all others are compared, in place of all pairs.
    adjust
        ``"holm"`` (default), ``"tukey"``, ``"bonferroni"``, ``"sidak"``, ``"fdr"``, ``"none"``, or ``"dunnett"``, the
        default with a reference.
    correct
        ``"criteria"``: the comparisons of all criteria are one family. ``"none"``: each criterion is its own.
    model, formula
        ``"clmm"``, ``"clm"``, ``"lmer"`` or ``"lm"``, and a formula such as ``"rating ~ system + (1 | participant)"``,
        where they are not to be chosen here. Columns have the names of their roles. The linear model of the points has
        the same formula; ``"lmer"`` and ``"lm"`` leave the ordinal model out.
    link
        Of ordinal models.
    engine
        ``"r"``: R fits, started at the native optimum. ``"fast"``: the native engine alone.
    test
        In points: ``"auto"``, Satterthwaite's t of the linear mixed model (Welch's t where nothing repeats; an exact
        test where a system always has the same rating). On the latent scale: ``"auto"``, Wald's z; with fewer than
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
    B is rated 0.83 points higher than A (95 % interval 0.51 to 1.14; p < .001, Holm)
    """
    asked = _question(
        estimand, reference, model, formula, link, engine, test, conf_level, draws, seed, jobs, timeout, store, progress
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
    estimand: str,
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
    choice("estimand", estimand, ESTIMANDS)
    choice("link", link, LINKS)
    choice("test", test, TESTS)
    if estimand == "points" and test not in ("auto", "t"):
        raise InputError(f"test={test!r} is a test of the latent scale; add estimand='latent', or leave the test out")
    if estimand == "latent" and model in ("lmer", "lm"):
        raise InputError(f"model={model!r} has no latent scale; leave it out, or use estimand='points'")
    share("conf_level", conf_level)
    if draws is not None:
        whole("draws", draws, least=19)
    whole("seed", seed, least=0)
    reference = None if reference is None else str(reference)
    return Request(
        estimand, reference, model, formula, link, engine_name(engine), test, conf_level, draws, seed, jobs,
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
    names = ("estimand", "reference", "model", "formula", "link", "engine", "test", "conf_level", "seed")
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
        rows["pairs"] += pair_rows(answer, its, _latent_different(answer, adjust, alpha), alpha)
        rows["shares"] += share_rows(answer)
        rows["design"].append(design_row(answer))
        rows["models"] += model_rows(answer)
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
        fits={answer.criterion: fit for answer in answers if (fit := _fit_of(answer)) is not None},
    )


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


def _still_true(checks: pa.Table, answers: Sequence[Analysis]) -> pa.Table:
    """Say of few raters or items that the test allows for them, where it does."""
    if not answers or any({"wald", "lrt"} & set(answer.differences.tests) for answer in answers):
        return checks
    few = pc.is_in(checks["problem"], pa.array(FEW))
    return checks.set_column(checks.column_names.index("remedy"), "remedy", pc.if_else(few, ALLOWED, checks["remedy"]))


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
    said = []
    if answer.formula and asked.model is None and asked.formula is None:
        said.append(_model_words(answer))
    tests = set(answer.differences.tests)
    if "bootstrap" in tests:
        said.append(
            f"p-values come from the likelihood ratio with Bartlett's correction ({answer.draws} simulated datasets): "
            f"with {' and '.join(answer.few) or 'so few levels'} Wald's test, which R prints, rejects too often"
        )
    if "t" in tests and answer.estimand == "latent":
        df = answer.differences.df
        least = " to ".join(dict.fromkeys(f"{end:.0f}" for end in (df.min(), df.max())))
        said.append(
            f"p-values and intervals have Student's t with {least} degrees of freedom, those of the linear mixed model "
            "with the same terms; for z give test='wald'"
        )
    if "exact" in tests:
        said.append("Systems that always have the same rating were compared by an exact test")
    if answer.fit is not None and answer.fit.singular:
        said.append("The fit is singular, as often in small studies: a variance is at zero or a correlation at ±1")
    if not np.isfinite(answer.mean_error).all():
        said.append("A system that always has the same rating has no interval")
    return said


def _model_words(answer: Analysis) -> str:
    """Say which models were used."""
    if answer.estimand == "latent":
        return f"{answer.model} was used because {answer.scale.why}: {answer.formula}"
    text = f"Differences in points come from linear models, {answer.formula}"
    if len(answer.systems) > 2:
        text += ", and from one for each pair; the larger p-value counts"
    if answer.latent is not None:
        text += (
            f". The latent difference is that of {answer.latent.fit.problem.model}: {answer.latent.fit.problem.formula}"
        )
    return text
