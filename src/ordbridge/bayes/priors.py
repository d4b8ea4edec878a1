"""The priors, all of them: weak enough to leave the data the say, tight enough that a posterior exists.

With s the standard deviation of the link's residual (1 for probit, 1.8 for logit), in whose units the latent scale of
every link is comparable, as brms and rstanarm do it for links with s = 1:

    cut-points       Student t, 3 degrees of freedom, scale 2.5 s, in order, at the mean of the predictors
    coefficients     normal, standard deviation 2.5 s over the predictor's standard deviation
    standard         half Student t, 3 degrees of freedom, scale 2.5 s over the root mean square of the effect's
    deviations       column
    correlations     LKJ(1), which is uniform over correlation matrices

Dividing by the spread of a column makes the answer independent of its unit. An effect between two systems of 2.5 s
would move most ratings from one end of a scale to the other, so an effect that anybody studies lies well inside; the t
distributions have heavy tails for raters who nearly agree, and extreme thresholds.

References
----------
Bürkner, P.-C. (2017). brms: an R package for Bayesian multilevel models using Stan. JSS 80(1) (its defaults for
cut-points, standard deviations and correlations; its coefficients have flat priors).
Gelman, A. (2006). Prior distributions for variance parameters in hierarchical models. Bayesian Analysis 1, 515-534.
Lewandowski, D., Kurowicka, D. & Joe, H. (2009). Generating random correlation matrices based on vines and extended
onion method. Journal of Multivariate Analysis 100, 1989-2001.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ordbridge.bayes.density import RatedRows

SCALE = 2.5
DEGREES = 3.0
CONCENTRATION = 1.0
# A Cauchy residual has no standard deviation: the normal one's with the same quartiles stands for it.
RESIDUAL_SD = {
    "probit": 1.0,
    "logit": np.pi / np.sqrt(3.0),
    "cloglog": np.pi / np.sqrt(6.0),
    "loglog": np.pi / np.sqrt(6.0),
    "cauchit": 1.0 / 0.6744897501960817,
}


@dataclass(frozen=True, eq=False)
class Priors:
    """The scale of each prior: of the cut-points, of every coefficient, and per random term of its deviations."""

    cutpoints: float
    coefficients: np.ndarray
    deviations: tuple[np.ndarray, ...]


def priors_of(rows: RatedRows) -> Priors:
    """Return the scales of the priors for these rows.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [0.0], [1.0]])
    >>> rows = RatedRows("probit", np.array([0, 1, 1, 0]), 1, X, (), (), (), np.ones(4), np.zeros(4))
    >>> priors_of(rows).coefficients.tolist()
    [5.0]
    """
    width = SCALE * RESIDUAL_SD[rows.link]
    spread = rows.X.std(axis=0)
    deviations = tuple(width / np.sqrt((Z**2).mean(axis=0)) for Z in rows.Z)
    return Priors(width, width / np.where(spread > 0, spread, 1.0), deviations)
