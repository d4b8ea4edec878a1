"""Print the tables of docs/findings-tables.md from the committed run of Howcroft & Rieser (2021).

python tools/findings_tables.py
"""

from __future__ import annotations

import csv
from pathlib import Path

EVIDENCE = Path(__file__).resolve().parents[1] / "docs" / "reproduction" / "howcroft2021"
CODING = {"treatment": "0/1, as published", "centred": "−½/+½"}
PLACE = {"published": "as published", "centred": "around 0"}


def tables() -> dict[str, str]:
    """Return the tables of the page by name, in Markdown, and what it says of signs."""
    return {
        "linear null": _linear_null(),
        "questions": _questions(),
        "signs": _signs(),
        "claims": _claims("claims"),
        "left open": _claims("left_open"),
        "audit": _audit(),
        "panel": _panel(),
    }


def _linear_null() -> str:
    """Write what the linear model tests as published: spreads, and where mean ratings are equal."""
    rows = [
        (
            row["variance"],
            f"{float(row['sd_first']):.2f}",
            f"{float(row['sd_second']):.2f}",
            f"{float(row['difference_at_0']):+.3f}",
            f"{float(row['effect_of_equal_means']):+.3f}",
        )
        for row in _read("linear_null")
        if (row["slope_coding"], row["thresholds"]) == ("treatment", "published")
    ]
    head = ("setting", "SD of system 0", "of system 1", "difference of mean ratings at effect 0")
    return _markdown((*head, "latent effect of equal means"), rows)


def _questions() -> str:
    """Write the deciding cells averaged over the settings: rows by coding, placement, effect, two columns per size."""
    by_size: dict[tuple[str, str, str], dict[str, dict[str, str]]] = {}
    for row in _read("question_means"):
        key = (row["slope_coding"], row["thresholds"], row["effect"])
        by_size.setdefault(key, {})[f"{row['items']}, {row['ratings_per_text']}"] = row
    sizes = list(next(iter(by_size.values())))
    rows = []
    for coding, place in ((c, p) for c in CODING for p in PLACE):
        for effect in ("0.31", "0", "-0.31"):
            cells = [by_size[coding, place, effect][size] for size in sizes]
            rows.append(
                (CODING[coding], PLACE[place], f"{float(effect):+.2f}", *map(_powers, cells), *map(_gap, cells))
            )
    head = ("slopes", "thresholds", "effect", *(f"lmer / clmm ({size})" for size in sizes))
    return _markdown((*head, *(f"clmm − lmer ({size})" for size in sizes)), rows)


def _powers(row: dict[str, str]) -> str:
    return f"{float(row['power_lmer']):.3f} / {float(row['power_clmm']):.3f}"


def _gap(row: dict[str, str]) -> str:
    mean, low, high = (float(row[name]) for name in ("difference", "conf_low", "conf_high"))
    return f"{mean:+.3f} [{low:+.3f}, {high:+.3f}]"


def _signs() -> str:
    """Say how many significant results of lmer at effect 0 are negative, in the deciding cells as published."""
    null = [row for row in _read("questions") if float(row["effect"]) == 0]
    null = [row for row in null if (row["slope_coding"], row["thresholds"]) == ("treatment", "published")]
    negative, all_ = (
        sum(round(float(row[c]) * int(row["n"])) for row in null) for c in ("negative_lmer", "power_lmer")
    )
    return f"{negative} of its {all_} significant results at effect 0 have a negative sign"


def _claims(name: str) -> str:
    """Write the verdicts on the corrected simulator: on what the paper says, or on what it leaves open."""
    head = {"claim": "claim", "where": "where", "ours": "what came out", "verdict": "verdict"}
    if name == "left_open":
        del head["where"]
    rows = [
        tuple(row[column].replace(" %", "%") for column in head)
        for row in _read(name)
        if "published)" not in row["claim"]
    ]
    return _markdown(tuple(head.values()), rows)


def _audit() -> str:
    """Write the fast engine beside R: the grid, then the deciding cells."""
    rows = [
        (
            where,
            row["model"],
            row["compared"],
            f"{float(row['median']):.1e}",
            f"{float(row['largest']):.1e}",
            row["over_1_percent"],
            row["decisions_differ"],
            row["failed_r_only"],
        )
        for where, name in (("grid", "audit"), ("deciding cells", "audit_questions"))
        for row in _read(name)
    ]
    head = ("", "model", "datasets", "median difference of p", "largest", "over 1 %", "decisions differ")
    return _markdown((*head, "R gave no p"), rows)


def _panel() -> str:
    """Write the panel that went through R: powers by both engines, and how far their p-values are apart."""
    cells: dict[tuple[str, str], dict[str, dict[str, str]]] = {}
    for row in _read("panel_through_r"):
        cells.setdefault((row["items"], row["effect"]), {})[row["model"]] = row
    rows = []
    for (items, effect), by_model in cells.items():
        linear, ordinal = by_model["lmer"], by_model["clmm"]
        powers = (f"{float(m['power_r']):.2f} / {float(m['power_fast']):.2f}" for m in (linear, ordinal))
        counts = (linear["over_1_percent"], linear["decisions_differ"], ordinal["decisions_differ"])
        rows.append((items, effect, *powers, f"{float(ordinal['largest_apart']):.0e}", *counts))
    head = ("items", "effect", "lmer, R / native", "clmm, R / native", "clmm's p differs by at most")
    return _markdown((*head, "lmer's p by over 1 %", "lmer's decisions differ", "clmm's"), rows)


def _read(name: str) -> list[dict[str, str]]:
    with (EVIDENCE / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _markdown(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines).replace("| ---", "|---").replace("--- |", "---|")


if __name__ == "__main__":
    for title, table in tables().items():
        print(f"{title}\n\n{table}\n")
