"""Plain English in everything that users read: known clumsy phrases do not come back."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ENDINGS = {".md", ".py", ".R", ".yml", ".js"}

# "one row a rating" for "one row per rating": what is counted, and what it is counted by
COUNTED = (
    "row|column|line|file|panel|bar|module|method|number|value|sentence|rating|dataset|text|replicate|ms|draw|test"
)
BY = (
    "rating|rater|item|text|participant|person|judge|system|model|term|cell|draw|dataset|replicate|fit|core|setting|paper|"
    "category|criterion|command|rule|scale|pair|size|topic|file|resample|worker|second"
)
PHRASES = {
    "per": rf"\b({COUNTED})s? an? ({BY})\b(?! (rates|sees|gets|may|that|who|which|is|has))|\bone an? (core|{BY})\b"
    r"|\brating a row\b",
    "is not a": r"(?<!there )(?<!There )\b(is|are) no (?!longer|more|less|other|worse|better|wider|different)\w+",
    "fix, correct": r"\b(mend(s|ed|ing)?)\b",
    "depend on": r"\b(hang|hangs|hung) on\b",
    "idioms": r"spoken of|\bis ill\b|do(es)? not mind|cr(y|ies) wolf|what the first look|had to say\b|without a word\b|"
    r"look over its shoulder|could not be had|\b(can|could) no more\b|\bany more\b|for itself\b|\bat hand\b|"
    r"\binside of\b|recognised rightly|hangs? together|\bknows no\b|\b[Ee]lse (it|its|they|people|cannot)\b|"
    r"do(es)? no harm|spoken about",
}


def texts() -> list[Path]:
    """Return the files with words for users."""
    found = [*ROOT.glob("*.md"), ROOT / "mkdocs.yml"]
    for folder in ("src", "docs", "r", "benchmarks", "tools"):
        found += [path for path in (ROOT / folder).rglob("*") if path.suffix in ENDINGS]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("better", PHRASES)
def test_no_known_clumsy_phrase(better):
    """Lines are joined by spaces, so that a phrase cannot hide behind a line break."""
    pattern = re.compile(PHRASES[better])
    found = []
    for path in texts():
        text = re.sub(r"[\s#]+", " ", path.read_text(encoding="utf-8"))
        found += [
            f"{path.relative_to(ROOT)}: … {text[m.start() - 30 : m.end() + 30]} …" for m in pattern.finditer(text)
        ]
    assert not found, f"write {better!r} instead:\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("better", "clumsy", "plain"),
    [
        ("per", "one row a rating", "one row per rating"),
        ("per", "6 ratings a text", "6 ratings per text"),
        ("per", "one a core", "one per core"),
        ("per", "5 ms a fit", "how many texts a participant rates"),
        ("is not a", "'a' is no number", "there is no file"),
        ("is not a", "these are no differences", "there are no ratings"),
        ("fix, correct", "the command that mends it", "we recommend it"),
        ("depend on", "these rates hang on the seed", "these rates depend on the seed"),
        ("per", "a bootstrap draws one rating a row", "one rating per row"),
        ("per", "one test a criterion", "what a test asks"),
        ("idioms", "p can no more fall to .1", "no more than three"),
        ("idioms", "it is not open any more", "it is no longer open"),
        ("idioms", "each is analysed for itself", "each is analysed separately"),
        ("idioms", "its ratings are not at hand", "by hand"),
        ("idioms", "what the first look suggested", "what the first run suggested"),
    ],
)
def test_the_patterns_tell_clumsy_from_plain(better, clumsy, plain):
    assert re.search(PHRASES[better], clumsy)
    assert not re.search(PHRASES[better], plain)
