"""``ob.logs``: read logs of evaluations, compare models, plan the next run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from ordbridge.logs.analysis import LogQuestion, compare_table
from ordbridge.logs.result import LogComparison
from ordbridge.logs.table import log_table

__all__ = ["compare", "read"]


def read(paths: Any, *, cluster: str | None = None, runs: str = "ask") -> pa.Table:
    """Read logs of inspect_ai, lm-evaluation-harness, promptfoo, MT-bench or AlpacaEval as one table.

    Parameters
    ----------
    paths
        A file, a folder, or several of them.
    cluster
        Field of the samples (inspect_ai's metadata, lm-eval's document, promptfoo's variables) that says which belong
        together, such as the passage that several questions are about.
    runs
        What several logs of one model and task are: ``"epochs"``, repetitions; ``"latest"``, only the last counts;
        by default that is asked.

    Returns
    -------
    pyarrow.Table
        model, task, sample, epoch, scorer, score, cluster, error; one row per sample, epoch and scorer. ``score`` is
        null where there is none; ``error`` says why (``error``, ``unscored``), or what to know of the score (``limit``,
        ``no answer``).

    Examples
    --------
    >>> import json, pathlib, tempfile
    >>> line = {"question_id": 81, "turn": 1, "model": "a", "judge": ["gpt-4", "single-v1"], "score": 7}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "judgements.jsonl"
    ...     _ = file.write_text(json.dumps(line))
    ...     read(file).to_pylist()[0]["score"]
    7.0
    """
    return log_table(paths, cluster=cluster, runs=runs)


def compare(
    logs: Any,
    *,
    scorer: str | Sequence[str] | None = None,
    task: str | Sequence[str] | None = None,
    cluster: str | None = None,
    runs: str = "ask",
    reference: str | None = None,
    adjust: str = "holm",
    conf_level: float = 0.95,
    errors: str = "omit",
    pass_at: int | None = None,
    lower_is_better: str | Sequence[str] | None = None,
    higher_is_better: str | Sequence[str] | None = None,
    fail_if_worse: float | None = None,
    model: str | None = None,
    engine: str = "r",
) -> LogComparison:
    r"""Say which model is better, from logs of an evaluation harness.

    The answer is about new items of the same tasks. Only items that all models have count, and the item is the unit:
    its answers in several epochs are averaged first. Right and wrong in one epoch is tested by McNemar's mid-p test
    with the interval of Bonett & Price, everything else by a paired t on item means; with clusters the standard error
    is robust. All comparisons of all tasks are corrected together.

    Parameters
    ----------
    logs
        Files or folders, or what :func:`read` returned.
    scorer, task
        Which ones, if the logs have several.
    cluster, runs
        See :func:`read`.
    reference
        A model with which all others are compared, in place of all pairs.
    adjust
        ``"holm"``, ``"bonferroni"``, ``"sidak"``, ``"fdr"`` or ``"none"``.
    conf_level
        Level of the intervals; 1 − conf_level is the level of the tests.
    errors
        ``"omit"``: answers that ended in errors are left out. ``"wrong"``: they count as wrong.
    pass_at
        Compare pass@k, the probability that one of k answers is right.
    lower_is_better, higher_is_better
        Scorers whose direction the logs do not say.
    fail_if_worse
        Add the finding ``worse-than-margin`` where the first model is worse than the second by more than so many
        points: where its whole interval is.
    model, engine
        ``"clmm"`` adds R's ordinal model with (model | item), for scores of a few levels.

    Examples
    --------
    >>> import json, pathlib, tempfile
    >>> scores = {"a": [7, 8, 5, 9, 6, 7], "b": [5, 7, 5, 6, 5, 4]}
    >>> lines = [{"question_id": 81 + n, "turn": 1, "model": model, "judge": ["gpt-4", "single-v1"], "score": score}
    ...          for model, each in scores.items() for n, score in enumerate(each)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "judgements.jsonl"
    ...     _ = file.write_text("\n".join(map(json.dumps, lines)))
    ...     print(compare(file).answer.splitlines()[0])
    MT-bench: a is better: +1.67 points (95% CI 0.40 to 2.94, p = .020); a 7.00, b 5.33 on 6 items.
    """
    table = logs if isinstance(logs, pa.Table) else log_table(logs, cluster=cluster, runs=runs)
    asked = LogQuestion(
        scorer, task, reference, adjust, conf_level, errors, pass_at, lower_is_better, higher_is_better, fail_if_worse,
        model, engine,
    )  # fmt: skip
    return compare_table(table, asked)
