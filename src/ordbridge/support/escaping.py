r"""Names that people give to systems, items, raters and columns, as nothing but text wherever they are written.

One function for each target: a page, LaTeX, Markdown, a spreadsheet, a terminal. Pictures read no mathematics at all
(:func:`ordbridge.render.figures.style.empty_figure`).
"""

from __future__ import annotations

import re
import unicodedata
from html import escape

ASCII = {
    "–": "-", "—": "-", "−": "-", "‐": "-", "‑": "-", "…": "...", "×": "x", "·": ".", "•": "*", "“": '"', "”": '"',
    "„": '"', "‘": "'", "’": "'", "‚": "'", "«": '"', "»": '"', "≤": "<=", "≥": ">=", "≠": "!=", "≈": "~", "±": "+/-",
    "→": "->", "←": "<-", "∞": "inf", "√": "sqrt", "∑": "sum", "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta",
    "ε": "epsilon", "κ": "kappa", "λ": "lambda", "μ": "mu", "π": "pi", "ρ": "rho", "σ": "sigma", "τ": "tau",
    "φ": "phi", "χ": "chi", "ω": "omega", "Δ": "Delta", "Σ": "Sigma", "Φ": "Phi", "Ω": "Omega", "ß": "ss", "æ": "ae",
    "Æ": "AE", "ø": "o", "Ø": "O", "œ": "oe", "Œ": "OE", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "ı": "i", "£": "GBP ",
    "€": "EUR ", "¥": "YEN ", "§": "section ", "°": " degrees", "✓": "yes", "✗": "no", "█": "#", "▁": "_", "│": "|",
    "─": "-", "━": "-", "┃": "|",
}  # fmt: skip


def for_ascii(text: str) -> str:
    r"""Return text in ASCII: signs and letters by what stands for them, others spelled out.

    Examples
    --------
    >>> print(for_ascii("α ≥ .8 (95 % CI –0.2 to ½), Müller, 统"))
    alpha >= .8 (95 % CI -0.2 to 1/2), Muller, \u7edf
    """
    return "".join(character if character.isascii() else _ascii(character) for character in text)


def _ascii(character: str) -> str:
    if character in ASCII:
        return ASCII[character]
    plain = unicodedata.normalize("NFKD", character).replace("\u2044", "/")  # the bar of a fraction
    plain = "".join(part for part in plain if part.isascii())
    if plain or unicodedata.combining(character):
        return plain
    return character.encode("ascii", "backslashreplace").decode()


INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    r"""Return inert text: control characters, which could write over a terminal, are spelled out.

    So are the marks that turn the direction of what follows them.

    Examples
    --------
    >>> print(visible("a \x1b[31mred\x1b[0m name"))
    a \x1b[31mred\x1b[0m name
    """
    return INVISIBLE.sub(lambda found: found.group().encode("unicode_escape").decode(), text)


def join_lines(text: str) -> str:
    r"""Return visible text without line breaks and runs of spaces.

    Examples
    --------
    >>> join_lines("a\n\n b")
    'a b'
    """
    return visible(" ".join(text.split()))


def shortened(text: str, most: int = 40) -> str:
    """Return a name for a picture: one line, and its middle left out where it is long.

    Both ends stay, because long names of systems often differ at their ends only.

    Examples
    --------
    >>> shortened("a very long name of a system, version 3", 20)
    'a very lon…version 3'
    """
    line = join_lines(text)
    if len(line) <= most:
        return line
    head = most // 2
    return f"{line[:head]}…{line[len(line) - (most - head - 1) :]}"


def for_html(text: str) -> str:
    """Return text for a page, inside elements and quoted attributes.

    Examples
    --------
    >>> for_html('<b title="x">')
    '&lt;b title=&quot;x&quot;&gt;'
    """
    return escape(visible(text), quote=True)


