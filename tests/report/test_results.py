"""Reports on every kind of result: whole, honest, and working in a browser."""

from __future__ import annotations

import json
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
from ordbridge.report.html import Page
from ordbridge.report.manuscript import latex, main_table, markdown, methods, references
from ordbridge.simulate import Truth, ratings
from ordbridge.tables import write

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
        "reproduction": gladkoff2023.reproduce(),
    }


def _by_text(data):
    """Return the ratings with an item a text, so that nobody rates one twice."""
    texts = [f"{item}{system}" for item, system in zip(*(data[c].to_pylist() for c in ("item", "system")), strict=True)]
    return data.set_column(data.column_names.index("item"), "item", pa.array(texts))


PICTURES = {"fit": 2, "run": 1, "plan": 1, "reliability": 5, "reproduction": 2}
EVERY = pytest.mark.parametrize("kind", list(PICTURES))


@pytest.mark.slow
@EVERY
def test_a_report_has_question_answer_table_picture_methods_and_command(results, kind):
    html = page(results[kind], repeat="ordbridge <again>").html()
    places = [html.index(f"<h2>{heading}") for heading in ("Question", "Answer", "For the paper", "How to repeat it")]
    assert places == sorted(places)
    assert "<h2>Diagnostics" in html
    assert re.search("<h2>Answer</h2>\\s*<p>[^<]{20,}</p>", html)  # a sentence
    assert html.count("<svg") == PICTURES[kind]
    assert html.count("<table") >= 2 - (kind == "plan")
    assert "ordbridge &lt;again&gt;" in html
    assert f"ordbridge {ob.__version__}" in html
    text = re.sub("<[^>]*>", "", html.partition("</style>")[2].partition("<script>")[0])
    assert "nan" not in re.findall(r"[a-z]+", text)


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
    assert results["plan"].sentence in methods(results["plan"])
    assert not any("R Core Team" in reference for reference in references(results["plan"]))
    assert "5 raters gave 200 ratings of 40 items, at the ordinal level" in methods(results["reliability"])
    assert "95% jackknife intervals, about these raters only" in methods(results["reliability"])
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


