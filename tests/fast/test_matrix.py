"""The native model matrix against R's, over the whole grammar of formulas."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pytest

from ordbridge.bridge import rscript
from ordbridge.fast.matrix import contr_poly, model_matrix, rank_kept
from ordbridge.fast.variables import evaluate
from ordbridge.formula import expand, parse
from ordbridge.models.columns import Column, number_text

FORMULAS = [
    *("1", "0", "x", "0 + x", "x - 1", "-1 + x + 1", "x + z", "a", "a - 1", "0 + a + b", "b + a", "a:b", "a*b", "b*a"),
    *(
        "a:b + a",
        "a:b + b",
        "a + a:b",
        "b + a:b - 1",
        "a:x",
        "a*x",
        "x:a",
        "x + a:x",
        "0 + a:x",
        "0 + x:a",
        "a/b",
        "a/x",
    ),
    *("(a + b)/x", "a/b/x", "a/(x + z)", "(a + b + d)^2", "(a + b + x)^2", "(a + b + d)^3 - a:b:d", "a*b*d", "a:b:d"),
    *("a*b*x - a:b:x", "a:b:x + a", "a*b*d - d", "(a + x)*(b + z)", "a + b + a:b:d", "d:a + b:d", "0 + a:b", "0 + a*b"),
    *("o", "o - 1", "o*a", "a*o", "o:x", "o + o:x", "0 + o:a", "f", "f - 1", "f*a", "a:f", "0 + f:x", "x:f + f"),
    *("factor(k)", "factor(k)*x", "0 + factor(k)", "ordered(k)", "ordered(k):a", "factor(f)", "factor(o)", "k"),
    *("scale(x)", "log(p)", "exp(x)", "sqrt(p)", "poly(x, 1)", "poly(x, 2)", "poly(z, 3)*a", "a:poly(x, 2)", "I(x^2)"),
    *(
        "I(x + z)",
        "I(x*2.50)",
        "I(x*100000)",
        "I(-x)",
        "I((x + z)/p)",
        "I(x/3)",
        "log(I(p + 1))",
        "scale(log(p))",
        "I(x*z) + x",
    ),
    *(
        "a + (b + x)",
        "a + (b - 1)",
        "(x)",
        "`my x`",
        "`my x`*a",
        "a:`my f`",
        "`my f` + `my f`:x",
        "x + x",
        "a*a",
        "x:x",
    ),
    *("(a + b)^2 - a", "b:a:x + a:b", "x + 0 + a", "0 + a + 1", "a*b + d:a - b", "z:a + b:x + a"),
]

R_CODE = r"""
d <- read.csv("data.csv", stringsAsFactors = TRUE, check.names = FALSE)
d$o <- factor(d$o, levels = c("lo", "mid", "hi", "top", "max"), ordered = TRUE)
d$f <- as.logical(d$f)
show <- function(x) paste(sprintf("%.17g", x), collapse = ",")
for (text in readLines("formulas.txt")) {
  m <- suppressWarnings(model.matrix(as.formula(paste("~", text)), model.frame(as.formula(paste("~", text)), d)))
  q <- qr(m, tol = 1e-07, LAPACK = FALSE)
  kept <- sort(q$pivot[seq_len(q$rank)])
  cat(paste(c(colnames(m), ""), collapse = "\x1f"), show(t(m)), paste(kept, collapse = ","), sep = "\t")
  cat("\n")
}
"""


def table() -> dict[str, Column]:
    rng = np.random.default_rng(11)
    n = 60

    def factor(levels: tuple[str, ...], ordered: bool = False) -> Column:
        return Column(
            "factor", np.r_[np.arange(len(levels)), rng.integers(0, len(levels), n - len(levels))], levels, ordered
        )

    return {
        "x": Column("numeric", rng.normal(size=n).round(3)),
        "z": Column("numeric", rng.uniform(-2, 5, n).round(3)),
        "p": Column("numeric", rng.uniform(0.1, 4, n).round(3)),
        "k": Column("numeric", rng.choice([0.5, 2, 10, 100000], n)),
        "a": factor(("A", "B", "C")),
        "b": factor(("u", "v")),
        "d": factor(("p", "q", "r s")),
        "o": factor(("lo", "mid", "hi", "top", "max"), ordered=True),
        "f": Column("logical", rng.integers(0, 2, n)),
        "my x": Column("numeric", rng.normal(size=n).round(3)),
        "my f": factor(("1", "2")),
    }


def text_of(column: Column) -> list[str]:
    if column.kind == "factor":
        return [column.levels[code] for code in column.values]
    if column.kind == "logical":
        return ["TRUE" if value else "FALSE" for value in column.values]
    return [repr(float(value)) for value in column.values]


@pytest.fixture(scope="module")
def from_r(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[list[str], np.ndarray, list[int]]]:
    if shutil.which("Rscript") is None:
        pytest.skip("needs R")
    folder = tmp_path_factory.mktemp("frame")
    columns = table()
    quoted = {name: text_of(column) for name, column in columns.items()}
    quoted["my f"] = [f"l{value}" for value in quoted["my f"]]
    lines = [",".join(f'"{name}"' for name in quoted)]
    lines += [",".join(row) for row in zip(*quoted.values(), strict=True)]
    (folder / "data.csv").write_text("\n".join(lines) + "\n")
    (folder / "formulas.txt").write_text("\n".join(FORMULAS) + "\n")
    (folder / "run.R").write_text(R_CODE)
    done = subprocess.run(["Rscript", "--vanilla", "run.R"], cwd=folder, capture_output=True, text=True, check=True)
    out = []
    for line in done.stdout.splitlines():
        names, values, kept = line.split("\t")
        labels = names.split("\x1f")[:-1]
        matrix = np.array([float(v) for v in values.split(",") if v]).reshape(60, len(labels))
        out.append((labels, matrix, [int(k) - 1 for k in kept.split(",") if k]))
    return out


@pytest.mark.parametrize("i", range(len(FORMULAS)), ids=FORMULAS)
def test_model_matrix_is_the_one_of_r(i: int, from_r: list[tuple[list[str], np.ndarray, list[int]]]) -> None:
    columns = table()
    mine = columns["my f"]
    columns["my f"] = Column("factor", mine.values, tuple(f"l{level}" for level in mine.levels))
    names, matrix, kept = from_r[i]
    terms = expand(parse(f"y ~ {FORMULAS[i]}").fixed)
    memory: dict = {}
    values = {variable: evaluate(variable, columns, memory) for variable in terms.variables}
    X, found = model_matrix(terms, values, 60)
    assert list(found) == names
    np.testing.assert_allclose(X, matrix, rtol=1e-11, atol=1e-13)
    assert rank_kept(X).tolist() == kept


def test_new_rows_are_coded_with_what_was_learnt() -> None:
    columns = table()
    memory: dict = {}
    node = parse("y ~ poly(x, 2)").fixed[0].term
    whole = evaluate(node, columns, memory).values
    part = evaluate(node, {"x": Column("numeric", columns["x"].values[:5])}, memory).values
    np.testing.assert_allclose(part, whole[:5], rtol=1e-12)


@pytest.mark.needs_r
def test_numbers_are_written_as_r_writes_them() -> None:
    random = np.random.default_rng(1)
    numbers = [1e5, 123456.0, 1e-5, 0.0001, 1 / 3, -2.5, 0.0, 1e15, 0.1 + 0.2]
    numbers += (random.normal(size=50) * 10.0 ** random.integers(-8, 9, 50)).tolist()
    code = f"cat(as.character(c({', '.join(map(repr, map(float, numbers)))})), sep = '\\n')"
    assert [number_text(float(v)) for v in numbers] == rscript.run("-e", code).splitlines()


def test_contr_poly_is_orthonormal() -> None:
    contrasts, names = contr_poly(5)
    np.testing.assert_allclose(contrasts.T @ contrasts, np.eye(4), atol=1e-14)
    assert names == (".L", ".Q", ".C", "^4")
