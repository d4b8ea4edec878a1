"""More than 200 names that a column or a level should not have, and data that wear them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ordbridge.formula import quote


def _names(text: str) -> list[str]:
    """Split a block of names: one paragraph mark or line break between two of them."""
    return text.strip("\n").replace("\n", "§").split("§")


# Each runs as R code, as it stands or in one of CONTEXTS, and leaves a file (or folder) M behind.
CODE = _names(r"""
system('touch M')§system("touch M")§base::system('touch M')§system2('touch', 'M')§file.create('M')
file.create("M")§base::file.create('M')§`file.create`('M')§base::`file.create`("M")§'file.create'('M')
dir.create('M')§saveRDS(1, 'M')§cat('x', file='M')§cat("x", file = "M")§writeLines('x', 'M')§write('x', "M")
dput(1, 'M')§utils::write.csv(1, 'M')§(file.create('M'))§{file.create('M')}§invisible(file.create('M'))
identity(file.create('M'))§I(file.create('M'))§factor(file.create('M'))§scale(file.create('M'))
log(file.create('M'))§c(file.create('M'))§list(file.create('M'))[[1]]§(function() file.create('M'))()
(\(z) file.create(z))('M')§'M' |> file.create()§get('file.create')('M')§match.fun('file.create')('M')
do.call(file.create, list('M'))§do.call('file.create', list('M'))§Negate(file.create)('M')
eval(parse(text='file.create("M")'))§eval(quote(file.create('M')))§eval(str2lang("file.create('M')"))
evalq(file.create('M'))§local(file.create('M'))§with(list(), file.create('M'))§tryCatch(file.create('M'))
suppressWarnings(file.create('M'))§x <- file.create('M')§x = file.create('M')§file.create('M') -> x
x <<- file.create('M')§assign('x', file.create('M'))§if (TRUE) file.create('M')§for (i in 1) file.create('M')
repeat {file.create('M'); break}§switch('a', a = file.create('M'))§!file.create('M')§-file.create('M')
1 + file.create('M')§1:file.create('M')§1 | file.create('M')§0 || file.create('M')§T & file.create('M')
TRUE && file.create('M')§1 %in% file.create('M')§1 == file.create('M')§2 ^ file.create('M')§1; file.create('M')
1); file.create('M'); (1§file.create('M') # comment§lapply('M', file.create)§Map(file.create, 'M')
vapply('M', file.create, TRUE)§capture.output(file.create('M'))§stopifnot(file.create('M'))
readLines(pipe('touch M'))§T`; file.create('M'); `T§\`=1; file.create('M') #§a'; file.create('M'); 'a
a"; file.create("M"); "a§$(touch M)§; touch M§| touch M§&& touch M§`touch M`
""")

CONTEXTS = ["%s", "(%s)", "`%s`", "'%s'", '"%s"', "ESCAPED", "SHELL"]

ODD = _names(r"""
if§else§for§while§repeat§function§next§break§in§TRUE§FALSE§NULL§NA§NaN§Inf§NA_character_§T§F§I§c§factor§ordered
scale§log§poly§list§data§formula§df§t§q§levels§names§row.names§offset§weights§subset§(weights)§(offset)
(Intercept)§Intercept§Residual§1|2§2|3§x:y§x*y§x/y§x^2§x-1§-1§0§1§1e5§1L§0x1F§.5§.§..§...§..1§..2§.x§_x§x_§x.y
v1§v2§v3§v10§V1x§L1_2x§l1§g1§L1§x1§X1§column.1§f1§zqx§zl00§a b§ lead§trail §~§y ~ x§~x§|§||§(1 | g)§(x || g)§+
 + x§*§:§::§:::§/§%%§%in%§%s%n%d§100%§#§# comment§a|b§a#b§$§${x}§x$y§x@y§@§[§]§[[1]]§{}§{x}§()§)§(§,§;§'§"§''§""
`§``§\§\\§\n§\x41§\u0041§\`§`\§a`b`c§<-§->§=§==§!§!x§&§&&§?§?c§^§<b>bold</b>§<script>§&amp;§--export§-e§--args
NULL§A§a§b§B§mean§sd§estimate§std_error§p_value§group§level§term§rep('a', 3)§1:3§x[1]§rnorm(1)
""")

# letters of other scripts, marks that join or turn the text, and characters that nobody sees
UNICODE = [
    *("größe", "Ω", "日本語", "имя", "א", "مرحبا", "ﬁ", "𝒳", "🙂", "İ", "ı", "ß", "…", "—", "“x”", "‘x’", "¬", "·"),
    *("\u00e9", "e\u0301", "\u202eevil\u202c", "\u200f", "a\u200db", "\u200b", "\ufeff", "\u00a0", "\u3000", "\u0085"),
    *(
        "\u2028",
        "\U0001f469\u200d\U0001f52c",
        "\U0001f3f3\ufe0f\u200d\U0001f308",
        "\ufdfa",
        "\ue000",
        "\U0010fffd",
        "x\u0335",
    ),
]

CONTROL = [
    "",
    " ",
    "  ",
    "\t",
    "\n",
    "a\nb",
    "a\r\nb",
    "\x00",
    "a\x00b",
    "a\x00c",
    "\x07",
    "\x1b[31mred",
    "\x7f",
    "\n#",
]
"""Levels may have these; in the name of a column, a formula does not know them."""

LONG = ["n" * 5000, "é" * 5000, "🙂" * 4900, "file.create('MARKER');" * 220, "`" * 2400, "\\" * 2400, "a b" * 1600]


def code(marker: str, absolute: str) -> list[str]:
    """Return the names that are code, with a marker in the working folder and with an absolute path."""
    return [text.replace("touch M", f"touch {path}").replace("'M'", f"'{path}'").replace('"M"', f'"{path}"')
            for path in (marker, absolute) for text in CODE]  # fmt: skip


def columns(marker: str, absolute: str) -> list[str]:
    """Return all names of columns, each once."""
    return list(dict.fromkeys(code(marker, absolute) + ODD + UNICODE))


COLUMNS = {
    "zqx": "numeric",
    "zqw": "numeric",
    "zqs": 3,
    "zqg": 8,
    "zqh": 8,
    "zqy": 4,
    "zqz": "numeric",
    "zqk": "numeric",
}
"""Harmless names of the columns, with how many levels they have."""


def crowd(size: int) -> list[str]:
    """Return harmless names of so many further numeric columns."""
    return [f"zr{i:03d}" for i in range(size)]


def harmless(others: int = 0) -> pd.DataFrame:
    """Return eight raters × eight items under names that occur nowhere else, with so many further columns."""
    rng = np.random.default_rng(7)
    g, h = (v.ravel() for v in np.meshgrid(range(8), range(8), indexing="ij"))
    s, x, w = (g + h) % 3, rng.normal(size=64).round(2), rng.normal(size=64).round(2)
    z = 0.6 * x + 0.4 * s + rng.normal(0, 1, 8)[g] + rng.normal(0, 0.9, 8)[h] + x * rng.normal(0, 0.8, 8)[g]
    z = (z + rng.normal(0, 0.8, (8, 3))[g, s] + rng.normal(0, 0.4, 64)).round(3)
    codes = {"zqs": s, "zqg": g, "zqh": h, "zqy": np.digitize(z, np.quantile(z, [0.2, 0.5, 0.8]))}
    table = pd.DataFrame({"zqx": x, "zqw": w, "zqz": z, "zqk": 1 + (3 * g + h) % 4})
    for name, values in codes.items():
        labels = level_names(name)
        table[name] = pd.Categorical.from_codes(values, labels, ordered=name == "zqy")
    further = pd.DataFrame({name: rng.normal(size=64).round(2) for name in crowd(others)}, index=table.index)
    return pd.concat([table, further], axis=1)


def level_names(column: str) -> list[str]:
    """Return the harmless levels of a column: zl00 to zl22, all different."""
    counts = {name: kind for name, kind in COLUMNS.items() if isinstance(kind, int)}
    start = sum(list(counts.values())[: list(counts).index(column)])
    return [f"zl{start + i:02d}" for i in range(counts[column])]


NAMED = r"zq[a-z]|zr\d{3}|zl\d\d"


@dataclass(frozen=True)
class Disguise:
    """Which hostile name stands for which harmless one."""

    column: Mapping[str, str]
    level: Mapping[str, str]

    def wear(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return the table under the hostile names."""
        worn = {}
        for name in table.columns:
            values = table[name]
            if isinstance(values.dtype, pd.CategoricalDtype):
                values = values.cat.rename_categories({level: self.level[level] for level in values.cat.categories})
            worn[self.column[name]] = values
        return pd.DataFrame(worn)

    def formula(self, text: str) -> str:
        """Write a harmless formula with the hostile names."""
        return re.sub(r"zq[a-z]|zr\d{3}", lambda match: quote(self.column[match.group()]), text)

    def options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Write formulas and names of columns among the options of a model with the hostile names."""
        said = {name: value for name, value in options.items() if isinstance(value, str)}
        named = {name: self.column.get(value, value) for name, value in said.items() if not value.startswith("~")}
        return {**options, **{name: self.formula(value) for name, value in said.items()}, **named}

    def term(self, text: str) -> str:
        """Translate the label of a term or a contrast: columns as the formula quotes them, levels as they are."""
        return re.sub(
            NAMED,
            lambda match: (
                quote(self.column[match.group()]) if match.group() in self.column else self.level[match.group()]
            ),
            text,
        )

    def bare(self, text: str) -> str:
        """Translate the name of a group or a level, without quotes."""
        return re.sub(NAMED, lambda match: {**self.column, **self.level}[match.group()], text)


def disguises(names: list[str], levels: list[str], rotation: int = 0, others: int = 0) -> Iterator[Disguise]:
    """Yield disguises until every name has been a column; levels go round and round."""
    places = [*COLUMNS, *crowd(others)]
    size = len(places)
    all_levels = [f"zl{i:02d}" for i in range(23)]
    for turn, start in enumerate(range(0, len(names), size)):
        chosen = [names[(start + i) % len(names)] for i in range(size)]
        chosen = chosen[rotation % size :] + chosen[: rotation % size]
        worn = [levels[(23 * turn + rotation * 101 + i) % len(levels)] for i in range(23)]
        # within each factor in the order of code points, so that text has the same order of levels
        groups = [worn[0:3], worn[3:11], worn[11:19], worn[19:23]]
        ordered = [level for group in groups for level in sorted(group)]
        yield Disguise(dict(zip(places, chosen, strict=True)), dict(zip(all_levels, ordered, strict=True)))
