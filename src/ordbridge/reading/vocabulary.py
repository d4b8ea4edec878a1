"""The words by which columns are recognised (``words.toml``), in seven European languages."""

from __future__ import annotations

import functools
import re
import tomllib
import unicodedata
from pathlib import Path

__all__ = [
    "criteria_in",
    "criterion_name",
    "is_aside",
    "is_criterion",
    "is_summary",
    "is_test_of_attention",
    "label_role",
    "may_be_lower",
    "name_words",
    "names_system",
    "numbered_role",
    "plain",
    "rank_of",
    "says_lower",
    "says_rating",
    "words_of",
]


@functools.lru_cache(maxsize=4096)
def plain(text: str) -> str:
    """Return a word without case, blanks, punctuation and accents.

    Examples
    --------
    >>> plain("Worker_ID "), plain("Qualité")
    ('workerid', 'qualite')
    """
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(char for char in decomposed if char.isalnum())


def _without_accents(text: str) -> str:
    return "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))


_FILE = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
_WORDS: dict[str, list[str]] = {name: words.split() for name, words in _FILE["words"].items()}
_RANKS = {
    role: {plain(word): rank for rank, words in reversed(list(enumerate(tiers.values()))) for word in words.split()}
    for role, tiers in _FILE["roles"].items()
}
CRITERIA, ASIDE, SUMMARY, FILLERS = (frozenset(_WORDS[name]) for name in ("criteria", "aside", "summary", "fillers"))
ABOUT_PEOPLE = frozenset(_WORDS["about_people"])
_RANGE = re.compile(r"[(\[]?\b\d+\s*(-|–|to|bis|à|a)\s*\d+\b[)\]]?")
_PARENTHESIS = re.compile(r"\([^)]*\)|#")
_ENDING = re.compile(r"(?<=.)(ids?|no|nr|num|number|name|code|key|idx|label|nummer|numero)$")
_ANONYMOUS = r"(anon|anonym(ous|i[sz]ed)?|hash(ed)?|masked|encrypted)"
_HIDDEN = re.compile(rf"[ _.-]+{_ANONYMOUS}$|^{_ANONYMOUS}[ _.-]+", re.IGNORECASE)
_SAID_FIRST = r"(?:human[_ .-])?(?:rating|score|rate|likert|answer)[_ .:-]+(?:of )?(.+)"
_SAID_LAST = r"(.+?)[_ .-]+(?:rating|ratings|score|scores|likert|value|answer|stars)"
_VAGUE = ("general", "complete", "simple")  # common words that are criteria only by themselves
MEASURES = ("length", "count", "words", "tokens", "characters")  # of a text, as in "sentence length"
_WORD = re.compile(r"[\W_]+|(?<=[a-z])(?=[A-Z])")
_ATTENTION = re.compile(
    r".{0,12}\b(attention|attn|att|catch)[ _-]?(check|test|question|item|trial|control)s?\b.{0,20}",
    re.IGNORECASE | re.DOTALL,
)
_INSTRUCTED = re.compile(  # "please select 3", but not "select a number from 1 to 5"
    r"attention check|(select|choose|pick|tick|mark|click|slider to|wählen sie|klicken sie|sélectionnez|choisissez|"
    r"cochez|seleccione|elija|marque)( on| the| die| la| le| el)?( option| number| answer| zahl| réponse| opción)? ?"
    r"[\"'“„«]?\d+(?! ?([-–—]|to|or|bis|oder|à|ou|a|o) ?\d)",
    re.IGNORECASE,
)


_NAME_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+|[^\W\d_]+")


def words_of(kind: str) -> frozenset[str]:
    """Return the words of a kind, such as ``"verdicts"``."""
    return frozenset(_WORDS[kind])


def name_words(name: str) -> list[str]:
    """Return the words and numbers of a name, plain.

    Examples
    --------
    >>> name_words("system1Id"), name_words("best_coh")
    (['system', '1', 'id'], ['best', 'coh'])
    """
    return [plain(part) for part in _NAME_PARTS.findall(_without_accents(name)) if plain(part)]


def says_lower(column: str) -> bool:
    """Tell whether a name says that less is better: errors, penalties, ranks, times, costs.

    Examples
    --------
    >>> says_lower("num_errors"), says_lower("Grammatical_error"), says_lower("error_free"), says_lower("fluency")
    (True, True, False, False)
    """
    words = name_words(column)
    return bool({*words, plain(column)} & words_of("lower")) and not {*words} & {
        "free",
        "no",
        "non",
        "without",
        "correction",
        "absence",
        "detection",
    }


