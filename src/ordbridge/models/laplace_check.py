"""Does the Laplace approximation hold for this clmm? Both engines maximise it, so comparing them cannot tell.

The likelihood integrates over random effects u, and Laplace puts a normal density with the mode and the curvature of
exp(-h(u)) in the integrand's place, where h(u) = sum_i -log P(y_i | u) + u'u / 2. For a level whose raters all agree,
or where nearly all ratings are in one category, exp(-h) has a long shoulder on one side, and a normal density misses
it. The optimum is then an optimum of the wrong function.

The check takes each level of each grouping factor, with all other levels at their modes, and along each principal axis
v of its curvature compares the integral with its approximation:

    c = log( integral exp(h(mode) - h(mode + t v)) dt / sqrt(2 pi / curvature) )

For one grouping factor with one effect the sum of c over levels is exactly log L - log L_Laplace. Quadrature costs
little compared with a fit: 41 nodes per level and axis. How often it finds a breakdown, and how often it raises a false
alarm, is measured by ``benchmarks/laplace_check.py`` and written down in ``docs/models.md``.

R's adaptive quadrature (``nAGQ``) puts its points where that normal density has them, so too few points fail on the
same data. It is for one grouping factor with one effect, where the likelihood is a product of single integrals: these
are computed on many more points, and the logarithms compared.

References
----------
Tierney, L. & Kadane, J. B. (1986). Accurate approximations for posterior moments and marginal densities. JASA 81.
Joe, H. (2008). Accuracy of Laplace approximation for discrete response mixed models. CSDA 52, 5066-5074.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ordbridge.formula import names
from ordbridge.models import predict as prediction
from ordbridge.models.engines import engine_module
from ordbridge.models.problem import Estimates, Matrices, Problem
from ordbridge.results.finding import Finding, found

# In log likelihood, of one level; beyond them tests reject too often (docs/models.md). Where the approximation is too
# high less is allowed, because that draws the optimum to itself.
TOO_LOW, TOO_HIGH = 0.2, -0.1
QUADRATURE_ERROR = 0.05  # in log likelihood, of all levels together; little, because more points cost little
NODES = np.linspace(-10.0, 10.0, 41)  # in standard deviations of the approximating normal density
AT_A_TIME = 30_000  # numbers of which an array has no more, if a row has fewer
BEYOND = 1e150  # stands for a cut-point at infinity
IMPOSSIBLE = np.log(1e-300)
DOUBLY, WIDTH = np.linspace(-8.0, 8.0, 321), 0.01  # u - mode = WIDTH sinh(s): from 5e-4 to 15
DIFFERENCE = 1e-3  # step of second differences on the latent scale
LAPLACE = "laplace-fails"
"""Code of the condition that the Laplace approximation does not hold."""


@dataclass(frozen=True, eq=False)
class GroupError:
    """How far the approximation is off for the levels of one grouping factor, in log likelihood."""

    group: str
    error: np.ndarray  # one per level
    largest_sd: float  # of the group's random effects


def check_laplace(problem: Problem, estimates: Estimates, rows: Matrices) -> tuple[Finding, ...]:
    """Return a warning for each grouping factor where the approximation breaks down."""
    said = []
    for group in laplace_errors(problem, estimates, rows):
        off = int(((group.error > TOO_LOW) | (group.error < TOO_HIGH)).sum())
        if off:
            said.append(found(LAPLACE, off=off, levels=group.error.size, group=group.group, sd=group.largest_sd))
    return tuple(said)


def check_quadrature(problem: Problem, estimates: Estimates, rows: Matrices) -> tuple[Finding, ...]:
    """Return a warning if a clmm with ``nAGQ`` above 1 has too few points for its likelihood."""
    error = estimates.loglik - _exact_loglik(problem, estimates, rows)
    if abs(error) <= QUADRATURE_ERROR:
        return ()
    [term] = estimates.random
    sd = float(np.sqrt(term.covariance[0, 0]))
    return (found("quadrature-fails", nAGQ=problem.nAGQ, error=float(error), group=term.group, sd=sd),)


def _exact_loglik(problem: Problem, found: Estimates, rows: Matrices) -> float:
    """Integrate out one random effect per level by the trapezoidal rule with points that thin out from the mode."""
    loss = _loss_at_modes(problem, found, rows)
    [term], [level] = found.random, rows.level
    sd = np.sqrt(term.covariance[0, 0])
    z = rows.Z[0][:, 0]
    mode = term.modes[:, 0] / max(sd, 1e-12)
    heights = []
    for s in DOUBLY:
        u = mode + WIDTH * np.sinh(s)
        loglik = -np.bincount(level, loss.at(z * (sd * u - term.modes[:, 0])[level]), u.size)
        heights.append(loglik - 0.5 * u**2 + np.log(WIDTH * np.cosh(s)))
    top = np.max(heights, axis=0)
    step = DOUBLY[1] - DOUBLY[0]
    return float((top + np.log(np.exp(np.array(heights) - top).sum(axis=0) * step / np.sqrt(2.0 * np.pi))).sum())


def laplace_errors(problem: Problem, found: Estimates, rows: Matrices) -> list[GroupError]:
    """Return the error of the approximation for every level of every grouping factor.

    Examples
    --------
    >>> import ordbridge as ob
    >>> ratings = {"rating": [1, 2, 1, 3, 2, 3, 3, 3, 1, 1, 2, 2, 1, 3, 2, 2], "participant": list("ppppqqqqrrrrssss")}
    >>> fit = ob.clmm("rating ~ 1 + (1 | participant)", ratings, engine="fast")
    >>> [group] = laplace_errors(fit.problem, fit.estimates, fit.matrices())
    >>> bool(abs(group.error).max() < 0.1)
    True
    """
    loss = _loss_at_modes(problem, found, rows)
    return [_group_error(loss, group, found, rows) for group in dict.fromkeys(term.group for term in found.random)]


def _loss_at_modes(problem: Problem, found: Estimates, rows: Matrices) -> _Loss:
    """Return the loss of every row, with all random effects at their modes."""
    [response] = names(problem.formula.response)
    weight = (
        np.ones(len(found.rows)) if problem.weights is None else problem.columns[problem.weights].values[found.rows]
    )
    answers = problem.columns[response].values[found.rows]
    used = np.unique(answers[weight > 0])
    category = np.where(weight > 0, np.searchsorted(used, answers), 0)
    place, infinite = np.arange(len(category)), np.full((len(category), 1), np.inf)
    edges = np.hstack([-infinite, prediction.cutpoints(found, rows), infinite])
    eta = prediction.location(found, rows)
    for Z, level, term in zip(rows.Z, rows.level, found.random, strict=True):
        eta = eta + np.einsum("ij,ij->i", Z, term.modes[level])
    upper, lower = edges[place, category + 1] - eta, edges[place, category] - eta
    return _Loss(str(problem.link), upper, lower, prediction.spread(found, rows), weight)


@dataclass(frozen=True, eq=False)
class _Loss:
    """-log probability of every row, and how it bends, as its linear predictor moves away from where it is."""

    link: str
    upper: np.ndarray
    lower: np.ndarray
    sigma: np.ndarray
    weight: np.ndarray

    def at(self, moved: np.ndarray | float) -> np.ndarray:
        ends = ((end - moved) / self.sigma for end in (self.upper, self.lower))
        upper, lower = (np.clip(end, -BEYOND, BEYOND) for end in ends)
        found = engine_module("fast").log_probabilities(self.link, upper, lower)
        return -self.weight * np.maximum(found, IMPOSSIBLE)

    def bend(self) -> np.ndarray:
        return (self.at(DIFFERENCE) + self.at(-DIFFERENCE) - 2.0 * self.at(0.0)) / DIFFERENCE**2


def _group_error(loss: _Loss, group: str, found: Estimates, rows: Matrices) -> GroupError:
    mine = [k for k, term in enumerate(found.random) if term.group == group]
    terms = [found.random[k] for k in mine]
    levels, level = len(terms[0].levels), rows.level[mine[0]]
    # u with covariance I: the columns of Z times a root of the covariance, without directions that have no variance
    z = np.hstack([rows.Z[k] @ _root(found.random[k].covariance) for k in mine])
    u = np.hstack([term.modes @ np.linalg.pinv(_root(term.covariance)).T for term in terms])
    error = np.zeros(levels)
    here = loss.at(0.0)
    curvature = np.tile(np.eye(z.shape[1]), (levels, 1, 1))
    np.add.at(curvature, level, loss.bend()[:, None, None] * z[:, :, None] * z[:, None, :])
    size, axes = np.linalg.eigh(curvature)
    sd = 1.0 / np.sqrt(np.maximum(size, 1.0))  # the prior alone has curvature 1; less is rounding
    together = max(1, AT_A_TIME // len(here))
    for a in range(z.shape[1]):
        axis = axes[:, :, a] * sd[:, a, None]
        along = np.einsum("ij,ij->i", z, axis[level])
        heights = np.empty((NODES.size, levels))
        slope = np.einsum("ij,ij->i", u, axis)
        for first in range(0, NODES.size, together):
            nodes = NODES[first : first + together, None]
            changes = loss.at(nodes * along) - here
            sums = [np.bincount(level, change, levels) for change in changes]
            heights[first : first + together] = -(np.array(sums) + nodes * slope + 0.5 * nodes**2 * sd[:, a] ** 2)
        top = heights.max(axis=0)
        step = NODES[1] - NODES[0]
        error += top + np.log(np.exp(heights - top).sum(axis=0) * step / np.sqrt(2.0 * np.pi))
    return GroupError(group, error, float(np.sqrt(max(np.diag(term.covariance).max() for term in terms))))


def _root(covariance: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(covariance)
    some = values > 1e-8 * max(values[-1], 1e-8)
    return vectors[:, some] * np.sqrt(values[some])
