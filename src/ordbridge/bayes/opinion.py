"""Both engines and the posterior beside each other, and what Laplace's approximation costs.

A posterior mean is not a maximum of the likelihood: priors and the uncertainty of variances move it, too. What the
approximation alone costs is seen by changing nothing else. The draws come from prior × L; at each of them
d = log L − log L_Laplace is computed (importance sampling, ``fast/laplace_shift.py``), and the weights exp(−d) turn
them into draws from prior × L_Laplace. The difference of the two means is the cost. Both come from the same draws, so
it is known far better than either of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from ordbridge.bayes.density import rows_of
from ordbridge.bayes.sampling import CHAINS, Chains, diagnostics, need_numpyro, sample
from ordbridge.errors import BridgeError, FitError, InputError
from ordbridge.models.engines import ENGINES, engine_module
from ordbridge.models.fit import Fit
from ordbridge.models.problem import Estimates, Problem
from ordbridge.support.arguments import proportion, whole
from ordbridge.support.naming import arg

MOST_R_HAT, ENOUGH = 1.01, 400  # Vehtari et al. (2021): R-hat at most, effective draws at least
REWEIGHTED, PAIRS = 2000, 100  # draws at which d is computed at most, and its own pairs of draws
NOWHERE = 0.01  # share of the draws that may have no approximation
USEFUL = 0.1  # share of the draws that the weights must leave


@dataclass(frozen=True, eq=False)
class ThirdOpinion:
    """Both engines and the posterior.

    Attributes
    ----------
    table
        One row per parameter: effect (``"threshold"``, ``"fixed"``, ``"sd"``, ``"correlation"``), group, term; ``r``,
        ``r_std_error``, ``fast``, ``fast_std_error``: the engines' estimates; ``exact``: the maximum of the exact
        likelihood, from :meth:`ordbridge.Fit.check_laplace`; ``mean``, ``sd``, ``low``, ``high``: the posterior's mean,
        standard deviation and central interval; ``laplace_cost``: what the approximation adds to the posterior mean,
        with ``laplace_cost_mc_error``; ``r_hat`` and ``effective_draws``. What is not known is null.
    chains, draws, divergences
        Of the sampler; ``draws`` in all chains together.
    conf_level
        Of the interval.
    notes
        What else there is to say, such as an engine that failed.
    """

    table: pa.Table
    chains: int
    draws: int
    divergences: int
    conf_level: float
    notes: tuple[str, ...] = ()

    @property
    def trusted(self) -> bool:
        """Whether R-hat, effective draws and divergences are as they should be."""
        return self._doubts() == []

    @property
    def sentences(self) -> tuple[str, ...]:
        """The same in words: whether to trust the sampler, and each coefficient."""
        doubts = self._doubts()
        sampled = f"{self.draws} draws in {self.chains} chains"
        r_hat, effective = self._worst()
        first = (
            f"The sampling is not to be trusted ({sampled}): {'; '.join(doubts)}. Take more draws; if that does not "
            "help, use fewer random effects."
            if doubts
            else f"The sampling ({sampled}) shows nothing to doubt: R-hat at most {r_hat:.3f}, at least "
            f"{effective:.0f} effective draws, no divergences."
        )
        rows = [row for row in self.table.to_pylist() if row["effect"] == "fixed"]
        return (first, *self.notes, *map(self._sentence, rows))

    def __str__(self) -> str:
        """Return the sentences."""
        return "\n".join(self.sentences)

    def _worst(self) -> tuple[float, float]:
        r_hat, effective = (np.array(self.table[name].to_pylist(), float) for name in ("r_hat", "effective_draws"))
        return float(r_hat.max()), float(effective.min())  # NaN of chains that never moved is the worst

    def _doubts(self) -> list[str]:
        r_hat, effective = self._worst()
        said = []
        if not r_hat <= MOST_R_HAT:
            said.append(f"R-hat is up to {r_hat:.3f}, above {MOST_R_HAT}")
        if not effective >= ENOUGH:
            said.append(f"a parameter has {effective:.0f} effective draws, fewer than {ENOUGH}")
        if self.divergences:
            said.append(f"{self.divergences} of the {self.draws} draws diverged")
        return said

    def _sentence(self, row: dict) -> str:
        engines = []
        for engine, name in (("r", "R has"), ("fast", "the fast engine has")):
            if row[engine] is not None:
                error = row[f"{engine}_std_error"]
                known = "no standard error" if error is None else f"standard error {error:.3g}"
                engines.append(f"{name} {row[engine]:.4g} ({known})")
        text = (
            f"{row['term']}: posterior mean {row['mean']:.4g} (standard deviation {row['sd']:.3g}, "
            f"{100 * self.conf_level:g}% interval {row['low']:.3g} to {row['high']:.3g}); {', '.join(engines)}"
        )
        if row["laplace_cost"] is not None:
            cost, error = row["laplace_cost"] / row["sd"], row["laplace_cost_mc_error"] / row["sd"]
            text += (
                f"; with Laplace's approximation in place of the likelihood the posterior mean would be "
                f"{abs(cost):.3f} posterior standard deviations (± {error:.3f}) {'higher' if cost >= 0 else 'lower'}"
            )
        return f"{text}."


def third_opinion(fit: Fit, draws: int = 4000, seed: int = 0, conf_level: float = 0.95) -> ThirdOpinion:
    """Fit a clmm or clm by both engines and by Bayes, and say what Laplace's approximation costs.

    Needs ``pip install 'ordbridge[bayes]'``. The priors are in :mod:`ordbridge.bayes.priors`.

    Parameters
    ----------
    fit
        A clm or clmm with flexible thresholds, any link and random effects, by either engine; weights and offsets are
        taken over, scale and nominal effects refused. The other engine fits the same problem.
    draws
        From the posterior, in four chains together, after 1,000 draws in each that are thrown away.
    seed
        Of all random numbers.
    conf_level
        Of the posterior interval.

    References
    ----------
    Hoffman, M. D. & Gelman, A. (2014). The No-U-Turn sampler. JMLR 15, 1593-1623.
    Vehtari, A. et al. (2021). Rank-normalization, folding, and localization: an improved R-hat. Bayesian Analysis 16.

    Examples
    --------
    >>> import ordbridge as ob
    >>> ratings = {"rating": [1, 2, 1, 3, 2, 3, 3, 3, 1, 1, 2, 2, 1, 3, 2, 2], "system": list("AABB" * 4),
    ...            "participant": list("ppppqqqqrrrrssss")}
    >>> fit = ob.clmm("rating ~ system + (1 | participant)", ratings, link="probit", engine="fast")
    >>> found = ob.bayes.third_opinion(fit)  # doctest: +SKIP
    >>> print(found)  # doctest: +SKIP
    The sampling (4000 draws in 4 chains) shows nothing to doubt: R-hat at most 1.00, ...
    """
    _refuse(fit.problem)
    whole("draws", draws, 4 * CHAINS)
    whole("seed", seed, 0)
    proportion("conf_level", conf_level)
    need_numpyro()
    estimates, notes = _both_engines(fit)
    native = replace(fit, estimates=estimates["fast"], engine="fast")
    chains = sample(rows_of(native), draws, seed)
    columns = _labels(native.estimates) | _engines(native.estimates, estimates)
    columns |= {"exact": _exact_maximum(native, seed)}
    values = _quantities(chains)
    tail = 50.0 * (1.0 - conf_level)
    columns |= {
        "mean": values.mean(axis=(0, 1)),
        "sd": values.std(axis=(0, 1), ddof=1),
        "low": np.percentile(values, tail, axis=(0, 1)),
        "high": np.percentile(values, 100.0 - tail, axis=(0, 1)),
    }
    columns["laplace_cost"], columns["laplace_cost_mc_error"] = _laplace_cost(fit.problem, chains, values, seed)
    columns["r_hat"], columns["effective_draws"] = diagnostics(values)
    table = pa.table({name: pa.array(column, from_pandas=True) for name, column in columns.items()})
    return ThirdOpinion(table, CHAINS, values.shape[0] * values.shape[1], chains.divergences, conf_level, notes)


def _refuse(problem: Problem) -> None:
    if not problem.ordinal:
        raise InputError(
            f"a third opinion is for clmm and clm: the likelihood of {problem.model} is not approximated, "
            "so there is nothing that a sampler could find"
        )
    if problem.threshold != "flexible":
        raise InputError(f"a third opinion needs {arg('threshold', 'flexible')}, not {problem.threshold!r}")
    for name in ("scale", "nominal"):
        if getattr(problem, name):
            raise InputError(f"a third opinion has no {name} effects; leave {arg(name)} out")


def _both_engines(fit: Fit) -> tuple[dict[str, Estimates], tuple[str, ...]]:
    """Return the estimates of both engines; R may fail, because the sampler does not need it."""
    found = {fit.engine: fit.estimates}
    notes = []
    for engine in ENGINES:
        if engine not in found:
            try:
                found[engine] = engine_module(engine).fit(fit.problem)
            except (BridgeError, FitError, InputError) as failure:
                if engine == "fast":
                    raise
                notes.append(f"R has no numbers: {failure}.")
        if engine in found and not found[engine].converged:
            notes.append(f"{'R' if engine == 'r' else 'The fast engine'} did not converge: do not trust its numbers.")
    return found, tuple(notes)


def _labels(e: Estimates) -> dict[str, list]:
    """Return effect, group and term of every quantity: the coefficients, and per random term sds and correlations."""
    rows: list[tuple[str, str | None, str]] = [
        (kind, None, term) for kind, term in zip(e.effects, e.terms, strict=True)
    ]
    for term in e.random:
        rows += [("sd", term.group, name) for name in term.terms]
        rows += [("correlation", term.group, f"{term.terms[b]}, {term.terms[a]}") for a, b in _below(len(term.terms))]
    return {name: [row[k] for row in rows] for k, name in enumerate(("effect", "group", "term"))}


def _below(size: int) -> list[tuple[int, int]]:
    return [(a, b) for a in range(size) for b in range(a)]


def _of_covariance(covariance: np.ndarray) -> list[np.ndarray]:
    """Return standard deviations and correlations of covariance matrices, in the order of the labels."""
    sd = np.sqrt(np.diagonal(covariance, axis1=-2, axis2=-1))
    size = covariance.shape[-1]
    with np.errstate(invalid="ignore", divide="ignore"):
        correlations = [covariance[..., a, b] / (sd[..., a] * sd[..., b]) for a, b in _below(size)]
    return [sd[..., a] for a in range(size)] + correlations


def _engines(native: Estimates, estimates: dict[str, Estimates]) -> dict[str, np.ndarray]:
    """Return estimates and standard errors of both engines, by name; variances have no standard error."""
    order = list(zip(*_labels(native).values(), strict=True))
    columns = {}
    for engine in ENGINES:
        value, error = dict.fromkeys(order, np.nan), dict.fromkeys(order, np.nan)
        if engine in estimates:
            e = estimates[engine]
            own = list(zip(*_labels(e).values(), strict=True))
            numbers = [*e.estimate, *(v for term in e.random for v in _of_covariance(term.covariance))]
            value |= dict(zip(own, numbers, strict=True))
            error |= dict(zip(own, e.std_error, strict=False))  # sds and correlations come after and have none
        columns[engine] = np.array([value[key] for key in order], float)
        columns[f"{engine}_std_error"] = np.array([error[key] for key in order], float)
    return columns


def _quantities(chains: Chains) -> np.ndarray:
    """Return chains × draws × quantities, in the order of the labels."""
    parts = [chains.parameters]
    for L in chains.roots:
        parts += [values[..., None] for values in _of_covariance(L @ np.swapaxes(L, -1, -2))]
    return np.concatenate(parts, axis=-1)


def _approximated(problem: Problem) -> bool:
    return problem.model == "clmm" and problem.nAGQ == 1


def _exact_maximum(native: Fit, seed: int) -> np.ndarray:
    """Return the maximum of the exact likelihood for every coefficient; NaN for what check_laplace does not know."""
    e = native.estimates
    found = np.full(len(_labels(e)["term"]), np.nan)
    if not e.random:
        found[: e.estimate.size] = e.estimate  # nothing is approximated
    elif _approximated(native.problem) and e.converged:
        table = native.check_laplace(seed=seed).table
        moved = [np.nan if shift is None else shift for shift in table["shift"].to_pylist()]
        fixed = e.having("fixed")
        found[np.flatnonzero(fixed)] = e.estimate[fixed] + np.array(moved, float)
    return found


def _laplace_cost(problem: Problem, chains: Chains, values: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return what the approximation adds to each posterior mean, and the Monte Carlo error of that."""
    nothing = np.full(values.shape[-1], np.nan)
    if not _approximated(problem):
        return nothing, nothing
    every = slice(None, None, -(-values.shape[0] * values.shape[1] // REWEIGHTED))
    own = values[:, every]
    points = own.shape[0] * own.shape[1]
    parameters, *roots = (p[:, every].reshape(points, *p.shape[2:]) for p in (chains.parameters, *chains.roots))
    missing = engine_module("fast").missing_loglik(problem, parameters, roots, PAIRS, seed).reshape(own.shape[:2])
    known = np.isfinite(missing)
    if not known.mean() > 1.0 - NOWHERE:
        return nothing, nothing
    weight = np.where(known, np.exp(missing[known].min() - missing), 0.0)
    if not weight.sum() ** 2 > USEFUL * points * (weight**2).sum():
        return nothing, nothing
    influence = (weight / weight.mean() - 1.0)[..., None] * (own - own.mean(axis=(0, 1)))
    _, effective = diagnostics(influence)
    return influence.mean(axis=(0, 1)), influence.std(axis=(0, 1), ddof=1) / np.sqrt(effective)
