"""Pictures. Every function returns a matplotlib Figure that belongs to no window; ``figure.savefig(path)`` keeps it."""

from ordbridge.figures.coefficients import forest
from ordbridge.figures.judges import judge_against_people
from ordbridge.figures.latent import implied_difference
from ordbridge.figures.moving_thresholds import thresholds
from ordbridge.figures.pairwise import differences
from ordbridge.figures.plan import plan_contours, plan_money
from ordbridge.figures.power import power_curves
from ordbridge.figures.raters import categories_used, d_study, pairs_heatmap, ratings_by_item, severity_and_consistency
from ordbridge.figures.rating_scales import scales
from ordbridge.figures.scale import scale_views
from ordbridge.figures.system_ratings import SystemRatings, systems

__all__ = [
    "SystemRatings",
    "categories_used",
    "d_study",
    "differences",
    "forest",
    "implied_difference",
    "judge_against_people",
    "pairs_heatmap",
    "plan_contours",
    "plan_money",
    "power_curves",
    "ratings_by_item",
    "scale_views",
    "scales",
    "severity_and_consistency",
    "systems",
    "thresholds",
]
