"""One criterion: expected ratings, differences with their tests, and what R's ordinal model says beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ordbridge.comparison.differences import Differences, correlation, ranked_pairs
from ordbridge.comparison.fitting import Fitter, first_to_trust, linear_fitter
from ordbridge.comparison.latent import Resampling, latent_differences, latent_spread, latent_test
from ordbridge.comparison.points import ExpectedRatings, PairTest, expected_ratings, means_of, point_tests
from ordbridge.comparison.predictors import DOCUMENT, TRIAL, interaction, order_mixed, slope, with_predictors
from ordbridge.comparison.scale import Scale, on_grid, read_magnitudes, read_scale
from ordbridge.comparison.structure import FEW, ChosenModel, choose
from ordbridge.comparison.student import StudentDf, degrees_of_freedom, needs_student
from ordbridge.errors import FitError, InputError
from ordbridge.fast.flags import separated_levels
from ordbridge.formula import parse, quote
from ordbridge.models.fit import Fit
from ordbridge.models.inference.marginal_means import Effects, effects
from ordbridge.models.kinds import KINDS
from ordbridge.models.laplace_check import LAPLACE
from ordbridge.results.finding import Finding
from ordbridge.results.finding import found as noticed
from ordbridge.support.naming import arg
from ordbridge.support.progress import Progress

ESTIMANDS = ("points", "latent")
FEW_RATINGS = 3  # of a system, beside others with several times as many
OPEN = {"bootstrap": "bootstrap that so few levels need", "lrt": "likelihood ratio tests"}


@dataclass(frozen=True)
class Request:
    """What was asked, of every criterion alike."""

    estimand: str
    reference: str | None
    model: str | None
    formula: str | None
    link: str
    engine: str
    test: str
    conf_level: float
    draws: int | None
    seed: int
    jobs: int
    timeout: float | None
    store: str | PathLike[str] | None = None
    progress: Callable[[Progress], None] | None = None
    criteria: int = 1
    blocks: tuple[str, ...] = ()
    """Columns whose values are fixed effects beside the system."""
    covariates: tuple[str, ...] = ()
    """Numeric columns that are predictors beside the system, centred."""

    recognise: bool = False
    """Whether further blocks are recognised by their names."""
    quick: bool = False
    """Whether what takes long is left out, and named."""
    magnitude: bool = False
    """Whether ratings are magnitudes."""
    document: str | None = None
    """A column that says which items belong together: it has random effects, too."""
    orders: tuple[str, ...] = ()
    """Numeric columns that say where something was rated; their effects are reported."""

    @property
    def beside(self) -> tuple[str, ...]:
        """All predictors beside the system."""
        return (*self.blocks, *self.covariates)

    @property
    def wants_ordinal(self) -> bool:
        """Whether an ordinal model may be fitted at all."""
        return (self.model is None and not self.quick) or (self.model is not None and KINDS[self.model].ordinal)


@dataclass(frozen=True, eq=False)
class Latent:
    """The ordinal model beside differences in points: R's own test, pair by pair, in the order of the differences."""

    fit: Fit
    difference: np.ndarray
    std_error: np.ndarray
    p_value: np.ndarray


@dataclass(frozen=True, eq=False)
class Analysis:
    """What was found out about one criterion, before the correction for several comparisons."""

    criterion: str | None
    ratings: pa.Table
    scale: Scale
    estimand: str
    systems: tuple[str, ...]
    """As the model orders them."""
    mean: np.ndarray
    mean_error: np.ndarray
    mean_low: np.ndarray
    mean_high: np.ndarray
    covariance: np.ndarray
    """Of the means in the model of all systems; NaN where it has none."""
    differences: Differences
    spread: np.ndarray
    """The variance of single ratings (or latent qualities) of each system."""
    formula: str
    """Of the model of all systems; empty where no rating varies."""
    model: str
    fit: Fit | None
    """Of the estimand; none where no rating varies."""
    latent: Latent | None
    about: Mapping[str, int]
    """Participants or items so few that the answer is about these, with their number."""
    draws: int | None = None
    """Of a bootstrap."""
    few: tuple[str, ...] = ()
    """Groups with so few levels that the test of the latent scale had to be a bootstrap, in words."""
    notes: tuple[Finding, ...] = ()
    lower_is_better: bool = False

    @property
    def order(self) -> list[int]:
        """The places of the systems, the best one first: the highest expected rating, or the lowest."""
        return [int(k) for k in np.argsort(self.mean if self.lower_is_better else -self.mean, kind="stable")]


