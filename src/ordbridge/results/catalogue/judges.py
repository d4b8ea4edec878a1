"""Findings about a judge: a model whose ratings stand beside people's."""

from __future__ import annotations

from ordbridge.results.catalogue.kind import FindingKind

KINDS: dict[str, FindingKind] = {
    "judge-limits": FindingKind(
        "note",
        "agreement with these people on these texts may not hold for other texts, systems, criteria or people.",
        "Faults that people share, such as a liking for length, go unnoticed.",
    ),
    "favours-system": FindingKind(
        "warning", "the judge favours {system} by {size:.2f} {unit} over the others ({p:p})."
    ),
    "marks-down-system": FindingKind("warning", "the judge marks {system} down by {size:.2f} {unit} ({p:p})."),
    "no-favourite": FindingKind("note", "the judge has no clear favourite among the systems ({p:p})."),
    "constant-judge": FindingKind("warning", "the judge gave every text the same rating."),
    "many-judge-ratings": FindingKind(
        "note", "the judge used {n} different ratings, too many for a table of calibration."
    ),
    "no-calibration": FindingKind("note", "no model of people's ratings on the judge's: {text}."),
    "people-left-out": FindingKind(
        "note", "left out of the alternative annotator test, with fewer than {n:of text}: {participants:list}."
    ),
    "system-left-out": FindingKind("warning", "left out: people and the judge rated only {n:of text} of it together."),
    "judge-adds-nothing": FindingKind(
        "note", "people rated every text that the judge rated, so the judge adds nothing."
    ),
    "texts-not-random": FindingKind(
        "warning",
        "the judge gives texts that people rated {rated:.2f} on average, the others {others:.2f}: not a random choice.",
        "Means with a judge need people's texts to be chosen at random.",
    ),
    "unjudged-texts": FindingKind("note", "{n:of text} rated by people but not by the judge: left out."),
    "no-alternative-test": FindingKind("note", "no alternative annotator test: {text}."),
    "no-judge-agreement": FindingKind("note", "no comparison of agreement: {text}."),
    "no-judge-means": FindingKind("note", "no means with the judge: {text}."),
    "no-judge-plan": FindingKind("note", "no plan with the judge: {text}."),
    "means-need-order": FindingKind(
        "note", "no means: the ratings are words without an order.", "Give all words from lowest to highest (`scale`)."
    ),
}