LATEX = {
    "\\": r"\textbackslash{}", "~": r"$\sim$", "^": r"\textasciicircum{}", "`": r"\textasciigrave{}",
    "<": "$<$", ">": "$>$", "|": r"\textbar{}", "×": r"$\times$", "−": "$-$", "–": "--", "—": "---",
    "…": r"\ldots{}", "≤": r"$\le$", "≥": r"$\ge$", "±": r"$\pm$", "²": "$^2$", "Σ": r"$\Sigma$", "χ": r"$\chi$",
    "ε": r"$\varepsilon$", "½": "1/2",
    "£": r"\pounds{}", "€": r"\texteuro{}", "→": r"$\to$", "’": "'", "‘": "`", "“": "``", "”": "''", '"': "''",
}  # fmt: skip
LATEX |= {c: rf"\{c}" for c in "_%&#${}"}
LATEX |= {c: f"{{{c}}}" for c in "[]*"}  # which \\ at the end of a row would take for its options
LATEX |= dict(zip("αβγδκμρστω", map(r"${}$".format, (r"\alpha", r"\beta", r"\gamma", r"\delta", r"\kappa", r"\mu",
                  r"\rho", r"\sigma", r"\tau", r"\omega")), strict=True))  # fmt: skip
LETTERS = "À-ÖØ-öø-ÿĀ-ĥĨ-įĲ-ķĹ-ľŁ-ňŊŋŌ-ťŨ-ž«»„‚§"  # beside those of ASCII, what pdflatex has in T1
KNOWN = re.escape("".join(LATEX))
TOKEN = re.compile(rf"(?P<known>[{KNOWN}])|(?P<dashes>--+)|(?P<beyond>[^\x00-\x7f{LETTERS}{KNOWN}]+)")


def for_latex(text: str) -> str:
    r"""Return text for LaTeX (T1, UTF-8): special characters as commands, line breaks as spaces.

    Letters beyond those of pdflatex stay for XeLaTeX and LuaLaTeX; pdflatex shows their numbers instead of stopping.

    Examples
    --------
    >>> print(for_latex(r"a_b & c%, \input{x}, [1], 统"))
    a\_b \& c\%, \textbackslash{}input\{x\}, {[}1{]}, {\ifdefined\Umathcode 统\else {[}U+7EDF{]}\fi}
    """

    def written(found: re.Match[str]) -> str:
        if found["known"]:
            return LATEX[found[0]]
        if found["dashes"]:
            return "{}".join(found[0])  # which would become one long dash
        numbers = "".join(f"{{[}}U+{ord(character):04X}{{]}}" for character in found[0])
        return rf"{{\ifdefined\Umathcode {found[0]}\else {numbers}\fi}}"

    return TOKEN.sub(written, join_lines(text))


def for_markdown(text: str, in_table: bool = False) -> str:
    r"""Return text for Markdown on one line: no markup, no HTML, no mathematics.

    Examples
    --------
    >>> print(for_markdown("<b>a|b</b> *c* $d$ e_f", in_table=True))
    &lt;b>a\|b&lt;/b> \*c\* \$d\$ e_f
    """
    line = join_lines(text).replace("\\", "\\\\")
    line = re.sub(r"&(?=#|\w)", "&amp;", line).replace("<", "&lt;")
    if re.search(r"\]\s*[\[(:]", line):  # only then brackets are a link; intervals keep theirs
        line = re.sub(r"([\[\]])", r"\\\1", line)
    line = re.sub(r"([`*$]|~~|(?<!\w)_|_(?!\w))", lambda found: "".join(f"\\{c}" for c in found[0]), line)
    line = re.sub(r"^([#>+-])", r"\\\1", line)
    return line.replace("|", "\\|") if in_table else line


NUMBER = r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?\s*%?"
FORMULA = rf"\ufeff*(?!{NUMBER}\Z)[=+\-@\t\r\n＝＋－＠]."  # full-width signs count in East Asian settings
GUARDED = re.compile(f"'*{FORMULA}", re.DOTALL)


def for_spreadsheet(text: str) -> str:
    """Return a cell that a spreadsheet does not take for a formula: an apostrophe goes before it, as they show text.

    One also goes before text that looks as if it had one already, so that :func:`as_in_file` gives it back.

    Examples
    --------
    >>> for_spreadsheet("=HYPERLINK(1)"), for_spreadsheet("-0.5"), for_spreadsheet("a=b"), for_spreadsheet("'=1")
    ("'=HYPERLINK(1)", '-0.5', 'a=b', "''=1")
    """
    return f"'{text}" if GUARDED.match(text) else text


def as_in_file(text: str) -> str:
    """Take the apostrophe of :func:`for_spreadsheet` away again, so that what was written is read as it was.

    Examples
    --------
    >>> as_in_file("'=HYPERLINK(1)"), as_in_file("'quoted'")
    ('=HYPERLINK(1)', "'quoted'")
    """
    return text[1:] if text.startswith("'") and GUARDED.match(text) else text
