"""All outputs carry the same corrected numbers; a comparison is frozen; pictures and pages are whole."""

from __future__ import annotations

import dataclasses
import re

import pyarrow as pa
import pytest

import ordbridge as ob
from ordbridge.support.formatting import p_text


@pytest.fixture(scope="module")
def found(study) -> ob.comparison.Comparison:
    data = study(quality=(0.0, 0.25, 0.6, 2.0), raters=12, items=12, seed=8)
    return ob.compare(data, engine="fast")


def test_a_comparison_is_frozen_and_made_of_arrow_tables(found):
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.ranking = None
    for name in ("ranking", "pairs", "shares", "design", "models"):
        assert isinstance(getattr(found, name), pa.Table)
    assert found.ranking["rank"].to_pylist() == [1, 2, 3, 4]
    assert found.ranking["estimate"].to_pylist() == sorted(found.ranking["estimate"].to_pylist(), reverse=True)


@pytest.mark.slow
def test_every_output_has_the_corrected_p_values(found):
    """The corrected ones, and nowhere an uncorrected one that differs from them."""
    rows = found.pairs.to_pylist()
    changed = [row for row in rows if p_text(row["p_adjusted"]) != p_text(row["p_value"])]
    assert len(changed) >= 2
    texts = {
        "sentences": "\n".join(found.sentences),
        "markdown": found.markdown(),
        "latex": found.latex(),
    }
    for name, text in texts.items():
        for row in changed:
            right, wrong = (
                p_text(row[column]).removeprefix("p ").removeprefix("= ") for column in ("p_adjusted", "p_value")
            )
            pair = (row["system_a"], row["system_b"])
            lines = [
                line
                for line in re.split(r"\n|</tr>|\\\\", text)
                if all(f"{one}" in line for one in pair) and right in line
            ]
            assert lines, (name, pair, right)
            assert not any(wrong in line for line in lines if wrong not in right), (name, wrong)
    html = found.page("ordbridge compare x.csv").html()
    for row in changed:
        assert f"{row['p_adjusted']!r}" in html  # in full, for sorting
    printed = found.to_dict()
    assert [row["p_adjusted"] for row in printed["tables"]["pairs"]] == [row["p_adjusted"] for row in rows]


def test_json_has_the_keys_that_scripts_rely_on(found):
    printed = found.to_dict()
    assert list(printed) == ["kind", "answer", "counted", "columns", "findings", "tables", "settings"]
    assert list(printed["tables"]) == [
        "ranking",
        "pairs",
        "shares",
        "design",
        "models",
        "stability",
        "criteria_together",
    ]
    assert printed["tables"]["pairs"] == found.pairs.to_pylist()
    assert {"code", "severity", "subject", "values", "text"} == set(printed["findings"][0])


@pytest.mark.slow
def test_the_table_of_a_paper_has_letters_and_stars(found, study):
    ranking = {row["system"]: row for row in found.ranking.to_pylist()}
    markdown = found.markdown()
    for system, row in ranking.items():
        rating = f"{row['estimate']:.2f} [{row['conf_low']:.2f}, {row['conf_high']:.2f}]"
        shown = f"**{rating}**" if "a" in row["letters"] else rating
        assert f"| {system} | {shown}<sup>{row['letters']}</sup> |" in markdown
    assert "<sup>***</sup>" in markdown and r"\textsuperscript{***}" in found.latex()
    assert "Systems that share a letter do not differ significantly (p ≥ .05; Holm, 6 comparisons)" in markdown
    against = ob.compare(
        study(quality=(0.0, 0.25, 0.6, 2.0), raters=12, items=12, seed=8), engine="fast", reference="A"
    )
    table = against.markdown()
    assert "| A (reference) |" in table and "<sup>***</sup>" in table and "Differences from A" in table
    assert against.ranking["letters"].to_pylist() == [None] * 4
    assert r"\begin{tabular}{@{}ll@{}}" in against.latex()


def test_the_methods_paragraph_says_who_rated_what(found):
    text = found.methods()
    for words in (
        "12 participants rated texts of 4 systems for 12 items on a scale from 1 to 5",
        "576 ratings; 12 per text and 48 per participant in the median",
        "cumulative link mixed model with logit link",
        found.models["formula"][0].as_py(),
        "corrected for multiple comparisons (Holm, 6 comparisons)",
    ):
        assert words in text
    assert any(reference.startswith("Holm, S.") for reference in found.references())


@pytest.mark.slow
def test_the_page_has_answer_table_picture_and_methods_in_this_order(found, tmp_path):
    html = found.page("ordbridge compare <x>").html()
    marks = ("<h1>", "<svg", "<table", "12 raters", "<h2>Differences", "<h2>For the paper", "<h3>Methods",
             "<h3>Results", "<h2>How to repeat it", "<summary>Models")  # fmt: skip
    places = [html.index(mark) for mark in marks]
    assert places == sorted(places) and html.count("<figure ") == 2 and "&lt;x&gt;" in html
    assert found.report(tmp_path / "own.html").stat().st_size > 0


def test_the_picture_has_shares_beside_expected_ratings(found):
    figure = found.plot()
    shares, ratings = figure.axes
    systems = found.ranking["system"].to_pylist()
    for panel in (shares, ratings):
        assert [label.get_text() for label in panel.get_yticklabels()] == systems
    widths = [bar.get_width() for bar in shares.patches if bar.get_width() > 0]
    assert sum(widths) == pytest.approx(len(systems))
    top = found.ranking.to_pylist()[0]
    ends = sorted(ratings.lines[0].get_xdata())
    assert ends == pytest.approx([top["conf_low"], top["conf_high"]])
    with pytest.raises(ob.InputError, match="there is no criterion 'x'"):
        found.plot("x")
