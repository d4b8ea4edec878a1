"""What R sees of a problem: no name and no level that a user chose, and predictors on a workable scale.

A formula that reaches R is code, and packages of R turn names into text and text into code again. So columns and levels
go to R under generated names, ``v1_`` and ``l1_2_`` (level 2 of column 1), nested and uncorrelated random effects are
written out, and grouping factors are single columns. Whatever comes back, messages included, is translated.

Two numerical weaknesses of R are met on the way. ``ordinal::clmm`` takes its standard errors from differences with a
fixed step, which fail for predictors of a very small or large scale, and ``lmerTest`` judges eigenvalues by a fixed
bound, which fails for such responses. Columns outside a wide range are multiplied by a power of two, which is exact,
and the estimates are transformed back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import floor, log, log2, prod

import numpy as np

from ordbridge.formula import (
    Bar,
    Binary,
    Call,
    Formula,
    Name,
    Node,
    Paren,
    Summand,
    Unary,
    expand_bars,
    group_name,
    names,
)
from ordbridge.models.columns import Column
from ordbridge.models.groups import grouping
from ordbridge.models.problem import Estimates, Problem, RandomTerm
from ordbridge.results.finding import Finding

COLUMN = re.compile(r"v(\d+)_")
BROKEN = re.compile(r"\s*\n\s*")
GENERATED = re.compile(r"v(\d+)_|l(\d+)_(\d+)_")
# Root mean squares of predictors, and of those with random slopes, within which clmm's standard errors are good to 1e-4
# (docs/models.md), and standard deviations of a response within which lmerTest's degrees of freedom are.
PREDICTOR_RANGE = (0.03, 30.0)
SLOPE_RANGE = (0.05, 5.0)
RESPONSE_RANGE = (1e-3, 1e3)


@dataclass(frozen=True, eq=False)
class MangledProblem:
    """A problem under generated names, and the way back.

    ``names`` and ``levels`` hold the user's words by the numbers in the generated names, ``scales`` what each column
    was multiplied by, ``plain`` the generated names of the user's columns as they are.
    """

    problem: Problem
    names: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]
    scales: tuple[float, ...]
    plain: dict[str, str]
    response_scale: float = 1.0

    def text(self, text: str) -> str:
        """Put the user's words back into a text of R's."""
        return GENERATED.sub(self._word, text)  # in one pass: a user's word may look like a generated one

    def _word(self, found: re.Match[str]) -> str:
        column, of_column, level = found.groups()
        return self.names[int(column) - 1] if column else self.levels[int(of_column) - 1][int(level) - 1]

    def texts(self, texts: Sequence[str]) -> tuple[str, ...]:
        """Put the user's words back into labels of R's, which breaks those of more than 500 characters into lines."""
        return tuple(self.text(BROKEN.sub(" ", text)) for text in texts)

    def scale(self, term: str) -> float:
        """Return what the columns of a coefficient, under its generated name, were multiplied by."""
        return prod(self.scales[int(number) - 1] for number in COLUMN.findall(term)) / self.response_scale

    def loglik(self, loglik: float, n: int, p: int) -> float:
        """Return the log likelihood of the user's response: multiplied by c, its density is c times smaller.

        A restricted likelihood is about n − p numbers.
        """
        counted = n - p if self.problem.REML else n
        return loglik + counted * log(self.response_scale)

    def reveal(self, found: Estimates) -> Estimates:
        """Return the estimates under the user's names and on the user's scales."""
        fixed = [effect == "fixed" for effect in found.effects]
        scale = np.where(fixed, [self.scale(term) for term in found.terms], 1.0)
        with np.errstate(invalid="ignore"):  # R's missing numbers are NaNs of a kind that numpy notices
            estimate, std_error = found.estimate * scale, found.std_error * scale
            vcov = found.vcov * np.outer(scale, scale)
            random = tuple(self._reveal_random(term) for term in found.random)
        return replace(
            found,
            terms=self.texts(found.terms),
            estimate=estimate,
            std_error=std_error,
            vcov=vcov,
            random=random,
            dropped=self.texts(found.dropped),
            levels=self.texts(found.levels),
            sigma=None if found.sigma is None else found.sigma / self.response_scale,
            loglik=self.loglik(found.loglik, len(found.rows), len(found.terms)),
            findings=tuple(self._reveal_finding(said) for said in found.findings),
        )

    def _reveal_finding(self, said: Finding) -> Finding:
        return replace(said, values={**said.values, "text": self.text(said.values["text"])})

    def _reveal_random(self, term: RandomTerm) -> RandomTerm:
        scale = np.array([self.scale(name) for name in term.terms])
        return RandomTerm(
            group=self.text(term.group),
            terms=self.texts(term.terms),
            levels=self.texts(term.levels),
            covariance=term.covariance * np.outer(scale, scale),
            modes=term.modes * scale,
            mode_sd=term.mode_sd * scale,
        )


def mangle_names(problem: Problem, rescaled: bool = False) -> MangledProblem:
    """Write a problem under generated names; ``rescaled`` brings columns into the range in which R is accurate.

    Examples
    --------
    >>> from ordbridge.models.prepare import prepare
    >>> data = {"y": [1.0, 2.0, 4.0, 3.0], "my system": list("ABAB"), "g": [1, 1, 2, 2]}
    >>> hidden = mangle_names(prepare("lmer", "y ~ `my system` + (1 | g)", data))
    >>> str(hidden.problem.formula), hidden.text("v2_l2_2_")
    ('v1_ ~ v2_ + (1 | v3_)', '`my system`B')
    """
    names_of = _NameTable(problem, rescaled)
    formula = problem.formula
    hidden = Formula(
        names_of.response(formula.response),
        names_of.summands(formula.fixed),
        tuple(Bar(names_of.summands(bar.summands), names_of.group(bar.group)) for bar in expand_bars(formula.random)),
    )
    hidden_problem = replace(
        problem,
        formula=hidden,
        columns=names_of.columns,
        scale=names_of.aside(problem.scale),
        nominal=names_of.aside(problem.nominal),
        weights=names_of.plain(problem.weights),
        offset=names_of.plain(problem.offset),
    )
    return MangledProblem(
        hidden_problem,
        tuple(names_of.names),
        tuple(names_of.levels),
        tuple(names_of.scales),
        {key[1]: name for key, name in names_of.taken.items() if key[0] == "plain"},
        names_of.response_scale,
    )


class _NameTable:
    """Hands out generated names, each once."""

    def __init__(self, problem: Problem, rescaled: bool) -> None:
        self.problem = problem
        self.rescaled = rescaled
        self.columns: dict[str, Column] = {}
        self.names: list[str] = []
        self.levels: list[tuple[str, ...]] = []
        self.scales: list[float] = []
        self.taken: dict[tuple[str, str], str] = {}
        self.response_scale = 1.0
        self.slopes = {n for bar in problem.formula.random for s in bar.summands for n in names(s.term)}

    def _name(self, kind: str, word: str, column: Column, scale: float = 1.0) -> Name:
        if (kind, word) not in self.taken:
            number = len(self.names) + 1
            new = f"v{number}_"
            self.taken[kind, word] = new
            self.names.append(word if kind == "group" else str(Name(word)))
            self.levels.append(column.levels)
            self.scales.append(scale)
            width = len(str(len(column.levels)))  # so that R's own order of text is the order of the levels
            levels = tuple(f"l{number}_{i + 1:0{width}d}_" for i in range(len(column.levels)))
            values = column.values * scale if column.kind == "numeric" else column.values
            self.columns[new] = Column(column.kind, values, levels, column.ordered)
        return Name(self.taken[kind, word])

    def response(self, node: Node) -> Node:
        if isinstance(node, Name) and self.rescaled and self.problem.model == "lmer":
            column = self.problem.columns[node.name]
            self.response_scale = _power_of_two(float(np.nanstd(column.values)), RESPONSE_RANGE)
            return self._name("response", node.name, column, self.response_scale)
        return self._inside(node)

    def summands(self, summands: Sequence[Summand]) -> tuple[Summand, ...]:
        return tuple(Summand(sign, self._term(term)) for sign, term in summands)

    def aside(self, summands: Sequence[Summand]) -> tuple[Summand, ...]:
        """Rename scale or nominal effects, which are never rescaled."""
        return tuple(Summand(sign, self._inside(term)) for sign, term in summands)

    def plain(self, name: str | None) -> str | None:
        """Rename a column that stands outside the formula."""
        return None if name is None else str(self._inside(Name(name)))

    def group(self, node: Node) -> Name:
        return self._name("group", group_name(node), grouping(node, self.problem.columns))

    def _term(self, node: Node) -> Node:
        """Rename in a term; a column on its own may be rescaled, one inside a function may not."""
        if isinstance(node, Name):
            column, scale = self.problem.columns[node.name], self._predictor_scale(node.name)
            return self._name("plain" if scale == 1.0 else "scaled", node.name, column, scale)
        return _renamed(node, self._term, self._inside)

    def _inside(self, node: Node) -> Node:
        if isinstance(node, Name):
            return self._name("plain", node.name, self.problem.columns[node.name])
        return _renamed(node, self._inside, self._inside)

    def _predictor_scale(self, name: str) -> float:
        column = self.problem.columns[name]
        if not (self.rescaled and self.problem.model == "clmm" and column.kind == "numeric"):
            return 1.0
        size = float(np.sqrt(np.nanmean(column.values**2)))
        return _power_of_two(size, SLOPE_RANGE if name in self.slopes else PREDICTOR_RANGE)


def _renamed(node: Node, term: Callable[[Node], Node], inside: Callable[[Node], Node]) -> Node:
    """Rebuild an expression from its renamed parts; what stands inside a function is renamed by ``inside``."""
    match node:
        case Call(function, arguments):
            return Call(function, tuple(inside(argument) for argument in arguments))
        case Unary(operator, operand):
            return Unary(operator, term(operand))
        case Binary(operator, left, right):
            return Binary(operator, term(left), term(right))
        case Paren(inner):
            return Paren(term(inner))
    return node


def _power_of_two(size: float, comfortable: tuple[float, float]) -> float:
    """Return the power of two that brings a size near one, or 1 where it is within the comfortable range."""
    if not np.isfinite(size) or size == 0.0 or comfortable[0] <= size <= comfortable[1]:
        return 1.0
    return 2.0 ** -floor(log2(size))
