"""Rating scales for the same texts: which of them is more reliable, stable, sensitive, valid.

The measures are those of Belz & Kow (2011), who compared seven named categories with a slider from 0 to 100. Tables
take one row per rating, with columns for system, item, rater and rating.
"""

from ordbridge.reliability.scale_power import power
from ordbridge.reliability.scales.api import SystemCorrelation, compare, stability, validity
from ordbridge.reliability.scales.factors import POSTHOC
from ordbridge.reliability.scales.result import ScaleComparison

__all__ = ["POSTHOC", "ScaleComparison", "SystemCorrelation", "compare", "power", "stability", "validity"]
