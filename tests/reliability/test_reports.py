"""Raters, scales and judges on every surface: the same answer, the same findings, short sentences."""

from __future__ import annotations

import html
import json
import re
import warnings

import numpy as np
import pandas as pd
import pytest

import ordbridge as ob
from ordbridge.render import json as as_json
from ordbridge.results.catalogue import PARTS

pytestmark = pytest.mark.slow
LONGEST = 25  # words of a sentence


def study(raters=5, items=24, seed=1):
    """Two systems, a strict rater, and a judge who likes the second system and rates more items."""
    rng = np.random.default_rng(seed)
    rows = []
    for item in range(2 * items):
        for system in "AB":
            quality = 3 + rng.normal()
            for person in [*(f"P{p}" for p in range(raters) if item < items), "gpt"]:
                level = {"P0": -1.6, "gpt": float(system == "B")}.get(person, 0.0)
                rating = int(np.clip(np.round(quality + level + 0.5 * rng.normal()), 1, 5))
                rows.append((f"i{item}", system, person, rating, "judge" if person == "gpt" else "human"))
    return pd.DataFrame(rows, columns=["item", "system", "participant", "rating", "kind"])


@pytest.fixture(scope="module")
def results():
    table = study()
    people = table[table["kind"] == "human"].drop(columns="kind")
    noisy = people.assign(rating=people["rating"] + np.random.default_rng(2).normal(scale=2, size=len(people)))
    unbalanced = noisy.iloc[7:]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            "reliability": ob.reliability(people),
            "nominal": ob.reliability(people.assign(rating=people["rating"].map("c{}".format)), level="nominal"),
            "scales": ob.scales.compare(people, unbalanced, names=("five", "noisy")),
            "judge": ob.judges.analyse(table, "gpt"),
            "alternative": ob.judges.alt_test(table, "gpt"),
            "agreement": ob.judges.agreement(table, "gpt"),
            "estimates": ob.judges.estimate(table, "gpt"),
            "savings": ob.judges.plan(table, "gpt", width=0.3),
            "components": ob.reliability.generalizability(people, draws=30),
            "plan": ob.reliability.plan(people, 0.8, draws=0),
            "few": ob.reliability.few_scores([76.85, 81.99], threshold=80, margin=3),
            "one": ob.reliability.arf_interval(85.2, 96.3),
        }


KINDS = ("reliability", "nominal", "scales", "judge", "alternative", "agreement", "estimates", "savings", "components",
         "plan", "few", "one")  # fmt: skip
EVERY = pytest.mark.parametrize("kind", KINDS)


def plain(text):
    return re.sub(r"\s+", " ", html.unescape(re.sub("<[^>]*>", " ", text)).replace("\u00a0", " "))


@EVERY
def test_every_surface_has_the_answer_and_every_finding(results, kind, tmp_path):
    result = results[kind]
    page = plain(result.report(tmp_path / "report.html").read_text(encoding="utf-8").partition("</style>")[2])
    printed = " ".join(str(result).split())
    for surface in (page, plain(result._repr_html_()), printed):
        for sentence in result.answer.splitlines():
            assert sentence.replace(" %", "%") in surface.replace(" %", "%")
        for one in result.findings:
            if surface is printed and one.code in result.told:  # a row of its table
                assert str(one.values.get("participant", one.values.get("n", ""))) in surface
            else:
                assert one.text.replace(" %", "%") in surface.replace(" %", "%")
    assert json.loads(as_json.text(result))["answer"] == result.answer
    for text in (result.latex(), result.markdown()):
        assert text.count("\\item ") + text.count("\n- ") >= len(result.findings)
    assert all(len(grid.table.column_names) <= 8 for grid in result.main())


@EVERY
def test_sentences_are_short(results, kind):
    result = results[kind]
    said = [*result.answer.splitlines(), result.counted, *(one.what for one in result.findings)]
    sentences = [one for text in said for one in re.split(r"(?<=[.!?]) (?=[A-Z])", text)]
    assert [one for one in sentences if len(one.split()) > LONGEST] == []


def test_findings_are_worded_in_short_sentences_without_names_of_code():
    for code, kind in (PARTS["reliability"] | PARTS["judges"]).items():
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", code)
        for text in (kind.text, kind.remedy, kind.about):
            plainly = re.sub(r"\{[^}]*\}", "x", text)
            assert all(len(one.split()) <= LONGEST for one in plainly.split(". ")), code
            assert not re.search(r"\w+=|--\w|\b[a-z]+_[a-z]+\b", plainly), code


def test_what_is_special_about_these_ratings_is_found(results):
    said = {one.code: one for one in results["reliability"].findings}
    assert said["rater-stricter"].values["participant"] == "P0"
    assert said["rater-stricter"].values["points"] == pytest.approx(1.5, abs=0.2)
    (favoured,) = [one for one in results["judge"].findings if one.code == "favours-system"]
    assert favoured.values["system"] == "B"
    assert [one.subject for one in results["scales"].findings if one.code == "unbalanced-factor"] == ["noisy"] * 2


def test_methods_and_references_name_what_was_used(results):
    found = results["reliability"]
    assert "5 raters gave 240 ratings of 48 texts (item × system), at the ordinal level" in found.methods()
    cited = "\n".join(found.references())
    for author in ("Amidei", "Fleiss, J. L. (1971)", "Conger", "Gwet", "Krippendorff", "Goodman", "Brennan"):
        assert author in cited
    assert "Shrout" not in cited  # the ICC is for interval scales
    assert "Brennan" not in "\n".join(results["nominal"].references())
    assert any("Zou" in one for one in results["scales"].references())
    assert any("Calderon" in one for one in results["judge"].references())
