"""A third opinion on a clmm or clm: the posterior under weakly informative priors, by Hamiltonian Monte Carlo.

Both engines maximise Laplace's approximation to the likelihood of a clmm. The sampler uses the exact likelihood: it
draws the random effects together with the parameters. It needs ``pip install 'ordbridge[bayes]'`` (NumPyro).
"""

from ordbridge.bayes.opinion import ThirdOpinion, third_opinion

__all__ = ["ThirdOpinion", "third_opinion"]