def analyse(ratings: pa.Table, criterion: str | None, levels: Sequence[str], asked: Request) -> Analysis:
    """Compare the systems on one criterion."""
    for name in ("rating", "system", "participant", "item"):
        if name in ratings.column_names:
            ratings = ratings.filter(pc.is_valid(ratings[name]))
    if not ratings.num_rows:
        raise InputError("there is no rating of which system, participant and item are known")
    ratings = with_predictors(ratings, asked.blocks, asked.covariates)
    scale, response = read_magnitudes(ratings["rating"]) if asked.magnitude else read_scale(ratings["rating"], levels)
    _check_systems(ratings["system"], asked.reference)
    ready = ratings.set_column(ratings.column_names.index("rating"), "rating", response)
    if asked.estimand == "latent":
        return _latent_analysis(ready, criterion, scale, asked)
    return _points_analysis(ready, criterion, scale, asked)


def _check_systems(column: pa.ChunkedArray, reference: str | None) -> None:
    systems = sorted(set(column.to_pylist()))
    if len(systems) < 2:
        raise InputError(f"there is only one system, {systems[0]!r}, so there is nothing to compare")
    if reference is not None and reference not in systems:
        raise InputError(
            f"{arg('reference', reference)} is not a system; the systems are {', '.join(map(repr, systems))}"
        )


def _beside_the_system(asked: Request, means: ExpectedRatings, numbers: pa.Table, fitter: Fitter) -> list[Finding]:
    """Say what blocks, covariates and the order of trials do."""
    notes = [_adjusted(asked, means, numbers)] if asked.beside else []
    notes += [interaction(block, means, numbers, fitter) for block in asked.blocks]
    notes += [interaction(name, means, numbers, fitter) for name in asked.covariates if name == TRIAL]
    mixed = (order_mixed(name, numbers) for name in asked.orders)
    effects = (slope(name, means, numbers, fitter) for name in (*asked.covariates, *asked.orders))
    return [*notes, *filter(None, (*mixed, *effects))]


def _adjusted(asked: Request, means: ExpectedRatings, numbers: pa.Table) -> Finding:
    """Say what the adjustment does to the two systems rated highest; who asked for it should see that at once."""
    rating = numbers["rating"].to_numpy()
    systems, code = np.unique(np.array(numbers["system"].to_pylist(), dtype=object).astype(str), return_inverse=True)
    plain = np.bincount(code, rating) / np.bincount(code)
    first, second = np.argsort(-means.estimate, kind="stable")[:2]
    return noticed(
        "adjusted-for", severity="warning" if asked.covariates else "note", names=list(asked.beside),
        first=str(systems[first]), second=str(systems[second]), raw=float(plain[first] - plain[second]),
        adjusted=float(means.estimate[first] - means.estimate[second]),
    )  # fmt: skip


def _thin(names: Sequence[str], counts: np.ndarray) -> list[Finding]:
    """Say which systems have hardly any ratings, beside others that have more."""
    thin = [name for name, n in zip(names, counts, strict=True) if n < FEW_RATINGS <= counts.max() / 2]
    verb = "has" if len(thin) == 1 else "have"
    return [noticed("few-ratings-of-system", names=thin, verb=verb, n=int(counts.min()))] if thin else []