def may_be_lower(column: str) -> bool:
    """Tell whether a criterion is often, but not always, worded so that less is better, as redundancy is."""
    return bool({*name_words(column), plain(column)} & words_of("often_lower")) and not says_lower(column)


def _names(kind: str, rest: str) -> re.Pattern[str]:
    tail = r"(\s*[:–(,].*)?"  # "Text 3: The cat sat on …"
    return re.compile(rf"({'|'.join(_WORDS[kind])}) ?{rest}{tail}", re.IGNORECASE | re.DOTALL)


_LABELS = (
    ("participant", _names("raters", r"([a-z]|\d+)?")),
    ("item", _names("items", r"\d+")),
    ("system", _names("systems", r"([a-z]|\d+)")),
    ("participant", re.compile(r"[rjpaw] ?\d+", re.IGNORECASE)),
    ("item", re.compile(r"[it] ?\d+", re.IGNORECASE)),
    ("system", re.compile(r"[ms] ?\d+", re.IGNORECASE)),
)
_SIZES = (
    r"small|base|large|xl|xxl|mini|turbo|nano|pro|chat|instruct|flash|opus|sonnet|haiku|\d+b|ft|finetuned|zeroshot|"
)
_COMMON = {"human", "humano", "humain", "mensch", "gold", "reference", "ref", "random", "rule", "rules", "base", "lead",
           "template", "claude", "gemma", "ours", "proposed", "opus", "command", "bloom", "falcon", "marian",
           "baseline", "ablation"}  # fmt: skip
_SYSTEM_NAMES = re.compile(rf"({'|'.join(_WORDS['system_names'])})(v?\d+)*({_SIZES}fewshot|o|a|b|c)*(v?\d+)*")


def rank_of(role: str, column: str) -> int | None:
    """Return how surely a column's name says a role, 0 being surest, or ``None``.

    The whole name counts, without a range such as (1-5) and without endings such as "number"; else a word of it does,
    if it belongs to one role only.

    Examples
    --------
    >>> rank_of("participant", "WorkerId"), rank_of("participant", "Email Address"), rank_of("system", "fluency")
    (1, 2, None)
    >>> rank_of("rating", "Rating (1-5)"), rank_of("participant", "Rater no."), rank_of("system", "evaluated_system")
    (0, 1, 2)
    """
    column = _HIDDEN.sub("", column) or column
    name = plain(_PARENTHESIS.sub("", _RANGE.sub("", column))) or plain(column)
    if (rank := _RANKS[role].get(name)) is not None:
        return rank
    for stem in (_ENDING.sub("", name), name.removeprefix("id")):
        if (rank := _RANKS[role].get(stem)) is not None:
            return max(rank, 1)
    words = [plain(word) for word in re.split(r"[^\w]+|_|(?<=[a-z])(?=[A-Z])", column)]
    meant = words[-1:] if len(words) == 2 and _of_a_role(words[-1]) else words  # a caption_system is a system
    hit = [other for other in _RANKS if any(_RANKS[other].get(word, 2) < 2 for word in meant)]
    counted = any(word.isdigit() or len(word) == 1 for word in words)  # "system_a" is one of several
    asked = words[0] in ("which", "what", "welcher", "welches", "welchen", "quel", "quelle", "que", "cual")
    aside = any(word in ASIDE or word in CRITERIA for word in words) or len(words) > (7 if asked else 3)
    return 2 if hit == [role] and role != "rating" and not counted and not aside else None


def _of_a_role(word: str) -> bool:
    return any(ranks.get(word, 2) < 2 for ranks in _RANKS.values())


def is_criterion(column: str) -> bool:
    """Tell whether a name is a criterion of quality, such as Fluency or "overall quality (1-5)".

    Examples
    --------
    >>> is_criterion("Overall quality (1-5)"), is_criterion("fluency_A")
    (True, False)
    """
    words = [plain(word) for word in re.split(r"[\s_\-./()]+", _RANGE.sub("", column))]
    rest = [word for word in words if word and word not in FILLERS]
    return plain(column) in CRITERIA or (bool(rest) and all(word in CRITERIA for word in rest))


def criterion_name(column: str) -> str:
    """Return the name of a criterion without its scale and without words such as rating around it.

    Examples
    --------
    >>> criterion_name("Fluency (1-5)"), criterion_name("adequacy_rating"), criterion_name("How fluent?")
    ('Fluency', 'adequacy', 'How fluent?')
    """
    name = _RANGE.sub("", column).strip(" :,-–") or column
    first, last = (re.fullmatch(pattern, name, re.IGNORECASE) for pattern in (_SAID_FIRST, _SAID_LAST))
    for shorter in (first, last):
        if shorter and is_criterion(shorter[1]):
            return shorter[1]
    return name


