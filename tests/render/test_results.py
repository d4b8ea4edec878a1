"""Every kind of result on every surface: the same answer, the same findings, in one order; nothing is fitted there."""

from __future__ import annotations

import html
import importlib.util
import json
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import ordbridge as ob
from ordbridge.models import engines
from ordbridge.planning import Designs, PlannedAnalysis, Simulation
from ordbridge.render import terminal
from ordbridge.results import Finding, Result
from ordbridge.results import found as noticed
from ordbridge.results.catalogue import CATALOGUE
from ordbridge.simulate import Truth, ratings

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
KINDS = ("comparison", "fit", "run", "plan", "reliability", "judge", "scales", "reproduction", "ratings", "checks",
         "preferences", "preference fit", "preference plan")  # fmt: skip
EVERY = pytest.mark.parametrize("kind", KINDS)
TRUTH = Truth(effects=(0.6,), thresholds=(-1, 0, 1), participant_sd=(0.4, 0.0), item_sd=(0.4, 0.0))


@pytest.fixture(scope="module")
def gallery() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gallery_tool", ROOT / "tools" / "gallery.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def results(gallery: ModuleType) -> dict[str, Result]:
    study = ratings(ob.design.crossed(items=8, raters=5), TRUTH, seed=1)
    votes = {"rater": list("uuvvwwxx") * 6, "item": [f"t{k // 8}" for k in range(48)], "model_a": ["B", "C", "D"] * 16,
             "model_b": ["C", "D", "B"] * 16, "winner": ["model_a", "tie", "model_b", "model_a"] * 12}  # fmt: skip
    chosen = {
        "preferences": ob.compare(votes, engine="fast"),
        "preference fit": ob.prefer(votes, engine="fast"),
        "preference plan": ob.preferences.plan_comparisons(raters=[40, 150], items=150),
    }
    return {**gallery.results(), "ratings": ob.read(study), "checks": ob.check(study), **chosen}


def surfaces(result: Result) -> dict[str, str]:
    """Return the plain text of all six renderers."""
    page = re.sub("<style>.*?</style>|<svg.*?</svg>|<script>.*?</script>", " ", result.page("again").html(), flags=re.S)
    return {
        "terminal": str(result),
        "html": html.unescape(re.sub("<[^>]*>", " ", page)),
        "notebook": html.unescape(re.sub("<[^>]*>", " ", result._repr_html_())),
        "markdown": result.markdown(),
        "latex": result.latex(),
        "json": json.dumps(result.to_dict(), ensure_ascii=False),
    }


def letters(text: str) -> str:
    """Return the letters and digits of a text, which no format changes."""
    text = re.sub(r"\\text\w+|\\[a-z]+\{\}|\\[a-z]+|&\w+;|\\n", "", text)
    return "".join(re.findall(r"[A-Za-z0-9]", text))


@EVERY
def test_every_surface_has_the_answer_and_then_every_finding(results: dict[str, Result], kind: str) -> None:
    result = results[kind]
    assert result.answer and result.kind
    assert len({id(one) for one in result.findings}) == len(result.findings)
    for name, shown in surfaces(result).items():
        text = letters(shown)
        place = text.find(letters(result.answer.splitlines()[0])[:60])
        assert place >= 0, (name, result.answer)
        for finding in result.findings if name == "json" else result.shown:
            if name == "terminal" and finding.code in result.told:
                continue  # its numbers stand in the table
            at = text.find(letters(finding.text)[:60], place if name != "json" else 0)
            assert at >= 0, (name, finding)
            place = at if name != "json" else place
    assert [one["code"] for one in result.to_dict()["findings"]] == [one.code for one in result.findings]
    assert {one.code for one in result.shown} == {one.code for one in result.findings}


def test_what_is_true_of_several_criteria_is_said_once(shared: Path) -> None:
    file = shared / "data" / "real" / "asset_pairwise.csv"
    if not file.exists():
        pytest.skip("the real files are not here")
    result = ob.compare(file, engine="fast")
    each = [one for one in result.findings if one.code == "position-unknown"]
    assert [one.subject for one in each] == ["fluency", "meaning", "simplicity"]
    for surface in (str(result), result.markdown(), result.page().html()):
        assert letters(surface).count(letters(each[0].what)) == 1


