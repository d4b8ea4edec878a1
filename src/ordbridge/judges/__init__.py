"""Can a model replace some raters? A judge's ratings beside people's."""

from ordbridge.judges.alternative import AltTest, ClusteredAltTest, alt_test
from ordbridge.judges.analysis import JudgeAnalysis, analyse
from ordbridge.judges.judge_agreement import JudgeAgreement, agreement
from ordbridge.judges.judged import Columns, judges_in
from ordbridge.judges.prediction_powered import JudgeEstimates, estimate
from ordbridge.judges.saving import JudgePlan, plan

__all__ = [
    "AltTest",
    "ClusteredAltTest",
    "Columns",
    "JudgeAgreement",
    "JudgeAnalysis",
    "JudgeEstimates",
    "JudgePlan",
    "agreement",
    "alt_test",
    "analyse",
    "estimate",
    "judges_in",
    "plan",
]