@pytest.mark.slow
def test_the_commands_write_reports(data, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write(data, "ratings.csv")
    options = ["--html", "fit.html", "--latex", "fit.tex", "--markdown", "fit.md"]
    assert (
        main(["fit", "ratings.csv", "--model", "clm", "--formula", "rating ~ system", "--engine", "fast", *options])
        == 0
    )
    assert "written: fit.html" in capsys.readouterr().out
    assert "<h2>Answer" in (tmp_path / "fit.html").read_text(encoding="utf-8")
    assert r"\toprule" in (tmp_path / "fit.tex").read_text(encoding="utf-8")
    assert "| systemB |" in (tmp_path / "fit.md").read_text(encoding="utf-8")
    TRUTH.to_toml("truth.toml")
    small = ["--model", "lm", "--items", "20", "--ratings", "2", "--texts-per-participant", "10", "--most", "20"]
    assert main(["plan", "--truth", "truth.toml", *small, "--jobs", "1", "--html", "plan.html", "--quiet"]) == 0
    assert "What is the power of this study?" in (tmp_path / "plan.html").read_text(encoding="utf-8")
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


HARNESS = """<script>
const problems = [];
window.addEventListener("error", event => problems.push(event.message));
</script>"""
PROBE = """<script>
const column = (table, i) => [...table.tBodies[0].rows].map(row => row.cells[i].textContent);
const table = document.querySelector("table");
const button = table.tHead.rows[0].cells[INDEX].querySelector("button");
button.focus();
const focused = document.activeElement === button;
button.click();
const up = column(table, INDEX), rows = column(table, 0), first = button.parentElement.getAttribute("aria-sort");
button.click();
const down = column(table, INDEX), second = button.parentElement.getAttribute("aria-sort");
let copied = null;
document.execCommand = () => { copied = document.activeElement.value; return true; };
Object.defineProperty(navigator, "clipboard", {value: {writeText: () => Promise.reject()}});
document.querySelector(".copy").click();
setTimeout(() => {
  const answer = {focused, up, rows, down, first, second, copied, problems,
    tables: document.querySelectorAll("table").length, copies: document.querySelectorAll(".copy").length,
    widths: [...document.querySelectorAll("svg")].map(svg => svg.getBoundingClientRect().width),
    page: document.documentElement.scrollWidth, window: window.innerWidth};
  document.body.replaceChildren(document.createTextNode("ANSWER" + JSON.stringify(answer) + "END"));
}, 50);
</script>"""

chromium = pytest.mark.skipif(not shutil.which("chromium"), reason="no Chromium here")


def browse(html, index, folder, width=1000):
    """Load a page in Chromium, sort by a column twice, copy the table, and return what happened."""
    file = folder / "probed.html"
    html = html.replace("<body>", f"<body>{HARNESS}", 1).replace(
        "</body>", PROBE.replace("INDEX", str(index)) + "</body>"
    )
    file.write_text(html, encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=2000", "--enable-logging=stderr"]
    profile = f"--user-data-dir={folder / 'profile'}"
    command = ["chromium", *options, profile, f"--window-size={width},900", "--dump-dom", file.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert "CONSOLE" not in done.stderr
    found = re.search("ANSWER(.*)END", done.stdout, re.DOTALL)
    assert found, done.stdout[-2000:]
    return json.loads(found.group(1).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))


@chromium
def test_sorting_and_copying_in_a_browser(tmp_path):
    values = [10.0, None, 9.0, 0.12341, -2.0, 0.12339, 0.00001]
    table = pa.table({"name": list("abcdefg"), "share": values})
    found = browse(Page("t").table(table).html(), 1, tmp_path)
    assert found["up"] == ["-2", "1e-05", "0.123", "0.123", "9", "10", "–"]
    assert "".join(found["rows"]) == "egfdcab"  # by the numbers in full, not as they are shown
    assert found["down"] == ["10", "9", "0.123", "0.123", "1e-05", "-2", "–"]
    assert (found["first"], found["second"]) == ("ascending", "descending")
    assert found["focused"]
    assert found["copied"].splitlines()[:2] == ["name\tshare", "a\t10"]
    names = browse(Page("t").table(pa.table({"name": ["item 10", "item 9", "b"]})).html(), 0, tmp_path)
    assert names["up"] == ["b", "item 9", "item 10"]


@chromium
@EVERY
def test_reports_in_a_browser_wide_and_narrow(results, kind, tmp_path):
    html = page(results[kind], repeat="ordbridge").html()
    for width in (1000, 500):
        found = browse(html, 0 if kind == "run" else 1, tmp_path, width)  # a column whose values differ
        assert found["problems"] == []
        assert found["copies"] == found["tables"]
        assert len(found["widths"]) == PICTURES[kind]
        assert all(200 < picture <= width for picture in found["widths"])
        assert sorted(found["up"]) == sorted(found["down"])
        if len(set(found["up"])) == len(found["up"]):  # without ties the order is turned round
            assert found["up"] == found["down"][::-1]
        assert found["page"] <= found["window"]  # tables scroll by themselves, the page does not


def test_the_file_is_written_whole(results, tmp_path):
    assert write_report(results["fit"], tmp_path / "report.html").read_text(encoding="utf-8").endswith("</html>\n")


def test_what_is_the_same_in_every_row_is_said_once(results):
    html = page(results["run"]).html()
    assert "In all rows: ratings per text 2, engine fast, term systemB" in html
    assert "<th>engine" not in html


def test_a_report_on_unequal_spread_and_moving_thresholds() -> None:
    random = np.random.default_rng(3)
    system = np.arange(400) % 2
    latent = 0.4 * system + random.normal(size=400) * np.where(system, 2.0, 1.0)
    data = {"rating": 1 + (latent[:, None] > [-0.8, 0.1, 1.0]).sum(axis=1), "system": np.array(["A", "B"])[system]}
    html = page(ob.clm("rating ~ system", data, scale="~ system", engine="fast")).html()
    for words in (
        "Which terms of rating ~ system; scale ~ system matter",
        "The residual spread of systemB is ",
        "times that of the reference",
        "Do the levels of system spread differently? Yes",
        "Scale effects are on the logarithm of the residual standard deviation",
    ):
        assert words in html
    html = page(ob.clm("rating ~ 1", data, nominal="~ system", engine="fast")).html()
    assert "system moves every threshold on its own: χ²(3) = " in html