@EVERY
def test_nothing_is_fitted_while_a_result_is_shown(
    results: dict[str, Result], kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    calls: list[str] = []

    def counting(real: Callable[..., Any]) -> Callable[..., Any]:
        def fit(*arguments: Any, **options: Any) -> Any:
            calls.append(str(arguments[0]))
            return real(*arguments, **options)

        return fit

    for engine in ("fast", "r"):
        module = engines.engine_module(engine)
        monkeypatch.setattr(module, "fit", counting(module.fit))
    result = results[kind]
    surfaces(result)
    terminal.text(result, details=True)
    result.report(tmp_path / "report.html")
    for picture in result.figures().values():
        assert picture.axes is not None
    assert calls == []


@EVERY
def test_a_page_is_whole(results: dict[str, Result], kind: str) -> None:
    page = results[kind].page(repeat="ordbridge <again>").html()
    assert page.endswith("</html>\n") and "ordbridge &lt;again&gt;" in page and f"ordbridge {ob.__version__}" in page
    assert re.search("<h1>[^<]{10,260}</h1>", page)
    text = re.sub("<[^>]*>", "", page.partition("</style>")[2].partition("<script>")[0])
    assert "nan" not in re.findall(r"[a-z]+", text)


@EVERY
def test_latex_has_no_character_that_pdflatex_refuses(results: dict[str, Result], kind: str) -> None:
    typeset = results[kind].latex()
    assert {c for c in typeset if ord(c) > 127} <= set("äöüéèáàóòñç'’“”·")
    assert typeset.count(r"\begin{tabular}") == typeset.count(r"\end{tabular}")


@EVERY
def test_the_terminal_keeps_to_its_width(results: dict[str, Result], kind: str) -> None:
    assert max(map(len, str(results[kind]).splitlines())) <= 80


def numbers(result: Result) -> dict[str, list[dict[str, Any]]]:
    """Return all numbers of all tables; words and times may change."""
    tables = {}
    for name, table in result.tables.items():
        kept = [
            field.name
            for field in table.schema
            if (pa.types.is_floating(field.type) or pa.types.is_integer(field.type) or pa.types.is_boolean(field.type))
            and field.name not in ("seconds",)
        ]
        tables[name] = table.select(kept).to_pylist()
    return tables


def test_no_number_depends_on_the_words_of_a_finding(gallery: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Comparisons, plans and reliability with every sentence replaced by its code."""
    rng = np.random.default_rng(5)
    few = ratings(ob.design.crossed(items=20, raters=4), TRUTH, seed=2)
    agreeing = pa.table({
        "participant": [f"p{n // 20}" for n in range(160)], "item": [f"i{n % 20 // 2}" for n in range(160)],
        "system": ["AB"[n % 2] for n in range(160)],
        "rating": [1 + (n % 20) // 5 + int(rng.random() < 0.04) for n in range(160)],
    })  # fmt: skip

    def all_of_them() -> list[Result]:
        designs, few_draws = Designs([20, 40], 2, texts_per_participant=10), Simulation(datasets=60, null_datasets=0)
        return [
            ob.compare(few, engine="fast"),
            ob.compare(few, engine="fast", estimand="latent", options=ob.comparison.CompareOptions(draws=19)),
            ob.compare(agreeing, engine="fast"),
            ob.reliability.analyse(few),
            ob.reliability.analyse(agreeing),
            ob.judges.analyse(gallery.judged(), "gpt"),
            ob.plan(TRUTH, analysis=PlannedAnalysis("lm"), designs=designs, simulation=few_draws),
            ob.check(agreeing),
        ]

    before = [numbers(result) for result in all_of_them()]
    monkeypatch.setattr(Finding, "what", property(lambda self: self.code))
    monkeypatch.setattr(Finding, "remedy", property(lambda self: self.code))
    monkeypatch.setattr(Finding, "text", property(lambda self: self.code))
    assert [numbers(result) for result in all_of_them()] == before


def test_every_code_has_a_sentence_and_a_line_in_the_documentation() -> None:
    page = (ROOT / "docs" / "reference" / "findings.md").read_text(encoding="utf-8")
    spec = importlib.util.spec_from_file_location("findings_tool", ROOT / "tools" / "findings.py")
    assert spec and spec.loader
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert page == tool.page(), "make it again: python tools/findings.py"
    assert all(f"`{code}`" in page for code in CATALOGUE)


def test_every_code_is_used_and_every_used_code_is_known() -> None:
    text = "\n".join(
        path.read_text(encoding="utf-8")
        for path in (ROOT / "src" / "ordbridge").rglob("*.py")
        if "catalogue" not in path.parts
    )
    made = {f"rater-{why}" for why in ("disagrees", "inconsistent", "milder", "stricter")}
    made |= {
        "few-raters",
        "few-items",
        "no-participant",
        "no-item",
        "no-system",
        "no-criterion",
        "r-warning",
        "r-message",
    }
    quoted = made | set(re.findall(r'"([a-z][a-z0-9]*(?:-[a-z0-9]+)*)"', text))
    assert set(CATALOGUE) <= quoted, sorted(set(CATALOGUE) - quoted)
    with pytest.raises(KeyError):
        noticed("there-is-no-such-code")


def test_a_full_stop_in_a_name_does_not_cut_the_headline() -> None:
    """Where the answer ends is not read off its words."""
    rng = np.random.default_rng(1)
    names = ("The system GPT-4 with all instructions (v1). Base", "The system GPT-4 with all instructions (v2). Tuned")
    rows = [(f"p{p}", f"i{i}", name) for p in range(6) for i in range(8) for name in names]
    table = pd.DataFrame(rows, columns=["participant", "item", "system"]).assign(
        rating=lambda t: rng.integers(1, 5, len(t)) + (t["system"] == names[1])
    )
    result = ob.compare(table, engine="fast")
    (shown,) = re.findall(r"<h1>(.*?)</h1>", result.page().html(), flags=re.DOTALL)
    assert all(name in html.unescape(shown) for name in names)
