"""Rating scales for the same texts: which of them is more reliable, stable, sensitive, valid.

The measures are those of Belz & Kow (2011), who compared seven named categories with a slider from 0 to 100. Tables
take one row per rating, with columns for system, item, rater and rating.
"""

from ordbridge.scales.api import SystemCorrelation, compare, stability, validity
from ordbridge.scales.factors import POSTHOC
from ordbridge.scales.power_by_scale import power
from ordbridge.scales.result import ScaleComparison

__all__ = ["POSTHOC", "ScaleComparison", "SystemCorrelation", "compare", "power", "stability", "validity"]
