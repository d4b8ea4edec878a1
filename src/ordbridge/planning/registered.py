"""The text of a pre-registration, from a plan: what will be done, said before there are data."""

from __future__ import annotations

from collections.abc import Sequence

from ordbridge.errors import InputError
from ordbridge.planning.protocol import Protocol
from ordbridge.planning.result import Plan


def preregistration(plan: Plan) -> str:
    """Return a pre-registration in Markdown: hypothesis, design, sample size, model, test, stopping rule, exclusions.

    It has what a plan knows. What only the authors know, such as the instructions to raters, is left to them and marked
    in square brackets.

    References
    ----------
    van Miltenburg, E., van der Lee, C. & Krahmer, E. (2021). Preregistering NLP research. *Proceedings of NAACL*,
    613–623.

    Examples
    --------
    >>> import ordbridge as ob
    >>> from ordbridge.planning import PlannedAnalysis, Designs, Simulation
    >>> truth = ob.simulate.Truth(effects=(1.0,), thresholds=(-1, 0, 1))
    >>> size, few = Designs(20, 2, texts_per_participant=10), Simulation(max_per_design=50, null_datasets=0)
    >>> one = ob.plan(truth, analysis=PlannedAnalysis("lm"), designs=size, simulation=few)
    >>> preregistration(one).splitlines()[0]
    '# Pre-registration: B against A'
    """
    protocol = plan.protocol
    if protocol is None:
        raise InputError("this plan recommends no design, so there is nothing to register; widen its range first")
    parts = [
        ("Hypothesis", _hypothesis(plan, protocol)),
        ("Design", _design(protocol)),
        ("Sample size and its reason", _size(plan, protocol)),
        ("Model", _model(protocol)),
        ("Test", _test(protocol)),
        ("Stopping rule", _stopping(protocol)),
        ("Exclusions", _exclusions(protocol)),
    ]
    text = [f"# Pre-registration: {plan.settings['test']}"]
    for heading, sentences in parts:
        text += ["", f"## {heading}", "", *sentences]
    return "\n".join(text) + "\n"


def _hypothesis(plan: Plan, p: Protocol) -> list[str]:
    names = _listed(p.systems)
    if p.goal != "difference":
        return [f"{p.systems[0]} and {p.systems[-1]}: {p.goal} within {p.margin:g} ({p.on} scale)."]
    if p.family == "any":
        return [f"Ratings of the systems {names} differ in some way."]
    pairs = [f"{high} and {low}" for low, high in p.pairs]
    lines = [f"Ratings differ between {_listed(pairs)}. The tests are two-sided."]
    if plan.units is not None and plan.settings["effect"] != "smallest":
        for row in plan.units.to_pylist():
            lines.append(
                f"Assumed: {row['system_a']} is rated {row['points']:+.2f} points against {row['system_b']}, and a "
                f"text of it is rated higher with probability {row['superiority']:.2f} (latent effect "
                f"{row['latent']:.2f})."
            )
    return lines


def _design(p: Protocol) -> list[str]:
    each = "" if p.texts_per_participant is None else f" Each participant rates {p.texts_per_participant} texts."
    scale = "" if p.levels is None else f" Ratings are in {p.levels} ordered categories."
    several = "" if p.criteria == 1 else f" Every text is rated on {p.criteria} criteria [names of the criteria]."
    return [
        f"Systems: {_listed(p.systems)}. {p.items} items; every item under every system has {p.ratings_per_text:g} "
        f"ratings by different participants, and nobody sees an item twice.{each}{scale}{several}"
        " [Who the participants are, how they are recruited and paid, and what they are told.]"
    ]


def _size(plan: Plan, p: Protocol) -> list[str]:
    recruit = f" {p.recruit} are recruited, because some will be lost." if p.recruit > p.participants else ""
    a = plan.settings
    return [
        f"{p.participants} participants, {p.ratings} ratings{' per criterion' if p.criteria > 1 else ''}.{recruit}",
        f"Reason: {p.answer} {plan.counted} {' '.join(one.text for one in plan.findings)}",
        f"Simulated with ordbridge from {a['source']}: {a['datasets']} datasets in all, seed {a['seed']}, engine "
        f"{a['engine']}.",
    ]


def _model(p: Protocol) -> list[str]:
    link = f", link {p.link}" if p.link else ""
    reml = "" if p.REML is None else ", REML" if p.REML else ", maximum likelihood"
    return [f"`{p.model}`: `{p.formula}`{link}{reml}. It is fitted in R through ordbridge."]


def _test(p: Protocol) -> list[str]:
    what = {
        "pair": "The difference of the pair above",
        "pairs": "The differences of all pairs, with Holm's correction",
        "reference": "The differences of the pairs above, with Holm's correction",
        "any": "All systems together",
    }[p.family]
    by = {"z": "Wald's z", "t": "Student's t", "lrt": "a likelihood ratio test"}[p.test]
    if p.model == "lmer" and p.test == "t":
        by += " with Satterthwaite's degrees of freedom"
    level = (
        f" p has to fall below {p.critical_value:.4g}, the value that it falls below in a share alpha of simulated "
        "studies without a difference."
        if p.calibrated and not p.looks
        else ""
    )
    over = f" Holm's correction also goes over the {p.criteria} criteria." if p.criteria > 1 else ""
    return [
        f"{what}, by {by}, at alpha = {p.alpha:g}.{level}{over} `ordbridge compare FILE --plan plan.json` makes this "
        "analysis."
    ]


def _stopping(p: Protocol) -> list[str]:
    if not p.looks:
        return [f"Data collection ends with {p.participants} usable participants. The data are not analysed before."]
    rows = [
        f"| {row['look']} | {row['participants']} | {row['ratings']} | {row['critical']:.3f} | {row['p_value']:.4f} |"
        for row in p.looks
    ]
    kind = {"obrien-fleming": "O'Brien–Fleming", "pocock": "Pocock"}[str(p.shape)]
    return [
        f"The data are looked at {len(p.looks)} times ({p.shape} boundary, simulated for this design). The study stops "
        "as soon as |z| is above the critical value of the look, and otherwise goes on to the next. Every look is "
        f"recorded. A look that is not in this table spends alpha by the {kind}-type function of Lan and DeMets "
        "(1983). After stopping, the p-value (stage-wise ordering) and the estimate (median-unbiased) are adjusted for "
        "the looks.",
        "",
        "| look | participants | ratings | critical z | p below |",
        "|---|---|---|---|---|",
        *rows,
    ]


def _exclusions(p: Protocol) -> list[str]:
    return [
        "Ratings that are not on the scale, rows that repeat another in every column, and ratings without a "
        "participant, item or system are left out; nothing else. [Attention checks and their rule, if there are any.] "
        f"Excluded participants are replaced until {p.participants} are usable."
    ]


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