def _points_analysis(ready: pa.Table, criterion: str | None, scale: Scale, asked: Request) -> Analysis:
    """Compare expected ratings by linear models; the ordinal model's own test stands beside them."""
    notes: list[Finding] = list(_missing_roles(ready)) if asked.formula is None else []
    numbers = _as_numbers(ready, scale)
    rating = numbers["rating"].to_numpy()
    systems, system = np.unique(np.array(ready["system"].to_pylist(), dtype=object).astype(str), return_inverse=True)
    names = tuple(map(str, systems))
    groups = {} if asked.model in ("clm", "lm") else _groups(ready, asked.document)
    if asked.document is not None and asked.document != DOCUMENT:
        numbers = _under(numbers, asked.document, DOCUMENT)
    fitter = linear_fitter(asked.engine, asked.timeout, notes)
    beside = {name: _values(ready[name]) for name in asked.beside}
    if asked.formula is not None:
        _check_formula(asked.formula, ready)
        linear = "lmer" if parse(asked.formula, ready.column_names).random else "lm"
        means = means_of(fitter(linear, asked.formula, numbers), asked.formula)
    else:
        means = expected_ratings(rating, system, names, groups, fitter, beside)
        constant = np.array([np.ptp(rating[system == k]) == 0 for k in range(len(names))])
        estimate = np.where(constant, [rating[system == k].mean() for k in range(len(names))], means.estimate)
        error = np.where(constant, np.nan, means.std_error)
        means = replace(means, estimate=estimate, std_error=error)
    if means.problem:
        notes.append(noticed("plain-means", reason=means.problem))
    pairs = ranked_pairs(means.estimate, None if asked.reference is None else names.index(asked.reference))
    if asked.formula is not None:
        tests = [one for i, j in pairs if (one := means.pair(i, j)) is not None]
        if len(tests) < len(pairs):
            raise FitError(f"{asked.formula} has no standard errors of its differences")
    else:
        widest = float(scale.scores[-1] - scale.scores[0])
        tests = point_tests(rating, system, groups, pairs, means, widest, fitter, beside)
    if all(one.test == "none" for one in tests):
        raise InputError(tests[0].problem)
    unknown = [f"{names[i]} and {names[j]}" for (i, j), one in zip(pairs, tests, strict=True) if one.test == "none"]
    if unknown:
        notes.append(noticed("not-compared", pairs="; ".join(unknown)))
    notes += _thin(names, np.bincount(system))
    if DOCUMENT in groups:
        number = int(groups[DOCUMENT].max()) + 1
        notes.append(noticed("items-within-documents", column=asked.document, n=number))
    notes += _beside_the_system(asked, means, numbers, fitter)
    if asked.magnitude:
        notes += [noticed("magnitudes"), *([] if "participant" in groups else [noticed("modulus-unknown")])]
    if asked.quick and scale.ordinal:
        notes.append(noticed("quick-answer", open="what R's ordinal model says of the same pairs"))
    latent, said = _beside(ready, scale, pairs, names, asked)
    low, high = _mean_limits(scale, means, asked.conf_level)
    return Analysis(
        criterion=criterion,
        ratings=ready,
        scale=scale,
        estimand="points",
        systems=names,
        mean=means.estimate,
        mean_error=means.std_error,
        mean_low=low,
        mean_high=high,
        covariance=means.covariance,
        differences=_differences(pairs, tests, means),
        spread=np.array([rating[system == k].var() for k in range(len(names))]),
        formula=tests[0].formula or means.formula if len(names) == 2 else means.formula,
        model="lm" if means.fit is None or means.fit.problem.model == "lm" else "lmer",
        fit=means.fit,
        latent=latent,
        about={name: number for one in tests for name, number in one.about.items()},
        notes=tuple(dict.fromkeys((*notes, *said))),
    )


def _values(column: pa.ChunkedArray) -> np.ndarray:
    """Return names as text, numbers as they are."""
    values = np.array(column.to_pylist(), dtype=object)
    return values.astype(float) if pa.types.is_floating(column.type) else values.astype(str)


def _groups(ready: pa.Table, document: str | None = None) -> dict[str, np.ndarray]:
    """Return the codes of participants, items and what these belong to, where there are such."""
    present = {name: name for name in ("participant", "item") if name in ready.column_names}
    if document is not None:
        present[DOCUMENT] = document
    return {
        group: np.unique(np.array(ready[name].to_pylist(), dtype=object).astype(str), return_inverse=True)[1]
        for group, name in present.items()
    }


def _under(table: pa.Table, column: str, name: str) -> pa.Table:
    """Return a table with a column under another name, too."""
    kept = table.drop_columns([name]) if name in table.column_names else table
    return kept.append_column(name, table[column])


def _missing_roles(ready: pa.Table) -> list[Finding]:
    return [noticed("no-column-for", role=role) for role in ("participant", "item") if role not in ready.column_names]


def _differences(pairs: Sequence[tuple[int, int]], tests: Sequence[PairTest], means: ExpectedRatings) -> Differences:
    return Differences(
        pairs=tuple(pairs),
        estimate=np.array([one.difference for one in tests]),
        error=np.array([one.std_error for one in tests]),
        p_value=np.array([one.p_value for one in tests]),
        df=np.array([one.df for one in tests]),
        correlation=correlation(means.covariance, pairs),
        tests=tuple(one.test for one in tests),
        intervals=tuple(None if one.exact is None else one.exact.limits for one in tests),
        least=tuple(0.0 if one.exact is None else one.exact.least for one in tests),
    )


