"""How values are written for people, on pages, in tables for papers, and on the terminal."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ordbridge.support.escaping import for_html, visible


def enumerated(names: Iterable[Any], most: int = 40, longest: int = 60) -> str:
    r"""List names in one line: control characters spelled out, long names and long lists shortened.

    Examples
    --------
    >>> print(enumerated(["item", "two\nlines", 7]))
    item, two\nlines, 7
    """
    texts = [visible(str(name)).replace("\n", "\\n").replace("\t", "\\t") for name in names]
    shown = [text if len(text) <= longest else f"{text[:longest]}…" for text in texts[:most]]
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(shown) + more


def decimals(number: float) -> str:
    """Write a number with three significant digits, at most three of them decimals unless they would show nothing.

    Examples
    --------
    >>> decimals(0.98765), decimals(12.0), decimals(0.00012345), decimals(590.543), decimals(1.4142)
    ('0.988', '12', '0.000123', '591', '1.41')
    """
    if number.is_integer() and abs(number) < 1e15:
        return str(int(number))
    if not 5e-4 <= abs(number) < 1e6:
        return f"{number:.3g}"
    return f"{number:.{min(3, max(0, 2 - math.floor(math.log10(abs(number)))))}f}"


def as_text(value: Any, number: Callable[[float], str] = decimals, missing: str = "–") -> str:
    """Write any value of a table.

    Examples
    --------
    >>> as_text(0.98765), as_text(None), as_text(True), as_text([0.5, None]), as_text({"item": 20})
    ('0.988', '–', 'yes', '0.500, –', 'item 20')
    >>> as_text(0.98765, "{:.4g}".format)
    '0.9877'
    """
    if value is None or value != value:
        return missing
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return number(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {as_text(item, number, missing)}" for key, item in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(as_text(item, number, missing) for item in value)
    return str(value)


def p_text(p: float) -> str:
    """Write a p-value as papers do.

    Examples
    --------
    >>> p_text(0.0042), p_text(0.00001), p_text(0.128), p_text(1.0)
    ('p = .004', 'p < .001', 'p = .128', 'p = 1')
    """
    if p < 0.001:
        return "p < .001"
    digits = f"{p:.3f}"
    return "p = 1" if digits == "1.000" else f"p = {digits[1:]}"


def r_text(value: float) -> str:
    """Write a coefficient of agreement, correlation or reliability as papers do.

    Examples
    --------
    >>> r_text(0.521), r_text(-0.04), r_text(1.0), r_text(-0.001)
    ('.52', '−.04', '1.00', '.00')
    """
    digits = f"{abs(value):.2f}"
    return f"{'−' if value < 0 and float(digits) else ''}{digits.removeprefix('0')}"


def interval_text(row: Mapping[str, Any], conf_level: float, write: Callable[[float], str] = r_text) -> str:
    """Write the interval of a row with ``conf_low`` and ``conf_high``.

    Examples
    --------
    >>> interval_text({"conf_low": 0.41, "conf_high": 0.62}, 0.95)
    '95% CI .41 to .62'
    """
    return f"{100 * conf_level:g}% CI {write(row['conf_low'])} to {write(row['conf_high'])}"


def stars(p: float | None) -> str:
    """Return one to three stars for a p-value below .05, .01 and .001."""
    return "" if p is None else "*" * sum(p < edge for edge in (0.05, 0.01, 0.001))


def listed(words: Sequence[str]) -> str:
    """Write several words as one phrase.

    Examples
    --------
    >>> listed(["B", "BC", "BCR"]), listed(["B"])
    ('B, BC and BCR', 'B')
    """
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def columns_taken(recognised: Mapping[str, str]) -> str:
    """Say which column was taken for what.

    Examples
    --------
    >>> columns_taken({"participant": "worker_id", "rating": "score"}), columns_taken({})
    ('Columns: participant = worker_id, rating = score.', '')
    """
    pairs = [f"{role} = {source}" for role, source in recognised.items()]
    between = "; " if any("," in pair for pair in pairs) else ", "
    return f"Columns: {between.join(pairs)}." if pairs else ""


def html_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as a plain HTML table, for notebooks.

    Examples
    --------
    >>> html_table([{"term": "a<b", "p_value": 0.12345}])
    '<table><thead><tr><th>term</th><th>p_value</th></tr></thead><tbody><tr><td>a&lt;b</td><td>0.123</td></tr></tbody></table>'
    """
    if not rows:
        return ""
    head = "".join(f"<th>{for_html(name)}</th>" for name in rows[0])
    body = "".join(
        "<tr>" + "".join(f"<td>{for_html(as_text(value))}</td>" for value in row.values()) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
