"""Can these raters be trusted? Agreement, correlation, intervals for scarce scores, comparison of rating scales."""

from ordbridge.reliability.agreement import (
    cohen_kappa,
    davies_fleiss_kappa,
    fleiss_kappa,
    gwet_ac,
    krippendorff_alpha,
    percent_agreement,
)
from ordbridge.reliability.correlation import (
    goodman_kruskal_gamma,
    kendall_tau,
    kendall_w,
    pearson,
    spearman,
    test_retest,
)
from ordbridge.reliability.icc import cronbach_alpha, icc
from ordbridge.reliability.ratings import Ratings, prepare
from ordbridge.reliability.records import Coefficient

__all__ = [
    "Coefficient",
    "Ratings",
    "cohen_kappa",
    "cronbach_alpha",
    "davies_fleiss_kappa",
    "fleiss_kappa",
    "goodman_kruskal_gamma",
    "gwet_ac",
    "icc",
    "kendall_tau",
    "kendall_w",
    "krippendorff_alpha",
    "pearson",
    "percent_agreement",
    "prepare",
    "spearman",
    "test_retest",
]
