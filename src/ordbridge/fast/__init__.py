"""The native engine: the likelihoods of ordinal and lme4, without R and a hundred to thousands of times faster.

``ob.clmm(…, engine="fast")`` comes here through :func:`fit`; numba is imported at the first fit. The mathematics is in
``docs/fast-engine.md``.
"""

from ordbridge.fast.arrays import prepare
from ordbridge.fast.engine import fit, is_compiled, matrices, start

__all__ = ["fit", "is_compiled", "matrices", "prepare", "start"]
