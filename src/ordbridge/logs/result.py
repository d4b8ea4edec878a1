"""What a comparison of logs returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from ordbridge import __version__
from ordbridge.logs import wording
from ordbridge.render import figures
from ordbridge.render.layout import Figures, Section, ShownPicture, ShownTable
from ordbridge.results.finding import Finding
from ordbridge.results.result import Result
from ordbridge.support.formatting import listed

__all__ = ["LogComparison"]

REFERENCES = {
    "mcnemar": (
        "Bonett, D. G. & Price, R. M. (2012). Adjusted Wald confidence interval for a difference of binomial "
        "proportions based on paired data. Journal of Educational and Behavioral Statistics 37, 479–488.",
        "Fagerland, M. W., Lydersen, S. & Laake, P. (2013). The McNemar test for binary matched-pairs data: mid-p and "
        "asymptotic are better than exact conditional. BMC Medical Research Methodology 13, 91.",
    ),
    "t": ("Miller, E. (2024). Adding error bars to evals: a statistical approach to language model evaluations. "
          "arXiv:2411.00640.",),
    "cluster": ("Liang, K.-Y. & Zeger, S. L. (1986). Longitudinal data analysis using generalized linear models. "
                "Biometrika 73, 13–22.",),
    "none": (),
}  # fmt: skip
HOLM = (
    "Holm, S. (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal of Statistics 6, "
    "65–70."
)
MOST_SENTENCES = 40
CHEN = "Chen, M. et al. (2021). Evaluating large language models trained on code. arXiv:2107.03374."


@dataclass(frozen=True, eq=False, repr=False)
class LogComparison(Result):
    """Which model is better, from logs of evaluations; about new items of the same tasks.

    Attributes
    ----------
    pairs
        task, scorer, system_a, system_b, difference (of the first from the second, in percentage points or points of
        the score), conf_low, conf_high (at the level of the corrected test), p_value, p_adjusted, better (the model
        that is significantly better, or null), std_error, df, statistic, test (``mcnemar``, ``t``, ``cluster`` or
        ``none``), items (that both have), clusters, only_a and only_b (items that only one got right), run_noise (share
        of the variance of item differences), variance (of the difference, for one item), detectable (the smallest
        difference with 80% power), percent, lower_is_better, interval_alpha.
    scores
        task, scorer, model, estimate (on common items), conf_low, conf_high, items, epochs, reported (on all items of
        the model), own_items, errors, unscored, limits, no_answers, answers and scored (of all models).
    logs
        file, harness, version, model, task, status, answers, items, errors, limits, no_answers, unscored.
    """

    kind: ClassVar[str] = "log-comparison"
    pairs: pa.Table
    scores: pa.Table
    logs: pa.Table
    findings: tuple[Finding, ...]
    settings: Mapping[str, Any]

    def __repr__(self) -> str:
        """Say in one line what was compared."""
        return f"<comparison of {', '.join(self.models)}: {'; '.join(self.answer.splitlines())}>"

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models."""
        return tuple(dict.fromkeys(self.scores["model"].to_pylist()))

    @property
    def one_scorer(self) -> bool:
        """Whether there is only one scorer."""
        return len(set(self.scores["scorer"].to_pylist())) == 1

    @property
    def title(self) -> str:  # type: ignore[override]
        """What the report is called."""
        return f"Comparison of {listed(list(self.models)) if len(self.models) < 5 else f'{len(self.models)} models'}"

    @property
    def answer(self) -> str:  # type: ignore[override]
        """A line for each task and what could have been found; of several tasks first how many differ."""
        tasks, (clear, *rest) = wording.task_lines(self), wording.conclusion(self) or [""]
        lines = [*tasks, clear, *rest] if len(tasks) == 1 else [clear, *tasks, *rest]
        return "\n".join(line for line in lines if line)

    @property
    def counted(self) -> str:  # type: ignore[override]
        """What was read, and how the models were compared."""
        scorers = listed(sorted(set(self.scores["scorer"].to_pylist())))
        tests = dict.fromkeys(wording.TESTS[test] for test in self.pairs["test"].to_pylist())
        passed = "" if self.settings["pass_at"] is None else f"pass@{self.settings['pass_at']}; "
        how = f"Scorer {scorers}; {passed}{'; '.join(tests)}."
        return f"{wording.read_line(self)} {how} The answer is about new items of these tasks."

    @property
    def tables(self) -> dict[str, pa.Table]:
        """All tables by name."""
        return {"pairs": self.pairs, "scores": self.scores, "logs": self.logs}

    def estimate(self, task: str, scorer: str, model: str) -> float:
        """Return the score of a model on the common items, in the unit that is shown."""
        return next(
            float(row["estimate"])
            for row in self.scores.to_pylist()
            if (row["task"], row["scorer"], row["model"]) == (task, scorer, model)
        )

    def main(self) -> Sequence[ShownTable]:
        """Return the differences."""
        names = ["task", "scorer", "system_a", "system_b", "difference", "conf_low", "conf_high", "p_adjusted", "items"]
        hidden = {"scorer"} if self.one_scorer else set()
        shown = self.pairs.select([name for name in names if name not in hidden])
        titles = {"system_a": "model", "system_b": "against", "difference": "points"}
        return [ShownTable(shown, names=titles)]

    def picture(self) -> ShownPicture:
        """Return the picture of the differences."""
        level = f"{100 * self.settings['conf_level']:g}%"
        return ShownPicture("differences", f"Differences between models on common items, with {level} intervals")

    def results(self) -> str:
        """Return every difference in a sentence."""
        rows = self.pairs.to_pylist()[:MOST_SENTENCES]
        shown = [f"{row['task']}: {wording.difference(row, self.settings['conf_level'])}." for row in rows]
        return " ".join([*shown, *wording.conclusion(self)])

    def sections(self) -> Sequence[Section]:
        """Return the picture, and what is behind the differences."""
        scores = self.scores.drop_columns(["scorer"] if self.one_scorer else [])
        return [
            Section("Scores", (ShownTable(scores),)),
            Section("Differences in numbers", (ShownTable(self.pairs),), folded=True),
            Section("Logs", (ShownTable(self.logs.drop_columns(["file"])),), folded=True),
        ]

    def figures(self) -> Figures:
        """Return the differences."""
        rows = [
            {**row, "label": f"{row['task']}: {row['system_a']} – {row['system_b']}", "differs": bool(row["better"])}
            for row in self.pairs.to_pylist()
        ]
        unit = "percentage points" if all(row["percent"] for row in rows) else "points"
        return Figures({"differences": lambda: figures.differences(rows, self.settings["conf_level"], unit)})

    def methods(self) -> str:
        """Return the paragraph for the methods section."""
        tests = listed(list(dict.fromkeys(wording.TESTS[test] for test in self.pairs["test"].to_pylist())))
        items = sorted(set(self.pairs["items"].to_pylist()))
        said = [
            f"We compared {listed(list(self.models))} on the items that all of them have "
            f"({items[0]}{f' to {items[-1]}' if items[-1] > items[0] else ''} per task), by {tests}.",
        ]
        if max(self.scores["epochs"].to_pylist(), default=1) > 1:
            said.append("Answers of one item in several epochs were averaged first, so the item is the unit.")
        if self.settings["pass_at"] is not None:
            said.append(f"Items have the unbiased estimate of pass@{self.settings['pass_at']} (Chen et al. 2021).")
        if self.pairs.num_rows > 1 and self.settings["adjust"] != "none":
            method = "Holm's method" if self.settings["adjust"] == "holm" else self.settings["adjust"]
            said.append(f"P-values and intervals are corrected over {self.pairs.num_rows} comparisons by {method}.")
        return " ".join([*said, f"Computed with ordbridge {__version__}."])

    def references(self) -> list[str]:
        """Return the references that the paragraph needs."""
        tests = dict.fromkeys(self.pairs["test"].to_pylist())
        found = [one for test in tests for one in REFERENCES[test]]
        if self.pairs.num_rows > 1 and self.settings["adjust"] == "holm":
            found.append(HOLM)
        if self.settings["pass_at"] is not None:
            found.append(CHEN)
        return [f"ordbridge {__version__}.", *found]
