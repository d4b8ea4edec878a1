"""Several criteria together, the quick answer, and how far a long run is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ordbridge as ob
from ordbridge.cli import main, talk
from ordbridge.comparison import CompareOptions
from ordbridge.comparison.overall import weights_of
from ordbridge.errors import InputError
from ordbridge.support.progress import Progress


def study(errors: bool = False) -> pd.DataFrame:
    """Two criteria on one scale, on which four systems have other effects; wide, a column for each."""
    random = np.random.default_rng(41)
    p, i, s = (one.ravel() for one in np.indices((10, 12, 4)))
    own = random.normal(0, 0.4, 10)[p] + random.normal(0, 0.3, 12)[i]
    first = np.array([0.0, 0.4, 0.8, 1.2])[s] + own + random.normal(0, 0.7, len(s))
    second = np.array([0.0, 0.5, 0.7, 1.3])[s] + own + random.normal(0, 0.7, len(s))
    rating = [np.clip(np.round(3 + one), 1, 5).astype(int) for one in (first, second)]
    names = {"participant": [f"p{k}" for k in p], "item": [f"i{k}" for k in i], "system": np.array(list("ABCD"))[s]}
    table = pd.DataFrame({**names, "fluency": rating[0], "coverage": rating[1]})
    return table.assign(coverage=20 * (6 - table.coverage)) if errors else table


def compared(table: pd.DataFrame, **options):
    read = ob.read(table, rating=["fluency", "coverage"], lower_is_better=options.pop("lower", None))
    return ob.compare(read, engine="fast", model="lmer", force=True, options=CompareOptions(**options))


@pytest.mark.slow
def test_overall_is_the_analysis_of_the_weighted_mean() -> None:
    table = study()
    found = compared(table, overall={"fluency": 3, "coverage": 1})
    assert found.criteria == ("fluency", "coverage", "overall") and found.settings["comparisons"] == 18
    by_hand = table.assign(rating=0.75 * table.fluency + 0.25 * table.coverage).drop(columns=["fluency", "coverage"])
    own = ob.compare(by_hand, engine="fast", model="lmer", force=True).pairs.to_pylist()
    for row, expected in zip(found.rows("pairs", "overall"), own, strict=True):
        assert [row["system_a"], row["system_b"]] == [expected["system_a"], expected["system_b"]]
        assert row["p_value"] == pytest.approx(expected["p_value"], rel=1e-6)
    (said,) = (one for one in found.findings if one.code == "overall-weights")
    assert "fluency 75% and coverage 25%, in points, over 480 ratings" in said.text
    assert found.answer.splitlines()[-1].startswith("overall (fluency 75% and coverage 25%): ")
    assert compared(table).criteria == ("fluency", "coverage")  # only if asked


@pytest.mark.slow
def test_correlations_of_system_effects_are_those_of_the_expected_ratings() -> None:
    found = compared(study())
    means = {name: {row["system"]: row["estimate"] for row in found.rows("ranking", name)} for name in found.criteria}
    (row,) = found.criteria_together.to_pylist()
    x, y = ([means[name][one] for one in "ABCD"] for name in ("fluency", "coverage"))
    assert row["systems"] == 4 and row["correlation"] == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-12)
    assert row["conf_low"] < row["correlation"] < row["conf_high"] <= 1


@pytest.mark.slow
def test_other_scales_and_directions_are_put_on_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Coverage as a penalty from 20 to 100: the same answer as with coverage as it was, up to the units."""
    turned = compared(study(errors=True), overall="equal", lower=["coverage"])
    plain = study()
    z = plain.assign(
        fluency=plain.fluency / plain.fluency.std(ddof=0), coverage=plain.coverage / plain.coverage.std(ddof=0)
    )
    by_hand = z.assign(rating=(z.fluency + z.coverage) / 2).drop(columns=["fluency", "coverage"])
    own = ob.compare(by_hand, engine="fast", model="lmer", force=True).pairs["p_value"].to_pylist()
    assert [row["p_value"] for row in turned.rows("pairs", "overall")] == pytest.approx(own, rel=1e-6)
    assert "standard deviations" in next(one.text for one in turned.findings if one.code == "overall-weights")
    plain.to_csv(tmp_path / "wide.csv", index=False)
    words = [
        "compare",
        str(tmp_path / "wide.csv"),
        "--rating",
        "fluency",
        "coverage",
        "--engine",
        "fast",
        "--quick",
        "--explain",
    ]
    assert main([*words, "--overall", "fluency=2", "coverage=1"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "overall (fluency 67% and coverage 33%): D is rated highest" in shown


def test_weights_that_cannot_be() -> None:
    assert weights_of("equal", ["a", "b"]) == {"a": 0.5, "b": 0.5} == weights_of([], ["a", "b"])
    for asked, words in (
        (["c=1"], "no criterion 'c'"),
        (["a=x"], "a number as its weight, not 'x'"),
        ({"a": -1.0}, "positive"),
    ):
        with pytest.raises(InputError, match=words):
            weights_of(asked, ["a", "b"])
    one = study().drop(columns="coverage").rename(columns={"fluency": "rating"})
    with pytest.raises(InputError, match="overall is for ratings on several criteria"):
        ob.compare(one, engine="fast", options=CompareOptions(overall="equal"))


@pytest.mark.slow
def test_the_quick_answer_says_what_is_open() -> None:
    table = study().drop(columns="coverage").rename(columns={"fluency": "rating"})
    table = table[table.participant.isin(["p0", "p1", "p2", "p3"])]
    quick, whole = (ob.compare(table, engine="fast", options=CompareOptions(quick=one)) for one in (True, False))
    assert quick.pairs["p_adjusted"].to_pylist() == whole.pairs["p_adjusted"].to_pylist()
    assert set(quick.pairs["latent_p_value"].to_pylist()) == {None} != set(whole.pairs["latent_p_value"].to_pylist())
    (said,) = (one for one in quick.findings if one.code == "quick-answer")
    assert said.severity == "warning" and not said.subject
    first = next(one for one in quick.findings if one.severity == "warning")
    assert first == said and "this is the quick answer" in str(quick).lower()
    assert "R's ordinal model" in said.text
    latent = ob.compare(table, estimand="latent", engine="fast", options=CompareOptions(quick=True))
    assert set(latent.pairs["test"].to_pylist()) == {"t"}
    (said,) = (one for one in latent.findings if one.code == "quick-answer")
    assert said.severity == "warning" and "bootstrap" in said.text


def test_a_line_of_progress_comes_after_five_seconds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = [100.0]
    monkeypatch.setattr(talk.time, "monotonic", lambda: clock[0])
    with talk.progress(False) as tell:
        for second in range(31):
            clock[0] = 100.0 + second
            tell(Progress(second, 30, 1.0, 30.0 - second, 0, "draws"))
    told = capsys.readouterr().err.splitlines()
    assert [line.split()[0] for line in told] == ["5", "15", "25", "30"] and "25 s left" in told[0]
    clock[0] = 100.0
    with talk.progress(False) as tell:
        tell(Progress(3, 3, 1.0, 0.0, 0))
    assert capsys.readouterr().err == ""  # what is done before five seconds needs no line
