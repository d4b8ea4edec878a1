"""Can these raters be trusted? Agreement, correlation, intervals for scarce scores, comparison of rating scales.

The module can be called: ``ordbridge.reliability("ratings.csv")`` is :func:`analyse`.
"""

import sys
from types import ModuleType
from typing import Any

from ordbridge.reliability.agreement import (
    brennan_prediger,
    conger_kappa,
    fleiss_kappa,
    gwet_ac,
    percent_agreement,
)
from ordbridge.reliability.alpha import krippendorff_alpha
from ordbridge.reliability.analysis import analyse
from ordbridge.reliability.correlation import (
    goodman_kruskal_gamma,
    kendall_tau,
    kendall_w,
    pearson,
    spearman,
    test_retest,
)
from ordbridge.reliability.few_raters import FewScores, few_scores, margins, raters_needed, verdict_rates
from ordbridge.reliability.intervals import ArfInterval, TInterval, arf_interval, t_interval
from ordbridge.reliability.intraclass import cronbach_alpha, icc
from ordbridge.reliability.pair_agreement import cohen_kappa, davies_fleiss_kappa
from ordbridge.reliability.plan_by_reliability import ReliabilityPlan, plan
from ordbridge.reliability.ratings import Ratings, prepare
from ordbridge.reliability.records import Coefficient
from ordbridge.reliability.result import Reliability
from ordbridge.reliability.sample_size import items_needed
from ordbridge.reliability.variance_components import Generalizability, generalizability
from ordbridge.reliability.within import accuracy, stability

__all__ = [
    "ArfInterval",
    "Coefficient",
    "FewScores",
    "Generalizability",
    "Ratings",
    "Reliability",
    "ReliabilityPlan",
    "TInterval",
    "accuracy",
    "analyse",
    "arf_interval",
    "brennan_prediger",
    "cohen_kappa",
    "conger_kappa",
    "cronbach_alpha",
    "davies_fleiss_kappa",
    "few_scores",
    "fleiss_kappa",
    "generalizability",
    "goodman_kruskal_gamma",
    "gwet_ac",
    "icc",
    "items_needed",
    "kendall_tau",
    "kendall_w",
    "krippendorff_alpha",
    "margins",
    "pearson",
    "percent_agreement",
    "plan",
    "prepare",
    "raters_needed",
    "spearman",
    "stability",
    "t_interval",
    "test_retest",
    "verdict_rates",
]


class _Reliability(ModuleType):
    """The module, which ``ordbridge.reliability(...)`` calls."""

    def __call__(self, source: Any, **options: Any) -> Reliability:
        return analyse(source, **options)

    @property
    def __signature__(self) -> Any:
        from inspect import signature

        return signature(analyse)


sys.modules[__name__].__class__ = _Reliability
