"""Draws from the posterior: NumPyro's No-U-Turn sampler on the exact likelihood, random effects and all.

Random effects are L u with standard normal u and L the Cholesky factor of their covariance (the non-centred form), so
that small variances leave no funnel. Cut-points are sampled at the mean of the predictors and moved back.

References
----------
Hoffman, M. D. & Gelman, A. (2014). The No-U-Turn sampler. JMLR 15, 1593-1623.
Phan, D., Pradhan, N. & Jankowiak, M. (2019). Composable effects for flexible and accelerated probabilistic programming
in NumPyro. arXiv:1912.11554.
Vehtari, A., Gelman, A., Simpson, D., Carpenter, B. & Bürkner, P.-C. (2021). Rank-normalization, folding, and
localization: an improved R-hat. Bayesian Analysis 16, 667-718 (limits of R-hat and effective sample size).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ordbridge.bayes.density import RatedRows, log_likelihood
from ordbridge.bayes.priors import CONCENTRATION, DEGREES, Priors, priors_of
from ordbridge.errors import InputError

CHAINS = 4
WARM_UP = 1000  # per chain
ACCEPTANCE = 0.99  # small steps: variances near zero bend the posterior, and at 0.95 draws diverge there


@dataclass(frozen=True, eq=False)
class Chains:
    """Draws, chains × draws first: cut-points and coefficients, and per random term the Cholesky factors."""

    parameters: np.ndarray
    roots: tuple[np.ndarray, ...]
    divergences: int


def need_numpyro() -> None:
    """Refuse in a sentence where NumPyro is not installed."""
    try:
        import numpyro  # noqa: F401
    except ImportError:
        raise InputError("the Bayesian opinion needs NumPyro; install it: pip install 'ordbridge[bayes]'") from None


def sample(rows: RatedRows, draws: int, seed: int) -> Chains:
    """Return draws from the posterior, in all chains together ``draws``; the same for the same seed."""
    need_numpyro()
    import jax
    from numpyro.infer import MCMC, NUTS

    with jax.enable_x64(True):
        kernel = NUTS(partial(_model, rows, priors_of(rows)), target_accept_prob=ACCEPTANCE)
        runs = MCMC(
            kernel,
            num_warmup=WARM_UP,
            num_samples=max(1, draws // CHAINS),
            num_chains=CHAINS,
            chain_method="sequential",
            progress_bar=False,
        )
        runs.run(jax.random.PRNGKey(seed), extra_fields=("diverging",))
        found = {name: np.asarray(values) for name, values in runs.get_samples(group_by_chain=True).items()}
        divergences = int(np.asarray(runs.get_extra_fields()["diverging"]).sum())
    roots = tuple(found[f"root_{k}"] for k in range(len(rows.Z)))
    return Chains(np.concatenate([found["cutpoints"], found["coefficients"]], axis=-1), roots, divergences)


def diagnostics(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the split R-hat and the effective sample size of each quantity; ``values`` is chains × draws × quantities.

    A quantity that never changes has neither: a chain that did not move.
    """
    from numpyro.diagnostics import effective_sample_size, split_gelman_rubin

    return np.asarray(split_gelman_rubin(values)), np.asarray(effective_sample_size(values))


def _model(rows: RatedRows, priors: Priors) -> None:
    import jax.numpy as jnp
    import numpyro
    from numpyro import distributions as dist

    centre = np.average(rows.X, axis=0, weights=rows.weights)
    beta = numpyro.sample("standard", dist.Normal(0.0, 1.0).expand([rows.X.shape[1]]).to_event(1)) * priors.coefficients
    in_order = dist.ImproperUniform(dist.constraints.ordered_vector, (), (rows.cuts,))
    middle = numpyro.sample("middle", in_order)
    numpyro.factor("of cut-points", dist.StudentT(DEGREES, 0.0, priors.cutpoints).log_prob(middle).sum())
    eta = (rows.X - centre) @ beta + rows.offset
    for k, (Z, level, levels) in enumerate(zip(rows.Z, rows.level, rows.levels, strict=True)):
        L = _root(k, priors.deviations[k])
        u = numpyro.sample(f"effects_{k}", dist.Normal(0.0, 1.0).expand([levels, Z.shape[1]]).to_event(2))
        eta = eta + (Z * (u @ L.T)[level]).sum(axis=1)
    numpyro.factor("of ratings", log_likelihood(rows, middle, eta, jnp))
    numpyro.deterministic("coefficients", beta)
    numpyro.deterministic("cutpoints", middle + centre @ beta)


def _root(k: int, scale: np.ndarray) -> Any:
    """Draw the Cholesky factor of a random term's covariance."""
    import numpyro
    from numpyro import distributions as dist

    sd = numpyro.sample(f"sd_{k}", dist.FoldedDistribution(dist.StudentT(DEGREES, 0.0, scale)).to_event(1))
    L = sd[:, None]
    if scale.size > 1:
        L = L * numpyro.sample(f"correlation_{k}", dist.LKJCholesky(scale.size, CONCENTRATION))
    return numpyro.deterministic(f"root_{k}", L)
