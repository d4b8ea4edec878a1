"""Can these raters be trusted? Agreement, correlation, intervals for scarce scores, comparison of rating scales."""

from ordbridge.reliability import plots, scales
from ordbridge.reliability.agreement import (
    cohen_kappa,
    davies_fleiss_kappa,
    fleiss_kappa,
    gwet_ac,
    percent_agreement,
)
from ordbridge.reliability.alpha import krippendorff_alpha
from ordbridge.reliability.analyse import Reliability, analyse
from ordbridge.reliability.correlation import (
    goodman_kruskal_gamma,
    kendall_tau,
    kendall_w,
    pearson,
    spearman,
    test_retest,
)
from ordbridge.reliability.icc import cronbach_alpha, icc
from ordbridge.reliability.intervals import ArfInterval, TInterval, arf_interval, margins, raters_needed, t_interval
from ordbridge.reliability.page import report
from ordbridge.reliability.ratings import Ratings, prepare
from ordbridge.reliability.records import Coefficient

__all__ = [
    "ArfInterval",
    "Coefficient",
    "Ratings",
    "Reliability",
    "TInterval",
    "analyse",
    "arf_interval",
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
    "margins",
    "pearson",
    "percent_agreement",
    "plots",
    "prepare",
    "raters_needed",
    "report",
    "scales",
    "spearman",
    "t_interval",
    "test_retest",
]
