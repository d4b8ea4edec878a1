"""Reports on every kind of result: whole, honest, and working in a browser."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import ordbridge as ob
from ordbridge.cli import main
from ordbridge.errors import InputError
from ordbridge.papers import gladkoff2023
from ordbridge.planning import plan
from ordbridge.power import Grid, run
from ordbridge.report.build import page, write_report
from ordbridge.report.manuscript import latex, main_table, markdown, methods, references
from ordbridge.report.paragraphs import without_options
from ordbridge.simulate import Truth, ratings
from ordbridge.tables import write

pytestmark = pytest.mark.slow
TRUTH = Truth(effects=(0.6,), thresholds=(-1, 0, 1), participant_sd=(0.4, 0.0), item_sd=(0.4, 0.0))
FORMULA = "rating ~ system + (1 | participant) + (1 | item)"


@pytest.fixture(scope="module")
def data():
    return ratings(ob.design.crossed(items=20, raters=5), TRUTH, seed=1)


@pytest.fixture(scope="module")
def results(data):
    design = {"kind": "counterbalanced", "texts_per_participant": 10}
    grid = Grid(truth=TRUTH, design=design, items=[20, 40], ratings_per_text=2, effect=[0.0, 0.6])
    vary = {"items": [20, 40, 80], "ratings_per_text": [1, 2]}
    return {
        "fit": ob.clmm(FORMULA, data, link="probit", engine="fast"),
        "run": run(grid, ["lm", "clm"], sims=20, engine="fast"),
        "plan": plan(TRUTH, model="clm", vary=vary, texts_per_participant=10, datasets=200, most=100),
        "reliability": ob.reliability.analyse(_by_text(data)),
        "scales": ob.reliability.scales.compare(data, _doubled(data), names=("five", "slider")),
        "reproduction": gladkoff2023.reproduce(),
    }


def _doubled(data):
    return data.set_column(
        data.column_names.index("rating"), "rating", pa.array([2.0 * int(v) for v in data["rating"].to_pylist()])
    )


def _by_text(data):
    """Return the ratings with an item a text, so that nobody rates one twice."""
    texts = [f"{item}{system}" for item, system in zip(*(data[c].to_pylist() for c in ("item", "system")), strict=True)]
    return data.set_column(data.column_names.index("item"), "item", pa.array(texts))


PICTURES = {"fit": 3, "run": 1, "plan": 2, "reliability": 5, "scales": 1, "reproduction": 2}
EVERY = pytest.mark.parametrize("kind", list(PICTURES))


@EVERY
def test_a_report_has_answer_picture_table_checks_methods_and_command(results, kind):
    html = page(results[kind], repeat="ordbridge <again>").html()
    body = html.partition("<main>")[2]
    marks = [
        "<h1>",
        "<svg",
        "<table",
        "<h2>Checks",
        "<h2>For the paper",
        "<h2>How to repeat it",
        "<h2>More",
        "<details>",
    ]
    places = [body.index(mark) for mark in marks]
    assert places == sorted(places)
    assert re.search("<h1>[^<]{20,200}</h1>", html)  # a sentence, and a short one
    assert html.count("<figure>") == PICTURES[kind]
    assert html.count("<table") >= 2 - (kind == "plan")
    assert "ordbridge &lt;again&gt;" in html
    assert f"ordbridge {ob.__version__}" in html
    text = re.sub("<[^>]*>", "", html.partition("</style>")[2].partition("<script>")[0])
    assert "nan" not in re.findall(r"[a-z]+", text)
    above = re.sub("<[^>]*>", " ", body[: body.index("<h2>Checks")])
    assert not re.search(r"\w+_\w+=|ratings_per_text|conf_low|[a-z]+=\d", above)  # no options, no names of code


def test_the_methods_paragraph_says_what_was_done(results):
    fit = methods(results["fit"])
    assert FORMULA in fit
    assert "200 ratings (20 items, 5 participants)" in fit
    assert "probit link" in fit
    assert "native engine" in fit
    assert "20 datasets for each of 4 cells (seed 0)" in methods(results["run"])
    assert "The levels of the factors were, in order, system: A (reference), B." in fit
    for kind in ("run", "plan"):
        assert "The systems are A (the reference) and B." in methods(results[kind])
        assert "The systems are A (the reference) and B." in page(results[kind]).html()
    asked = results["plan"].asked
    assert f"{asked['datasets']} datasets" in methods(results["plan"])
    assert without_options(results["plan"].sentence) in methods(results["plan"])
    assert not any("R Core Team" in reference for reference in references(results["plan"]))
    assert "5 raters gave 200 ratings of 40 items, at the ordinal level" in methods(results["reliability"])
    assert "95% jackknife intervals, about raters like these" in methods(results["reliability"])
    assert "Of 31 claims of the paper: 28 hold, 3 come out corrected." in methods(results["reproduction"])


def test_the_references_are_those_that_were_used(results):
    cited = "\n".join(references(results["reliability"]))
    for author in ("Amidei", "Fleiss, J. L. (1971)", "Conger", "Gwet", "Krippendorff", "Goodman", "Cohen, J. (1960)"):
        assert author in cited
    assert "Shrout" not in cited  # the ICC is for interval scales
    assert references(results["reproduction"])[0] == gladkoff2023.REFERENCE
    assert any("Clopper" in reference for reference in references(results["run"]))
    versions = {"R": "4.2.2", "lmerTest": "3.1-3"}
    by_r = replace(results["reproduction"], versions=versions)
    assert "lmerTest 3.1-3 in R 4.2.2" in methods(by_r)
    assert any("R Core Team" in r and "4.2.2" in r for r in references(by_r))


@pytest.mark.needs_r
def test_the_methods_paragraph_of_r_names_versions(data):
    fit = ob.lmer("rating ~ system + (1 | item)", data)
    version = fit.glance()["package_version"][0].as_py().partition(" ")[2]
    assert f"lmerTest {version} in R {fit.glance()['r_version'][0].as_py()}" in methods(fit)
    assert any("Kuznetsova" in reference and version in reference for reference in references(fit))
    assert any("R Core Team" in reference for reference in references(fit))


def test_markdown_and_latex_have_every_row(results):
    table = main_table(results["fit"])
    assert table["term"].to_pylist() == ["1|2", "2|3", "3|4", "systemB"]
    text = markdown(results["fit"])
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) == 2 + table.num_rows
    assert len({re.sub(r"\\\|", "", row).count("|") for row in rows}) == 1
    typeset = latex(results["fit"], caption="50 % & more", label="tab:fit")
    assert typeset.count(r" \\") == 1 + table.num_rows
    assert r"\caption{50 \% \& more}" in typeset
    assert r"1\textbar{}2" in typeset
    assert methods(results["fit"]) in text
    with pytest.raises(InputError, match="of type int; give a fit, a comparison, a power run, a plan"):
        methods(3)


@EVERY
def test_latex_has_no_character_that_pdflatex_refuses(results, kind):
    typeset = latex(results[kind])
    known = set("äöüéèáàóòñç'’“”·")
    assert {c for c in typeset if ord(c) > 127} <= known
    assert typeset.count(r"\begin{tabular}") == 1
    columns = re.search(r"\\begin\{tabular\}\{(.*)\}", typeset).group(1)
    count = len(re.findall(r"[lr]|p\{[^}]*\}", columns))
    rows = re.findall(r"^.* \\\\$", typeset, re.MULTILINE)
    assert len(rows) == main_table(results[kind]).num_rows + 1
    assert {len(re.findall(r"(?<!\\)&", row)) for row in rows} == {count - 1}


@pytest.mark.skipif(not (shutil.which("pdflatex")), reason="no LaTeX here")
def test_latex_compiles(results, tmp_path):
    body = "\n".join(latex(results[kind]) for kind in results)
    packages = r"\usepackage[utf8]{inputenc}\usepackage[T1]{fontenc}\usepackage{booktabs,textcomp}"
    (tmp_path / "t.tex").write_text(rf"\documentclass{{article}}{packages}\begin{{document}}{body}\end{{document}}")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"], cwd=tmp_path, check=False
    )
    assert done.returncode == 0


def test_the_commands_write_reports(data, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write(data, "ratings.csv")
    options = ["--html", "fit.html", "--latex", "fit.tex", "--markdown", "fit.md"]
    assert (
        main(["fit", "ratings.csv", "--model", "clm", "--formula", "rating ~ system", "--engine", "fast", *options])
        == 0
    )
    assert "written: fit.html" in capsys.readouterr().out
    assert "<h1>" in (tmp_path / "fit.html").read_text(encoding="utf-8")
    assert r"\toprule" in (tmp_path / "fit.tex").read_text(encoding="utf-8")
    assert "| systemB |" in (tmp_path / "fit.md").read_text(encoding="utf-8")
    TRUTH.to_toml("truth.toml")
    small = ["--model", "lm", "--items", "20", "--ratings", "2", "--texts-per-participant", "10", "--most", "20"]
    assert main(["plan", "--truth", "truth.toml", *small, "--jobs", "1", "--html", "plan.html", "--quiet"]) == 0
    assert "How many items, how many raters?" in (tmp_path / "plan.html").read_text(encoding="utf-8")
    study = ["--preset", "howcroft2021", "--variance", "low", "--items", "20", "--ratings", "3", "--effects", "0.62"]
    few = ["--models", "lm", "--engine", "fast", "--sims", "5", "--store", "run", "--quiet"]
    write(_by_text(data), "texts.csv")
    kinds = {
        "power": [*study, *few],
        "reliability": ["texts.csv"],
        "reproduce": ["gladkoff2023", "--out", "out"],
    }
    for command, words in kinds.items():
        files = {ending: f"{command}.{ending}" for ending in ("html", "tex", "md")}
        options = zip(("--html", "--latex", "--markdown"), files.values(), strict=True)
        assert main([command, *words, *(word for pair in options for word in pair)]) == 0
        assert f"wrote {files['html']}" in capsys.readouterr().out
        assert "<h2>For the paper" in (tmp_path / files["html"]).read_text(encoding="utf-8")
        assert r"\toprule" in (tmp_path / files["tex"]).read_text(encoding="utf-8")
        assert (tmp_path / files["md"]).read_text(encoding="utf-8").startswith("| ")
    assert "<h2>How to repeat it" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    wrong = ["--markdown", "nowhere/fit.md"]
    assert (
        main(["fit", "ratings.csv", "--model", "lm", "--formula", "rating ~ system", "--engine", "fast", *wrong]) == 2
    )


def test_the_file_is_written_whole(results, tmp_path):
    assert write_report(results["fit"], tmp_path / "report.html").read_text(encoding="utf-8").endswith("</html>\n")


def test_what_is_the_same_in_every_row_is_said_once(results):
    html = page(results["run"]).html()
    assert "In all rows: ratings per text 2, engine fast, term systemB" in html
    assert ">engine<" not in html


def test_a_report_on_unequal_spread_and_moving_thresholds() -> None:
    random = np.random.default_rng(3)
    system = np.arange(400) % 2
    latent = 0.4 * system + random.normal(size=400) * np.where(system, 2.0, 1.0)
    data = {"rating": 1 + (latent[:, None] > [-0.8, 0.1, 1.0]).sum(axis=1), "system": np.array(["A", "B"])[system]}
    html = page(ob.clm("rating ~ system", data, scale="~ system", engine="fast")).html()
    for words in (
        "rating ~ system; scale ~ system",
        "The residual spread of systemB is ",
        "times that of the reference",
        "Do the levels of system spread differently? Yes",
        "Scale effects are on the logarithm of the residual standard deviation",
    ):
        assert words in html
    html = page(ob.clm("rating ~ 1", data, nominal="~ system", engine="fast")).html()
    assert "system moves every threshold on its own: χ²(3) = " in html


def test_headline_and_table_of_a_fit_decide_by_the_same_test() -> None:
    """Here the interval in points excludes 0, but Wald's test of the coefficient, which R prints, has p = .067."""
    random = np.random.default_rng(7)
    latent = np.concatenate([random.logistic(0.0, 1.0, 12), random.logistic(1.6, 1.0, 12)])
    data = {"rating": 1 + np.searchsorted([-1, 0, 1, 2], latent), "system": ["A"] * 12 + ["B"] * 12}
    fit = ob.clm("rating ~ system", data, engine="fast")
    (difference,) = [row for row in fit.means("system").to_pylist() if row["what"] == "difference"]
    assert difference["conf_high"] < 0 and difference["p_value"] < 0.05
    html = re.sub(r"[\u00a0\u202f]", " ", page(fit).html())
    assert "B and A cannot be told apart: B is rated 1.03 points higher (95 % interval 0.01 to 2.04; p = .067)." in html
    assert "What differs is decided by Wald&#x27;s tests of the coefficients, as R prints them" in html
    assert f"{difference['p_value']!r}" not in html


