"""Findings about files and ratings, before any model."""

from __future__ import annotations

from ordbridge.results.catalogue.kind import FindingKind

__all__ = ["KINDS"]

LOOK = "Look at their answers; leave them out only by a rule that was set before."
KINDS: dict[str, FindingKind] = {
    # how a file was read
    "encoding": FindingKind("note", "encoding: {encoding}"),
    "separator": FindingKind("note", "columns are separated by {separator}"),
    "header-row": FindingKind("note", "the header is row {row}; what stands above it was left out"),
    "no-header": FindingKind("note", "the file has no header: its columns are called column 1, column 2, …"),
    "two-header-rows": FindingKind("note", "two header rows were put together, as in {example!r}"),
    "row-names": FindingKind("note", "the first column has no name: it holds row names"),
    "header-repeated": FindingKind("note", "the header is repeated (row {where}); these rows were left out"),
    "tables-below": FindingKind(
        "note", "there are tables below each other ({names}), which were read together, as column {column!r}"
    ),
    "recognised-as": FindingKind("note", "recognised as {title}.", "To read it as a plain table give `format` table."),
    "annotations-numbered": FindingKind("note", "row numbers count the annotations of the file"),
    "skipped-left-out": FindingKind("note", "{n:of skipped annotation} left out"),
    "rejected-left-out": FindingKind("note", "{n:of rejected assignment} left out"),
    "export-header": FindingKind("note", "{header}; addresses and places of people were left out"),
    "previews-left-out": FindingKind("note", "{n:of preview} or spam left out"),
    "unfinished": FindingKind("note", "{n:of response} unfinished; what they have was read"),
    "controls-left-out": FindingKind("note", "{n:of score} of {what} left out"),
    "language-pairs": FindingKind("note", "there are several language pairs: an item is a segment of one of them"),
    "summary-columns-left-out": FindingKind("note", "columns of means and sums were left out: {columns}"),
    "summary-rows-left-out": FindingKind("note", "{n:of row} of means or sums left out (row {where})"),
    "attention-tests-left-out": FindingKind("note", "{n:of row} of tests of attention left out ({example!r})"),
    "merged-cells": FindingKind("note", "empty cells of {column!r} continue the {role} above them, as merged cells do"),
    "not-taken-as-ratings": FindingKind("note", "not taken as ratings: {columns}.", "To read them give `rating`."),
    "taken-by-content": FindingKind(
        "note", "{column!r} is taken for the {role}, because {why}.", "If that is wrong, give `{role}`."
    ),
    "parts-are-participants": FindingKind(
        "note", "each {column} is taken for one participant.", "If it is a criterion, give {column!r} as `criterion`."
    ),
    "composite-item": FindingKind("note", "an item is a {coarse} with a {fine}.", "For another one give `item`."),
    "names-taken-apart": FindingKind(
        "note", "names in {column!r} such as {example!r} were taken apart into item and system ({systems})"
    ),
    "no-system-column": FindingKind(
        "note", "no column says which system made a text.", "To compare systems, name it with `system`."
    ),
    "labels-taken-for": FindingKind(
        "note",
        "{labels} are taken for {plural}, because no other column says which {role} a rating belongs to.",
        "If that is wrong, give `columns`.",
    ),
    "decimal-commas": FindingKind("note", "commas in ratings are decimal commas"),
    "number-in-text": FindingKind("note", "the number in {example!r} and the like is the rating"),
    "scale-turned-round": FindingKind(
        "note", "low numbers are the good ones ({best!r}), so the scale was turned round"
    ),
    "ratings-left-out": FindingKind("note", "{n} of {of} ratings are missing ({codes}) and were left out"),
    "words-in-order": FindingKind(
        "note", "ratings are words, from low to high: {levels}.", "For another order give `levels`."
    ),
    "grades": FindingKind(
        "note",
        "a higher rating is taken for a better one.",
        "If 1 is the best grade, give `levels` {points}.",
    ),
    "systems-are-numbers": FindingKind(
        "note", "systems are numbers ({shown}): they are taken as names, not as quantities"
    ),
    "one-sheet": FindingKind(
        "note",
        "the workbook has the sheets {sheets}: {sheet!r} was read, which has most rows.",
        "For another give its name, such as {other!r}, as `sheet`.",
    ),
    "sheets-together": FindingKind(
        "note", "the sheets {sheets} have the same columns and were read together, as column {column!r}"
    ),
    "columns-added": FindingKind("note", "{n:of column} of {source} added by {key!r}"),
    "joined": FindingKind(
        "note", "{n:of column} of {source} added by participant ({key!r}), where {matched} of {of} participants are"
    ),
    "names-twice": FindingKind("note", "columns of one name were numbered: {names} occur more than once"),
    "mixed-separators": FindingKind(
        "warning", "the header and the rows use different separators: cells were divided at blanks and tabs"
    ),
    "rows-chosen": FindingKind("note", "{n} of {of} rows have {where}; the others were left out"),
    "spans-scored": FindingKind(
        "note",
        "{n:of row} of errors became {segments:of segment score}, the sum of {weights}; lower is better.",
        "For other weights give `weights`.",
    ),
    "dummies": FindingKind("note", "the columns {columns} are 1 where a system made the text: taken for the systems"),
    "lists-taken-apart": FindingKind("note", "lists in {columns} were taken apart, one row for each of their elements"),
    "files-together": FindingKind("note", "{n:of file} read together, as column {column!r}: {names}"),
    "shared-source": FindingKind(
        "note",
        "{column!r} is taken for the item, because all systems share it; {old!r} names one text of one system.",
        "For another one give `item`.",
    ),
    "shared-source-proposed": FindingKind(
        "warning", "every {old!r} belongs to one system, and all systems share {column!r}.", "Give {column!r} as `item`."
    ),
    "no-raters": FindingKind(
        "warning",
        "nothing says who rated: each text has one score.",
        "Texts are analysed as they are; that other raters would score otherwise is not in the intervals.",
    ),
    "raters-unknown": FindingKind(
        "warning",
        "nobody knows who rated, and texts have several ratings.",
        "Differences between raters are not in the intervals.",
    ),
    "lower-is-better": FindingKind(
        "note", "a lower {column!r} is taken for the better one.", "If a higher one is better, give `higher_is_better`."
    ),
    "higher-taken-for-better": FindingKind(
        "note", "a higher {column!r} is taken for the better one.", "If a lower one is better, give `lower_is_better`."
    ),
    "systems-share-no-items": FindingKind(
        "error",
        "{first} and {second} have no item in common, so a difference may be one of the items.",
        "{advice}",
    ),
    "evidence": FindingKind("note", "{column!r} is the {role}: {name}, {content}"),
    "evidence-against": FindingKind("note", "{column!r} has no role: {content}"),
    # what is wrong with ratings
    "several-criteria": FindingKind("note", "there are {n} criteria: {shown}.", "Analyse each separately."),
    "criteria-in-one-column": FindingKind(
        "error",
        "participants have {n:of rating} of a text, one for each value of {column!r}.",
        "These are different criteria: give {column!r} as `criterion`, and each is analysed separately.",
    ),
    "duplicated-rows": FindingKind(
        "error",
        "{n:of row} equal to another row in every column.",
        "Remove them: they count the same rating twice.",
    ),
    "repeated-ratings": FindingKind(
        "warning",
        "{n:of rating} of a text that the same participant had already rated.",
        "Keep one rating per participant and text, unless the repetition was planned.",
    ),
    "ranks": FindingKind(
        "error",
        "every participant gave the systems of an item the numbers 1, 2, … once each.",
        "These are ranks, of which 1 is mostly the best, and not ratings; fit a Plackett–Luce model, as in R's "
        "PlackettLuce.",
    ),
    "one-system": FindingKind(
        "warning",
        "there is one system only, {system!r}.",
        "Nothing can be compared; the column of the system may be another one.",
    ),
    "items-within-systems": FindingKind(
        "warning",
        "every item occurs under one system only.",
        "Differences between systems may be differences between items; let all systems work on the same items.",
    ),
    "item-under-one-system": FindingKind(
        "warning",
        "{n} of {of} items occur under one system only: {shown}.",
        "They say little about differences; check that their names are those of the other systems' items.",
    ),
    "participants-within-systems": FindingKind(
        "note",
        "every participant saw one system only.",
        "Differences between systems rest on different people, so more of them are needed.",
    ),
    "unlinked-parts": FindingKind(
        "warning",
        "the ratings fall into {parts} parts without common participants or items; {shown} stand apart.",
        "A strict participant cannot be told from a hard item there; check the names, or let raters share items.",
    ),
    "few-raters": FindingKind(
        "warning",
        "{n:of rater} only: conclusions about other raters are weak{wald}.",
        "{advice}",
    ),
    "few-items": FindingKind(
        "warning",
        "{n:of item} only: conclusions about other items are weak{wald}.",
        "{advice}",
    ),
    "few-ratings": FindingKind(
        "note",
        "{n:of participant} gave one or two ratings, most others {usual:g}: {shown}.",
        "Check whether they finished; their ratings may stay in a mixed model.",
    ),
    "separation": FindingKind(
        "warning",
        "{shown}.",
        "An ordinal model cannot estimate how large the difference is; report it with a likelihood ratio test.",
    ),
    "no-variation": FindingKind(
        "error", "all {n} ratings are {value}.", "Nothing can be compared; check how the ratings were coded."
    ),
    "outside-scale": FindingKind(
        "error",
        "{n:of rating} outside the scale {low:g} to {high:g}: {shown}.",
        "Make codes for no answer empty and correct slips; if they are ratings, give both ends of the scale (`scale`).",
    ),
    "fractional-ratings": FindingKind(
        "warning",
        "{n:of rating} between the whole numbers that the others are: {shown}.",
        "An ordinal model would make categories of them; correct them or make them empty.",
    ),
    "unused-categories": FindingKind(
        "note",
        "nobody chose {shown}.",
        "Ordinal models work without them; say in the paper that the scale had them.",
    ),
    "slider": FindingKind(
        "note", "ratings have {n} different values, as from a slider.", "Fit a linear model (lmer), not an ordinal one."
    ),
    "floor": FindingKind(
        "warning",
        "ratings crowd at the lowest one, {value}: {shown}.",
        "Differences are hard to see there; another time use a harder task or a finer scale.",
    ),
    "ceiling": FindingKind(
        "warning",
        "ratings crowd at the highest one, {value}: {shown}.",
        "Differences are hard to see there; another time use a harder task or a finer scale.",
    ),
    "different-scales": FindingKind(
        "warning",
        "criteria are on different scales: {lowest} goes up to {low:g}, {highest} to {high:g}.",
        "Analyse each criterion separately.",
    ),
    "constant-rater": FindingKind("warning", "{who} gave all texts the same rating.", LOOK),
    "alternating-rater": FindingKind("warning", "{who} repeated the same few ratings in turn.", LOOK),
    "fast-rater": FindingKind("warning", "{who} took less than a quarter of the usual time ({seconds:.3g} s).", LOOK),
    "reversed-rater": FindingKind(
        "warning", "{who} rated high what others rate low, as if the scale were turned round.", LOOK
    ),
    "identical-raters": FindingKind("warning", "{who} rated all their common texts exactly alike.", LOOK),
    "labels-differ": FindingKind(
        "warning",
        "names of the {role} differ by case or blanks only: {shown}.",
        "Write them alike if they are the same; otherwise each is taken for one of its own.",
    ),
    "similar-labels": FindingKind(
        "warning",
        "names of the {role} differ by punctuation only: {shown}.",
        "Write them alike if they are the same; otherwise each is taken for one of its own.",
    ),
    "formula-cells": FindingKind(
        "warning",
        "names of the {role} begin like a formula, which a spreadsheet would run: {shown}.",
        "Put a letter before them.",
    ),
    "hidden-characters": FindingKind(
        "warning", "names of the {role} contain characters that cannot be seen: {shown}.", "Remove these characters."
    ),
    "numeric-systems": FindingKind(
        "note",
        "systems are numbers ({shown}).",
        "They are taken as names here; in a formula write factor(system), or the model takes them for quantities.",
    ),
    "not-a-rating": FindingKind(
        "error",
        "{n:of cell} of the ratings with something that is not {what}: {shown}; taken as missing.",
        "Correct these cells, or make them empty.",
    ),
    "no-participant": FindingKind(
        "error", "the participant is empty for {n:of rating}.", "Fill in the names, or remove these ratings."
    ),
    "no-item": FindingKind(
        "error", "the item is empty for {n:of rating}.", "Fill in the names, or remove these ratings."
    ),
    "no-system": FindingKind(
        "error", "the system is empty for {n:of rating}.", "Fill in the names, or remove these ratings."
    ),
    "no-criterion": FindingKind(
        "error", "the criterion is empty for {n:of rating}.", "Fill in the names, or remove these ratings."
    ),
    "missing-ratings": FindingKind(
        "note",
        "{n:of rating} missing, {share:.1%} of all.",
        "They are left out; say in the paper how many there are and why.",
    ),
    "refused-submissions": FindingKind(
        "warning",
        "{n:of rating} from people whose submission was returned, timed out or rejected.",
        "Remove their ratings if the study leaves them out.",
    ),
}
