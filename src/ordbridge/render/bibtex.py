r"""References in BibTeX, made from the references in full.

Works are written as ``Authors (year). Title. Where 12(3), 45–67.``; what has no year, such as software, becomes
``@misc``. Titles keep their capitals.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ordbridge.support.escaping import for_ascii, for_latex

WORK = re.compile(r"(?P<authors>.+?) \((?P<year>\d{4})\)\. (?P<title>.+?[.?]) (?P<where>(?:[A-Z]|arXiv)[^?]*)")
ARTICLE = re.compile(
    r"(?P<journal>.+?) (?P<volume>\d+)(?:\((?P<number>[\d–]+)\))?(?:, (?P<pages>\w+(?:–\w+)?))?"
    r"(?:, version (?P<version>\S+))?"
)
PROCEEDINGS = re.compile(r"(?P<booktitle>\w+ \d{4}), (?P<pages>\d+–\d+)")
ARXIV = re.compile(r"arXiv:(?P<eprint>[\d.]+)")
AUTHOR = re.compile(r"([^,&]+), ((?:-?[^\W\d_]\.[ -]?)+)")
SOFTWARE = re.compile(
    r"(?P<author>.+?)\. (?P<title>\w+: [^.]+?)(?:, version (?P<a>[\d.-]+))?"
    r"(?:\. R package(?: version (?P<b>[\d.-]+))?)?\."
    r"(?: (?P<url>https\S+))?"
)


def entries(references: Iterable[str]) -> str:
    """Return the entries of a bibliography, one for each reference.

    Examples
    --------
    >>> print(entries(["Holm, S. (1979). A simple procedure. Scandinavian Journal of Statistics 6, 65–70."]))
    @article{holm1979,
      author = {Holm, S.},
      year = {1979},
      title = {{A simple procedure}},
      journal = {Scandinavian Journal of Statistics},
      volume = {6},
      pages = {65--70}
    }
    """
    written, keys = [], set[str]()
    for reference in dict.fromkeys(references):
        kind, fields = _parsed(" ".join(reference.split()))
        name = re.sub(r"[^a-z]", "", for_ascii(fields.get("author", fields["title"]).split(",")[0].split()[0]).lower())
        key = f"{name}{fields.get('year', '')}"
        while key in keys:
            key += "a" if key[-1].isdigit() else "b"
        keys.add(key)
        body = ",\n".join(f"  {name} = {{{_value(name, value)}}}" for name, value in fields.items() if value)
        written.append(f"@{kind}{{{key},\n{body}\n}}")
    return "\n\n".join(written)


def _parsed(reference: str) -> tuple[str, dict[str, str]]:
    """Return the kind of an entry and its fields."""
    if (work := WORK.fullmatch(reference)) is None:
        software = SOFTWARE.fullmatch(reference)
        if software is None:
            name, _, version = reference.removesuffix(".").rpartition(" ")
            own = re.fullmatch(r"[\d.]+\w*", version) is not None and name.isidentifier()
            return "misc", {"title": name, "note": f"Python package, version {version}"} if own else {
                "title": reference
            }
        author = _authors(f"{software['author']}.") if "," in software["author"] else f"{{{software['author']}}}"
        version = software["a"] or software["b"] or ""
        return "misc", {"author": author, "title": software["title"], "url": software["url"] or "",
                        "note": f"Version {version}" if version else ""}  # fmt: skip
    where = work["where"].removesuffix(".")
    fields = {"author": _authors(work["authors"]), "year": work["year"], "title": work["title"].removesuffix(".")}
    if (found := PROCEEDINGS.fullmatch(where)) is not None:
        return "inproceedings", fields | found.groupdict()
    if (found := ARXIV.fullmatch(where)) is not None:
        return "misc", fields | {"eprint": found["eprint"], "archiveprefix": "arXiv", "note": where}
    if (found := ARTICLE.fullmatch(where)) is not None:
        parts = {name: text for name, text in found.groupdict().items() if text}
        version = parts.pop("version", "")
        return "article", fields | parts | ({"note": f"Version {version}"} if version else {})
    return ("book", fields | {"publisher": where}) if " " not in where else ("misc", fields | {"howpublished": where})


def _authors(text: str) -> str:
    """Return names as BibTeX has them.

    Examples
    --------
    >>> _authors("Levy, R. P., Højsgaard, S. & Piepho, H.-P."), _authors("Chen, M. et al.")
    ('Levy, R. P. and Højsgaard, S. and Piepho, H.-P.', 'Chen, M. and others')
    """
    names = [f"{surname.strip()}, {initials.strip()}" for surname, initials in AUTHOR.findall(text)]
    return " and ".join([*names, *(["others"] if text.endswith("et al.") else [])]) or f"{{{text}}}"


def _value(name: str, value: str) -> str:
    if name == "url":
        return value
    if name == "author":
        return " and ".join(one if one.startswith("{") else for_latex(one) for one in value.split(" and "))
    return f"{{{for_latex(value)}}}" if name == "title" else for_latex(value)
