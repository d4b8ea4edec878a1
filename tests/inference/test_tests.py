"""``fit.test``: what is tested, and that every method tests the same."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import ordbridge as ob
from ordbridge.cli import main
from ordbridge.models.inference import bootstrap
from ordbridge.models.inference.hypothesis import hypothesis
from ordbridge.results import findings_of
from ordbridge.support.progress import Progress

pytestmark = pytest.mark.filterwarnings("ignore::ordbridge.ConvergenceWarning")

MIXED = "rating ~ system + (1 | participant) + (1 | item)"


@pytest.fixture(scope="module")
def fit(four: pd.DataFrame) -> ob.Fit:
    return ob.clmm(MIXED, four, engine="fast")


def row(fit: ob.Fit, term: object, method: str = "wald", **options: object) -> dict:
    return fit.test(term, method, **options).to_pylist()[0]  # type: ignore[arg-type]


def notes(table: object) -> str:
    return "\n".join(one.what for one in findings_of(table))  # type: ignore[arg-type]


def test_wald_of_a_coefficient_is_the_printed_test(fit: ob.Fit) -> None:
    printed = {r["term"]: r for r in fit.tidy().to_pylist()}["systemC"]
    found = row(fit, "systemC")
    assert found["statistic"] == pytest.approx(printed["statistic"] ** 2, rel=1e-12)
    assert found["p_value"] == pytest.approx(printed["p_value"], rel=1e-10)


def test_wald_of_a_term_by_hand(fit: ob.Fit) -> None:
    e = fit.estimates
    own = [i for i, term in enumerate(e.terms) if term.startswith("system")]
    by_hand = e.estimate[own] @ np.linalg.inv(e.vcov[np.ix_(own, own)]) @ e.estimate[own]
    found = row(fit, "system")
    assert found["df"] == 3 and found["statistic"] == pytest.approx(by_hand, rel=1e-10)
    assert found["p_value"] == pytest.approx(stats.chi2.sf(by_hand, 3), rel=1e-10)


@pytest.mark.parametrize("method", ["wald", "lrt"])
def test_how_factors_are_coded_does_not_matter(method: str, four: pd.DataFrame) -> None:
    """Another reference level, orthogonal polynomials, contrasts of the same levels: one hypothesis, one p-value."""
    formula = "rating ~ system + length"
    found = [row(ob.clm(formula, four, engine="fast"), "system", method)]
    for levels, ordered in ((list("DBCA"), False), (list("ABCD"), True)):
        other = four.assign(system=pd.Categorical(four["system"], levels, ordered=ordered))
        found.append(row(ob.clm(formula, other, engine="fast"), "system", method))
    assert [r["statistic"] for r in found] == pytest.approx([found[0]["statistic"]] * 3, rel=1e-6)
    plain = ob.clm(formula, four, engine="fast")
    moved = ob.clm(formula, four.assign(system=pd.Categorical(four["system"], list("CABD"))), engine="fast")
    contrast = row(plain, {"systemB": 1, "systemC": -1}, method)
    assert contrast["term"] == "systemB - systemC"
    assert contrast["statistic"] == pytest.approx(row(moved, "systemB", method)["statistic"], rel=1e-6)


@pytest.mark.parametrize("model", ["clm", "lm"])
@pytest.mark.parametrize("method", ["wald", "lrt"])
def test_a_term_is_tested_with_its_interactions(model: str, method: str, four: pd.DataFrame) -> None:
    response = "rating" if model == "clm" else "score"
    larger = getattr(ob, model)(f"{response} ~ system * wide + length", four, engine="fast")
    smaller = getattr(ob, model)(f"{response} ~ length + wide", four, engine="fast")
    table = larger.test("system", method)
    found = table.to_pylist()[0]
    assert found["term"] == "system + system:wide" and found["df"] == 6
    assert "takes part in system:wide" in notes(table)
    if method == "lrt":
        assert found["statistic"] == pytest.approx(ob.anova(smaller, larger)["statistic"][1].as_py(), rel=1e-9)
    assert row(larger, "wide:system", method)["df"] == 3


def test_lm_f_is_the_comparison_of_two_fits(four: pd.DataFrame) -> None:
    def residual(formula: str) -> float:
        fit = ob.lm(formula, four, engine="fast")
        return float(fit.estimates.sigma or 0) ** 2 * float(fit.estimates.df[0])

    rss, rss0 = residual("score ~ system + length"), residual("score ~ length")
    found = row(ob.lm("score ~ system + length", four, engine="fast"), "system", "f")
    assert (found["df"], found["den_df"]) == (3, 187)
    assert found["statistic"] == pytest.approx((rss0 - rss) / 3 / (rss / 187), rel=1e-9)


def test_without_an_intercept_the_term_is_what_r_leaves_out(four: pd.DataFrame) -> None:
    """Without system, wide has a coefficient for each level: three combinations are tested, not four."""
    found = row(ob.lm("score ~ 0 + system + wide", four, engine="fast"), "system", "f")
    same = row(ob.lm("score ~ system + wide", four, engine="fast"), "system", "f")
    assert found["df"] == 3 and found["statistic"] == pytest.approx(same["statistic"], rel=1e-8)


def test_all_models_use_the_rows_of_the_fit(four: pd.DataFrame) -> None:
    """Without length, rows where it is missing would come back."""
    holes = four.assign(length=four["length"].where(np.arange(len(four)) % 7 > 0))
    whole = holes.dropna()
    for method in ("wald", "lrt", "bootstrap"):
        one, other = (
            row(ob.clm("rating ~ system + length", d, engine="fast"), "length", method, draws=19)
            for d in (holes, whole)
        )
        assert one["statistic"] == pytest.approx(other["statistic"], rel=1e-9)
        assert one["p_value"] == pytest.approx(other["p_value"], rel=1e-9)


def test_every_term_when_none_is_named(fit: ob.Fit, four: pd.DataFrame) -> None:
    assert fit.test()["term"].to_pylist() == ["system"]
    two = ob.clm("rating ~ system + length", four, engine="fast")
    assert two.test(method="lrt")["term"].to_pylist() == ["system", "length"]


@pytest.mark.parametrize(
    ("term", "method", "sentence"),
    [
        ("sistem", "wald", "'sistem' is not in this model; its terms are 'system' and its coefficients 'systemB'"),
        ("1|2", "wald", "'1|2' is a threshold"),
        ({"systemX": 1}, "wald", "there is no coefficient 'systemX'"),
        ({"systemB": 0}, "wald", "all weights of the contrast are zero"),
        ({"systemB": "1"}, "wald", "the weight of systemB is '1'"),
        (3, "wald", "3 is neither the name"),
        ("system", "f", "method='f' is for lm and lmer"),
        ("system", "score", "method='score' is not known"),
    ],
)
def test_refusals(fit: ob.Fit, term: object, method: str, sentence: str) -> None:
    with pytest.raises(ob.InputError, match=sentence.replace("|", r"\|")):
        fit.test(term, method)  # type: ignore[arg-type]


def test_bootstrap_counts(fit: ob.Fit) -> None:
    """P is (k + 1)/(n + 1) over ratios that anyone can compute from simulated responses."""
    tested = hypothesis(fit, "systemD")
    comparison, observed, _ = bootstrap.prepare(fit, tested, seed=5)
    drawn = np.array([comparison.one(i)[0] for i in range(19)])
    found = row(fit, "systemD", "bootstrap", draws=19, seed=5)
    used = drawn[: found["draws"]]
    assert found["statistic"] == pytest.approx(observed)
    assert found["p_value"] == (np.sum(used >= observed - 1e-6) + 1) / (len(used) + 1)
    assert found["mc_error"] == pytest.approx(math.sqrt(found["p_value"] * (1 - found["p_value"]) / len(used)))


def test_a_draw_is_a_likelihood_ratio_of_its_response(fit: ob.Fit, four: pd.DataFrame) -> None:
    tested = hypothesis(fit, "system")
    comparison, _, _ = bootstrap.prepare(fit, tested, seed=1)
    response = comparison.null.response(3)
    drawn = four.assign(rating=[int(response.levels[k]) for k in response.values])
    smaller = ob.clmm("rating ~ 1 + (1 | participant) + (1 | item)", drawn, engine="fast")
    ratio = 2 * (ob.clmm(MIXED, drawn, engine="fast").estimates.loglik - smaller.estimates.loglik)
    assert comparison.one(3)[0] == pytest.approx(ratio, abs=1e-6)


def test_bootstrap_stops_when_p_is_high_for_certain(fit: ob.Fit) -> None:
    table = fit.test("systemC", "bootstrap", draws=59, seed=2)
    found = table.to_pylist()[0]
    k = round(found["p_value"] * (found["draws"] + 1)) - 1
    assert found["draws"] < 59 and k == 6  # .1 × 60
    assert (k + 1) / 60 > 0.1
    assert f"stopped after {found['draws']} of 59 draws" in notes(table)


@pytest.mark.slow
def test_bootstrap_does_not_depend_on_processes_or_interruptions(
    fit: ob.Fit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"draws": 59, "seed": 7}
    alone = row(fit, "system", "bootstrap", **options)
    assert row(fit, "system", "bootstrap", **options, jobs=2) == alone
    store = tmp_path / "draws"

    def interrupt(progress: Progress) -> None:
        if progress.done == 25:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit.test("system", "bootstrap", **options, store=store, progress=interrupt)  # type: ignore[arg-type]
    kept = (store / "draws.csv").read_text().splitlines()
    assert len(kept) == 40  # two batches
    (store / "draws.csv").write_text("\n".join(kept)[:-4])  # the machine went down within a line
    done: list[int] = []
    one = bootstrap.LikelihoodRatios.one
    monkeypatch.setattr(bootstrap.LikelihoodRatios, "one", lambda self, i: done.append(i) or one(self, i))
    assert row(fit, "system", "bootstrap", **options, store=store) == alone
    assert done[0] == 39
    done.clear()
    assert row(fit, "systemB", "bootstrap", **options, store=store) != alone
    assert done[0] == 0  # the draws of another test are not taken


@pytest.mark.parametrize("content", [b"item,rating\na,1\nb,2", b"\xff\x00", b"0123456789abcdef,1,1.2.3\n", b"1,2,3\n"])
def test_a_store_of_draws_leaves_other_files_alone(content: bytes, fit: ob.Fit, tmp_path: Path) -> None:
    (tmp_path / "draws.csv").write_bytes(content)
    with pytest.raises(ob.InputError, match=r"draws\.csv (holds something other than draws|is not UTF-8)"):
        fit.test("system", "bootstrap", draws=19, store=tmp_path)
    assert (tmp_path / "draws.csv").read_bytes() == content


def test_a_store_of_draws_is_a_folder(fit: ob.Fit, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "draws.csv")
    with pytest.raises(ob.InputError, match="is a pipe"):
        fit.test("system", "bootstrap", draws=19, store=tmp_path)
    with pytest.raises(ob.InputError, match=r"draws\.csv is not a folder; draws are kept in one"):
        fit.test("system", "bootstrap", draws=19, store=tmp_path / "draws.csv")


def test_draws_that_cannot_be_fitted_are_counted(fit: ob.Fit, monkeypatch: pytest.MonkeyPatch) -> None:
    one = bootstrap.LikelihoodRatios.one
    monkeypatch.setattr(bootstrap.LikelihoodRatios, "one", lambda self, i: [math.nan] if i % 5 == 0 else one(self, i))
    table = fit.test("systemD", "bootstrap", draws=19)
    found = table.to_pylist()[0]
    assert found["failed"] == math.ceil(found["draws"] / 5)
    assert f"{found['failed']} of {found['draws']} draws could not be fitted" in notes(table)


@pytest.mark.parametrize(
    ("make", "formula"),
    [(ob.clm, "rating ~ system"), (ob.lm, "score ~ system"), (ob.lmer, "score ~ system + (1 | participant)")],
)
def test_bootstrap_of_every_model(make: Callable[..., ob.Fit], formula: str, four: pd.DataFrame) -> None:
    """Where χ² and F are good approximations, the bootstrap agrees with them within its Monte Carlo error."""
    fit = make(formula, four, engine="fast")
    other = row(fit, "system", "lrt")
    found = row(fit, "system", "bootstrap", draws=299)
    assert found["statistic"] == pytest.approx(other["statistic"], rel=1e-6)
    assert abs(found["p_value"] - other["p_value"]) < 4 * found["mc_error"] + 0.02


def test_the_command(four: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "ratings.csv"
    four.to_csv(file, index=False)
    command = ["fit", str(file), "--model", "clmm", "--formula", MIXED, "--engine", "fast", "--test", "bootstrap"]
    assert main([*command, "--draws", "19", "--term", "system", "--term", "systemB", "--json", "-"]) == 0
    said = capsys.readouterr()
    found = json.loads(said.out)["tables"]["tests"]
    expected = ob.clmm(MIXED, four, engine="fast").test("systemB", "bootstrap", draws=19).to_pylist()
    assert [r["term"] for r in found] == ["system", "systemB"] and found[1:] == expected
    assert said.err == ""  # progress is told from the fifth second on
    assert main([*command[:-1], "lrt"]) == 0
    assert "Tests\n" in capsys.readouterr().out


def test_a_draw_with_a_singular_hessian_is_fitted_or_counted(fit: ob.Fit, monkeypatch: pytest.MonkeyPatch) -> None:
    """What goes wrong in one draw says something about that draw, and does not end the test."""

    def broken(*problem: object) -> None:
        raise np.linalg.LinAlgError("Singular matrix")

    comparison, _, _ = bootstrap.prepare(fit, hypothesis(fit, "system"), seed=0)
    monkeypatch.setattr("ordbridge.fast.loglik", broken)
    assert math.isnan(comparison.one(0)[0])


def test_bartlett_divides_the_ratio_by_its_mean_in_the_draws(four, tmp_path):
    """The draws are those of the bootstrap; where p can be counted both agree, and it has no smallest value."""
    fit = ob.clmm("rating ~ system + (1 | participant)", four, engine="fast")
    term = {"systemB": 1.0}
    ratio = fit.test(term, "lrt")["statistic"][0].as_py()
    store = tmp_path / "draws"
    row = fit.test(term, "bartlett", draws=199, store=store).to_pylist()[0]
    counted = fit.test(term, "bootstrap", draws=199, store=store).to_pylist()[0]
    ratios = [float(line.split(",")[2]) for line in (store / "draws.csv").read_text().splitlines()]
    assert len(ratios) == 199 and row["statistic"] == pytest.approx(ratio / np.mean(ratios), rel=1e-4)
    assert row["p_value"] == pytest.approx(stats.chi2.sf(row["statistic"], 1))
    assert row["p_value"] == pytest.approx(counted["p_value"], abs=0.1)
    assert 0 < row["mc_error"] < 0.05 and row["draws"] == 199
    far = fit.test("system", "bartlett", draws=49).to_pylist()[0]
    assert far["df"] == 3 and far["draws"] == 49
