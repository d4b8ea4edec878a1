"""What ``--help`` shows: two examples first, then options in groups; and what ``ordbridge`` alone says."""

from __future__ import annotations

import argparse
from typing import Any

SHORT = """Human evaluations: which system is better, can the raters be trusted, how many
do you need?

  ordbridge compare ratings.csv            which system is rated higher?
  ordbridge reliability ratings.csv        can the raters be trusted?
  ordbridge plan ratings.csv --effect-points 0.3
                                           how many items and raters next time?
  ordbridge judges ratings.csv --judge gpt
                                           can a model replace some raters?
  ordbridge app                            the same in the browser: drop a file

To try it without a file: ordbridge examples DIR. Each command has examples:
ordbridge COMMAND --help. All commands: ordbridge --help."""

WIDTH = 76  # of a line of an example, indented and with a backslash behind it

EXAMPLES = {
    "": ("ordbridge examples .", "ordbridge compare summaries.csv"),
    "examples": ("ordbridge examples .", "ordbridge examples studies"),
    "app": ("ordbridge app", "ordbridge app --port 8000 --no-browser"),
    "read": ("ordbridge read survey.xlsx --explain", "ordbridge read survey.xlsx --out ratings.csv"),
    "check": ("ordbridge check ratings.csv", "ordbridge check ratings.csv --scale 1 5"),
    "compare": (
        "ordbridge compare ratings.csv",
        "ordbridge compare ratings.csv --reference baseline --html report.html --latex table.tex",
    ),
    "fit": (
        'ordbridge fit ratings.csv --model clmm --formula "rating ~ system + (1 | participant) + (1 | item)"',
        'ordbridge fit ratings.csv --model lmer --formula "rating ~ system + (1 | item)" --contrasts system',
    ),
    "doctor": ("ordbridge doctor", "ordbridge validate"),
    "validate": (
        "ordbridge validate",
        'ordbridge validate ratings.csv --model clmm --formula "rating ~ system + (1 | item)"',
    ),
    "design": (
        "ordbridge design crossed --items 20 --raters 6 --out sheet.csv",
        "ordbridge design counterbalanced --items 40 --ratings-per-text 3 --texts-per-participant 20 --out sheet.csv",
    ),
    "design counterbalanced": (
        "ordbridge design counterbalanced --items 40 --ratings-per-text 3 --texts-per-participant 20",
        "ordbridge design counterbalanced --items 40 --ratings-per-text 3 --texts-per-participant 20 --sheets raters/",
    ),
    "design latin-square": (
        "ordbridge design latin-square --systems 3 --items 12 --raters 6",
        "ordbridge design latin-square --systems 3 --items 12 --raters 6 --out sheet.csv",
    ),
    "design crossed": (
        "ordbridge design crossed --items 20 --raters 6",
        "ordbridge design crossed --items 20 --raters 6 --systems 3 --out sheet.csv",
    ),
    "design howcroft2021": (
        "ordbridge design howcroft2021 --items 50 --ratings 3",
        "ordbridge design howcroft2021 --items 50 --ratings 3 --out sheet.csv",
    ),
    "design from-ratings": (
        "ordbridge design from-ratings ratings.csv",
        "ordbridge design from-ratings ratings.csv --out sheet.csv",
    ),
    "design comparisons": (
        "ordbridge design comparisons --names A B C --items 40 --raters 6 --per-rater 40 --out sheet.csv",
        "ordbridge design comparisons preferences.csv --next 50",
    ),
    "simulate": (
        "ordbridge simulate --preset howcroft2021 --items 30 --ratings-per-text 3 --seed 1 --out ratings.csv",
        "ordbridge simulate --truth truth.toml --design sheet.csv --seed 1 --out ratings.csv",
    ),
    "power": (
        "ordbridge power --preset howcroft2021 --items 50 --ratings-per-text 3 --effect 0 0.31 --engine fast",
        "ordbridge power --init study.toml",
    ),
    "plan": (
        "ordbridge plan ratings.csv --effect-points 0.3",
        "ordbridge plan ratings.csv --effect-points 0.3 --cost-rating 0.10 --budget 500 --html plan.html",
    ),
    "stop": (
        "ordbridge stop batch.csv --plan plan.json",
        "ordbridge stop batch.csv --plan plan.json --engine fast",
    ),
    "reliability": (
        "ordbridge reliability ratings.csv",
        "ordbridge reliability ratings.csv --group native --html raters.html",
    ),
    "judges": (
        "ordbridge judges ratings.csv --judge gpt",
        "ordbridge judges ratings.csv --judge gpt --epsilon 0.15 --html judge.html",
    ),
    "interval": (
        "ordbridge interval 76.85 81.99 --threshold 80 --scale 0 100",
        "ordbridge interval 76.85 --prior 75 --scale 0 100",
    ),
    "scales": (
        "ordbridge scales likert.csv slider.csv",
        "ordbridge scales likert.csv slider.csv --html scales.html",
    ),
    "settings": (
        "ordbridge settings ratings.csv",
        "ordbridge settings first.csv second.csv --out truth.toml",
    ),
    "reproduce": (
        "ordbridge reproduce card2020 --out out",
        "ordbridge reproduce howcroft2021 --engine fast --out out",
    ),
    "reproduce howcroft2021": (
        "ordbridge reproduce howcroft2021 --engine fast --out out",
        "ordbridge reproduce howcroft2021 --engine fast --figure 2 --out out",
    ),
    "reproduce gladkoff2023": (
        "ordbridge reproduce gladkoff2023 --out out",
        "ordbridge reproduce gladkoff2023 --out out --html report.html",
    ),
    "reproduce card2020": (
        "ordbridge reproduce card2020 --out out",
        "ordbridge reproduce card2020 --out out --html report.html",
    ),
    "reproduce amidei2019": (
        "ordbridge reproduce amidei2019 --flickr flickr8k/judgements --out out",
        "ordbridge reproduce amidei2019 --qgstec Export-Subsets.zip --out out",
    ),
    "reproduce belz2011": (
        "ordbridge reproduce belz2011 --out out",
        "ordbridge reproduce belz2011 --out out --html report.html",
    ),
    "completion": (
        "ordbridge completion bash > ~/.local/share/bash-completion/completions/ordbridge",
        "ordbridge completion fish > ~/.config/fish/completions/ordbridge.fish",
    ),
}
"""Two commands that can be typed as they are, with the user's files; a test reads them all."""


