"""Pictures. Every function returns a matplotlib Figure that belongs to no window; ``figure.savefig(path)`` keeps it."""

from ordbridge.render.figures.coefficients import forest
from ordbridge.render.figures.judges import judge_against_people
from ordbridge.render.figures.moving_thresholds import thresholds
from ordbridge.render.figures.pairwise import differences
from ordbridge.render.figures.plan import plan_contours, plan_money
from ordbridge.render.figures.power import power_curves
from ordbridge.render.figures.preferences import pair_matrix, win_rates
from ordbridge.render.figures.raters import (
    categories_used,
    d_study,
    leniency_and_consistency,
    pairs_heatmap,
    ratings_by_item,
)
from ordbridge.render.figures.rating_scales import scales
from ordbridge.render.figures.reliability import agreement_and_reliability
from ordbridge.render.figures.scale import scale_views
from ordbridge.render.figures.system_ratings import SystemRatings, systems

__all__ = [
    "SystemRatings",
    "agreement_and_reliability",
    "categories_used",
    "d_study",
    "differences",
    "forest",
    "judge_against_people",
    "leniency_and_consistency",
    "pair_matrix",
    "pairs_heatmap",
    "plan_contours",
    "plan_money",
    "power_curves",
    "ratings_by_item",
    "scale_views",
    "scales",
    "systems",
    "thresholds",
    "win_rates",
]
