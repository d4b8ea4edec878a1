"""The native engine: the likelihoods of ordinal and lme4, without R and a hundred to thousands of times faster.

``ob.clmm(…, engine="fast")`` comes here through :func:`fit`. Python prepares, decides and says what there is to say;
the inner loops are C++ (``src/core/``, module ``ordbridge._core``). The mathematics is in
``docs/fast-engine-tables.md``.
"""

from ordbridge.fast.engine import (
    degrees_of_freedom,
    f_test,
    fit,
    laplace_cost,
    log_probabilities,
    loglik,
    matrices,
    missing_loglik,
    profile,
    refuse,
    start,
)

__all__ = [
    "degrees_of_freedom",
    "f_test",
    "fit",
    "laplace_cost",
    "log_probabilities",
    "loglik",
    "matrices",
    "missing_loglik",
    "profile",
    "refuse",
    "start",
]