def _beside(
    ready: pa.Table, scale: Scale, pairs: Sequence[tuple[int, int]], names: Sequence[str], asked: Request
) -> tuple[Latent | None, list[Finding]]:
    """Return R's own test of the ordinal model, and what there is to say; nothing computed is lost if it fails."""
    if not (asked.wants_ordinal and (scale.ordinal or asked.model is not None)) or len(scale.labels) == 1:
        return None, []
    if separated := _separated(ready, scale):
        return None, [noticed("no-latent-difference", what=_in_words(separated[0]))]
    try:
        ready = _in_categories(ready, scale)
        structure = _structure(ready, scale, asked)
        fit, notes = _fitted(ready, structure, asked)
        found = effects(fit, "system", on="latent")
        if fit.estimates.dropped or not np.isfinite(found.estimate).all():
            raise FitError(f"{fit.problem.formula} has no finite latent differences")
    except (FitError, InputError, np.linalg.LinAlgError) as failure:
        return None, [noticed("no-ordinal-answer", reason=str(failure))]
    place = {name: found.cells.index(name) for name in names}
    differences, _, _ = latent_differences(fit, found, [(place[names[i]], place[names[j]]) for i, j in pairs], "wald")
    notes += [one for one in fit.estimates.findings if one.code == LAPLACE]
    return Latent(fit, differences.estimate, differences.error, differences.p_value), notes


def _latent_analysis(ready: pa.Table, criterion: str | None, scale: Scale, asked: Request) -> Analysis:
    """Compare systems on the latent scale of an ordinal model."""
    ratings, ready = ready, _in_categories(ready, scale)
    structure = _structure(ready, scale, asked)
    if len(scale.labels) == 1:
        raise InputError(f"all ratings are {scale.labels[0]}, so there is nothing to compare on the latent scale")
    separated = _separated(ready, scale)
    fit, notes = _fitted(ready, structure, asked, bool(separated))
    notes += [one for one in fit.estimates.findings if one.code == LAPLACE]
    if separated:
        notes.append(noticed("latent-separated", what=_in_words(separated[0])))
    test = latent_test(fit, bool(structure.few), bool(separated), asked.test)
    if asked.quick and asked.test == "auto" and test in ("bootstrap", "lrt"):
        notes.append(noticed("quick-answer", open=f"the {OPEN[test]}"))
        test = "wald" if fit.problem.model == "clm" else "t"
    found = effects(fit, "system", on="latent")
    if fit.estimates.dropped or not np.isfinite(found.estimate).all():
        raise FitError(f"{fit.problem.formula} has no finite latent differences")
    k, names = len(found.cells), found.cells
    pairs = ranked_pairs(found.estimate[:k], None if asked.reference is None else names.index(asked.reference))
    alpha = 1.0 - asked.conf_level
    resampling = Resampling(
        asked.draws, (alpha / (asked.criteria * len(pairs)), alpha), structure.balanced,
        asked.criteria * (1 if structure.balanced else len(pairs)), asked.seed, asked.jobs, asked.store, asked.progress,
    )  # fmt: skip
    df = _student(fit, found, pairs) if needs_student(fit) or test == "t" else None
    student = None if df is None else StudentDf(df.df[k:], df.notes)
    compared, said, draws = latent_differences(fit, found, pairs, test, student, resampling)
    error = np.sqrt(np.maximum(np.diag(found.covariance)[:k], 0.0))
    width = _quantile(asked.conf_level, np.full(k, np.inf) if df is None else df.df[:k]) * error
    mean = found.estimate[:k]
    sizes = {term.group: len(term.levels) for term in fit.estimates.random if ":" not in term.group}
    few = structure.few or tuple(group for group, levels in sizes.items() if levels < FEW)
    return Analysis(
        criterion=criterion,
        ratings=ratings,
        scale=scale,
        estimand="latent",
        systems=names,
        mean=mean,
        mean_error=error,
        mean_low=mean - width,
        mean_high=mean + width,
        covariance=found.covariance[:k, :k],
        differences=compared,
        spread=latent_spread(fit),
        formula=str(fit.problem.formula),
        model=fit.problem.model,
        fit=fit,
        latent=_wald(fit, found, pairs),
        about=_about(ready),
        draws=draws,
        few=tuple(f"{sizes[group]} {group}s" for group in few if group in sizes),
        notes=tuple(dict.fromkeys((*structure.notes, *notes, *said))),
    )


def _in_categories(ready: pa.Table, scale: Scale) -> pa.Table:
    """Return the ratings as an ordinal model takes them."""
    if scale.kind != "slider":
        return ready
    grid = on_grid(ready["rating"].combine_chunks())
    return ready.set_column(ready.column_names.index("rating"), "rating", grid)