def in_lines(example: str) -> str:
    r"""Return a command in lines of at most 80 columns, broken before an option so that it can still be pasted.

    Examples
    --------
    >>> print(in_lines("ordbridge fit file.csv --model clmm --formula 'rating ~ system + (1 | participant)' --quiet"))
    ordbridge fit file.csv --model clmm \
        --formula 'rating ~ system + (1 | participant)' --quiet
    """
    lines = [""]
    for place, part in enumerate(example.split(" --")):
        part = f" --{part}" if place else part
        if len(lines[-1]) + len(part) > WIDTH:
            lines[-1] += " \\"
            lines.append(f"     {part}")
        else:
            lines[-1] += part
    return "\n".join(lines)


COMMON = {
    "compare": ("reference", "by", "pairs", "explain", "html", "latex", "engine", "quiet"),
    "fit": ("model", "formula", "engine", "contrasts", "html", "quiet"),
    "plan": ("effect_points", "target", "items", "ratings_per_text", "budget", "cost_rating", "html", "quiet"),
    "power": ("study", "preset", "items", "ratings_per_text", "effect", "models", "datasets", "jobs", "store", "quiet"),
    "judges": ("judgements", "judge", "people", "epsilon", "html"),
    "reliability": ("group", "level", "html"),
    "scales": ("again", "html"),
    "stop": ("plan", "engine"),
    "read": ("explain", "out"),
    "validate": ("model", "formula"),
    "settings": ("out", "engine"),
}
"""Options that most people need; those of other commands are few."""

READING = frozenset(
    {
        "participant",
        "item",
        "system",
        "rating",
        "criterion",
        "levels",
        "scale",
        "columns",
        "format",
        "sheet",
        "join",
        "ignore",
        "where",
        "span_weights",
        "systems",
        "lower_is_better",
        "higher_is_better",
        "text_type",
        "ORDBRIDGE_MAX_SIZE",
    }
)
OUTPUT = frozenset(
    {
        "details",
        "plot",
        "html",
        "latex",
        "markdown",
        "json",
        "out",
        "quiet",
        "pairs",
        "explain",
        "all_coefficients",
        "sheets",
        "texts",
        "preregistration",
        "plot_money",
        "save_truth",
    }
)
TITLES = {"common": "common", "reading": "reading the file", "model": "model", "output": "output"}


def arrange(parser: Any, name: str) -> None:
    """Sort the options of a command into groups, shorten its usage, and put its examples first.

    Parameters
    ----------
    parser
        A :class:`~ordbridge.cli.parser.Parser`, with its options.
    name
        What is typed after ``ordbridge``.
    """
    parser.examples = EXAMPLES[name]
    if parser.commands is not None:
        for inner, its in parser.commands.choices.items():
            arrange(its, f"{name} {inner}")
        return
    special = parser._action_groups[2:]
    groups = {key: parser.add_argument_group(title) for key, title in TITLES.items()}
    for action in parser._actions:
        key = _group(action, name)
        for group in (parser._positionals, parser._optionals):
            if action in group._group_actions:
                group._group_actions.remove(action)
                groups[key]._group_actions.append(action)
    parser._action_groups = [group for group in parser._action_groups if group not in special] + special
    named = [_words(action) for action in parser._actions if not action.option_strings or action.required]
    parser.usage = " ".join(["%(prog)s", *named, "[options]"])


def _group(action: argparse.Action, name: str) -> str:
    if not action.option_strings or action.required or action.dest in ("help", *COMMON.get(name, ())):
        return "common"
    if action.dest in READING and not (action.dest == "systems" and action.nargs != 2) and name != "fit":
        return "reading" if name in COMMON or name == "check" else "common"
    if name == "fit" and action.dest in READING - {"scale"}:
        return "reading"
    if action.dest in OUTPUT:
        return "output"
    return "model" if name in COMMON else "common"


def _words(action: argparse.Action) -> str:
    """Return an argument as it stands in the usage."""
    what = action.metavar if isinstance(action.metavar, str) else action.dest
    if action.option_strings:
        return f"{action.option_strings[0]} {(action.metavar or action.dest).upper()}"  # type: ignore[union-attr]
    many = {"+": f"{what} [{what} ...]", "*": f"[{what} ...]", "?": f"[{what}]"}
    return many.get(str(action.nargs), what)