def says_rating(column: str) -> bool:
    """Tell whether a word of a name says that a column holds ratings, as in rating_2 or "fluency of A"."""
    words = [word for word in name_words(column) if len(word) > 1]
    return any(is_criterion(word) or _RANKS["rating"].get(plain(word), 2) < 2 for word in words)


def criteria_in(text: str) -> list[str]:
    """Return the words of a question that name a criterion.

    Examples
    --------
    >>> criteria_in("How fluent is the summary?")
    ['fluent']
    """
    return [word for word in map(plain, re.split(r"\W+", text)) if word in CRITERIA and word not in _VAGUE]


def is_aside(column: str) -> bool:
    """Tell whether a column stands beside ratings, such as times, ages, comments.

    Examples
    --------
    >>> is_aside("Age"), is_aside("sentence length"), is_aside("Please select 3"), is_aside("fluency")
    (True, True, True, False)
    """
    name, words = plain(column), [plain(word) for word in _WORD.split(column) if word]
    measured = 1 < len(words) <= 3 and words[-1] in MEASURES and not says_lower(column)
    ending = name.endswith(("time", "date", "comment", "comments", "seconds", "timestamp", "duration"))
    asked = _INSTRUCTED.search(column) is not None and " " in column.strip()
    kept_by_crowdflower = column.startswith("_") and name not in CRITERIA and rank_of("participant", column) is None
    about = bool({*words} & ABOUT_PEOPLE) and not criteria_in(column)
    kept = kept_by_crowdflower or words[:1] in (["dupl"], ["dup"], ["duplicate"])
    return name in ASIDE or measured or ending or asked or kept or about or is_test_of_attention(column)


def is_test_of_attention(name: str) -> bool:
    """Tell whether something that was rated is called a test of attention.

    Examples
    --------
    >>> [is_test_of_attention(name) for name in ("attention_check", "Catch trial 3", "LSTM + attention")]
    [True, True, False]
    """
    return _ATTENTION.fullmatch(name.replace("_", " ")) is not None


def is_summary(name: str) -> bool:
    """Tell whether a row or column holds means or sums of the others."""
    return plain(name) in SUMMARY


def label_role(labels: list[str]) -> str | None:
    """Return what a set of labels stands for, where their words say so.

    Examples
    --------
    >>> label_role(["Rater 1", "Rater 2"]), label_role(["fluency", "adequacy"]), label_role(["GPT-4", "baseline"])
    ('participant', 'criterion', 'system')
    >>> label_role(["Anna", "Ben"])
    """
    return _label_role(tuple(labels))


def numbered_role(label: str) -> str | None:
    """Return what one label stands for if it is a known word with a number or letter, such as Rater 1.

    Examples
    --------
    >>> numbered_role("Rater 1"), numbered_role("Word count")
    ('participant', None)
    """
    word = re.sub(r"[\s_\-.#]+", " ", _without_accents(label)).strip()
    return next((role for role, pattern in _LABELS if pattern.fullmatch(word)), None)


def names_system(label: str) -> bool:
    """Tell whether a label is the name of a known system, or has one among its words.

    Examples
    --------
    >>> [names_system(label) for label in ("BART", "MV_BART", "human readable")]
    [True, True, False]
    """
    words = [plain(word) for word in re.split(r"[\s_\-.#]+", label) if word]
    known = [word for word in words if word not in _COMMON and _SYSTEM_NAMES.fullmatch(word)]
    return bool(_SYSTEM_NAMES.fullmatch(plain(label))) or (1 < len(words) <= 3 and bool(known))


@functools.lru_cache(maxsize=256)
def _label_role(labels: tuple[str, ...]) -> str | None:
    words = [re.sub(r"[\s_\-.#]+", " ", _without_accents(label)).strip() for label in labels]
    if sum(is_criterion(word) for word in words) * 2 >= len(words):
        return "criterion"
    for role, pattern in _LABELS:
        if all(pattern.fullmatch(word) for word in words):
            return role
    if sum(bool(_SYSTEM_NAMES.fullmatch(plain(word))) for word in words) * 2 >= len(words):
        return "system"
    asked = [tuple(criteria_in(label)) for label in labels]
    if all(asked) and len(set(asked)) == len(asked):
        return "criterion"
    return None