def _wald(fit: Fit, found: Effects, pairs: Sequence[tuple[int, int]]) -> Latent:
    printed, _, _ = latent_differences(fit, found, pairs, "wald")
    return Latent(fit, printed.estimate, printed.error, printed.p_value)


def _about(ready: pa.Table) -> dict[str, int]:
    levels = {name: int(codes.max()) + 1 for name, codes in _groups(ready).items()}
    return {name: number for name, number in levels.items() if number <= 2}


def _student(fit: Fit, found: Effects, pairs: Sequence[tuple[int, int]]) -> StudentDf:
    """Return the degrees of freedom of latent means, then of the pairs."""
    between = np.array([found.combinations[i] - found.combinations[j] for i, j in pairs])
    L = np.vstack([found.combinations, between])
    L = np.column_stack([np.repeat([1.0, 0.0], [len(found.cells), len(pairs)]), L])
    return degrees_of_freedom(fit, L)


def _as_numbers(ratings: pa.Table, scale: Scale) -> pa.Table:
    """Return the ratings as the numbers that they count as."""
    column = ratings["rating"].combine_chunks()
    if isinstance(column, pa.DictionaryArray):
        column = column.cast(pa.string())
    return ratings.set_column(ratings.column_names.index("rating"), "rating", pc.cast(column, pa.float64()))


def _check_formula(formula: str, ready: pa.Table) -> None:
    if "system" not in parse(formula, ready.column_names).columns:
        raise InputError(f"{arg('formula', formula)} does not name the column 'system', which is to be compared")


def _structure(ready: pa.Table, scale: Scale, asked: Request) -> ChosenModel:
    """Return the ordinal model that the user wants, or the one that the design asks for."""
    if asked.formula is not None:
        _check_formula(asked.formula, ready)
        mixed = bool(parse(asked.formula, ready.column_names).random)
        usual = (
            ("clmm" if mixed else "clm") if scale.ordinal or asked.estimand == "latent" else ("lmer" if mixed else "lm")
        )
        return ChosenModel(asked.model or usual, (asked.formula,))
    if asked.model is None:
        as_asked = replace(scale, kind="ordinal") if asked.estimand == "latent" else scale
        return choose(ready, as_asked, asked.beside)
    if asked.model in ("clm", "lm"):
        return ChosenModel(asked.model, (f"rating ~ {' + '.join(['system', *map(quote, asked.beside)])}",))
    kind = "ordinal" if KINDS[asked.model].ordinal else "slider"
    as_asked = scale if KINDS[asked.model].ordinal == scale.ordinal else replace(scale, kind=kind)
    chosen = choose(ready, as_asked, asked.beside)
    if chosen.model != asked.model:
        raise InputError(
            f"{arg('model', asked.model)} needs participants or items with several ratings each, of which there are "
            f"none; use {chosen.model!r}"
        )
    return chosen


def _fitted(
    ready: pa.Table, structure: ChosenModel, asked: Request, separated: bool = False
) -> tuple[Fit, list[Finding]]:
    return first_to_trust(
        structure.model, structure.formulas, ready, engine=asked.engine, link=asked.link, timeout=asked.timeout,
        separated=separated,
    )  # fmt: skip


def _separated(ready: pa.Table, scale: Scale) -> list[Finding]:
    """Say which system is rated in such a way that no finite coefficient describes it."""
    used, codes = np.unique(_as_numbers(ready, scale)["rating"].to_numpy(), return_inverse=True)
    labels = dict(zip(scale.scores, scale.labels, strict=False))
    names = [labels.get(float(score), f"{score:g}") for score in used]
    systems = np.array(ready["system"].to_pylist(), dtype=object)
    counts = {
        str(system): np.bincount(codes[systems == system], minlength=len(used)).tolist()
        for system in dict.fromkeys(systems)
    }
    return separated_levels(names, counts, np.bincount(codes).tolist())


def _in_words(separated: Finding) -> str:
    values = separated.values
    return f"{values['level']} {values['how']} {values['rating']}".strip()


def _quantile(conf_level: float, df: np.ndarray) -> np.ndarray:
    from scipy import stats

    return np.asarray(stats.t.ppf(0.5 + conf_level / 2, df))


def _mean_limits(scale: Scale, means: ExpectedRatings, conf_level: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the intervals of expected ratings; none leaves a scale whose ends are known."""
    width = _quantile(conf_level, means.df) * means.std_error
    return np.maximum(means.estimate - width, scale.ends[0]), np.minimum(means.estimate + width, scale.ends[1])