def test_pairs_of_a_fit_are_called_different_after_the_correction() -> None:
    """The p-values in points are those of the coefficients, corrected over the pairs."""
    from ordbridge.models.inference.adjust import holm
    from ordbridge.report.fitted import _tested

    random = np.random.default_rng(1)
    system = np.arange(90) % 3
    rated = {"rating": 1 + np.searchsorted([-1, 0, 1], 0.5 * system + random.logistic(size=90)), "system": system}
    rated["system"] = np.array(["A", "B", "C"])[system]
    levels = [["A", "B", "C"], ["B", "A", "C"]]
    alone = []
    for order in levels:
        table = pa.table({**rated, "system": pa.array(rated["system"])})
        first = order[0]
        renamed = [f"0{name}" if name == first else name for name in table["system"].to_pylist()]
        rows = ob.clm("rating ~ system", table.set_column(1, "system", pa.array(renamed)), engine="fast").tidy()
        alone.append({row["term"]: row["p_value"] for row in rows.to_pylist() if row["effect"] == "fixed"})
    pairs = [alone[0]["systemB"], alone[0]["systemC"], alone[1]["systemC"]]
    fit = ob.clm("rating ~ system", rated, engine="fast")
    assert _tested(fit, "system") == pytest.approx(holm(np.array(pairs)), rel=1e-6)
