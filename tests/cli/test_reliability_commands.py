"""The commands reliability, interval and scales, as typed."""

import csv
import json

import numpy as np
import pytest

from ordbridge.cli import main


@pytest.fixture
def command(capsys):
    """Run a command; return its exit code, what it wrote to stdout and to stderr."""

    def run(*words):
        code = main([str(word) for word in words])
        return (code, *capsys.readouterr())

    return run


@pytest.fixture
def ratings_file(tmp_path):
    """Forty items, three raters in two groups, two criteria."""
    rng = np.random.default_rng(4)
    rows = []
    for criterion in ("fluency", "adequacy"):
        quality = rng.normal(size=40)
        for person, native in (("P1", "yes"), ("P2", "yes"), ("P3", "no")):
            for item in range(40):
                rating = int(np.clip(np.round(3 + quality[item] + rng.normal(scale=0.7)), 1, 5))
                rows.append([f"I{item:02}", person, native, criterion, rating])
    return _write(tmp_path / "ratings.csv", ["item", "participant", "native", "criterion", "rating"], rows)


def _write(path, header, rows):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path


@pytest.mark.slow
def test_reliability_answers_first_and_has_everything_in_its_details(command, ratings_file):
    options = ("--item", "item", "--participant", "participant", "--rating", "rating", "--criterion", "criterion")
    code, out, _ = command("reliability", ratings_file, *options, "--group", "native")
    assert code == 0
    out = " ".join(out.split())
    assert out.startswith("adequacy: raters agree moderately (Krippendorff's alpha .72, 95% CI .40 to .86, ordinal).")
    assert "! adequacy, no; fluency, no: the group has one rater ('P3')" in out
    assert "Fleiss' κ" not in out
    code, out, _ = command("reliability", ratings_file, *options, "--group", "native", "--details")
    assert code == 0
    for word in ("Fleiss' κ", "Conger's κ", "Goodman & Kruskal's γ", "fluency", "P3", "independently"):
        assert word in out


@pytest.mark.slow
def test_reliability_writes_one_self_contained_page(command, ratings_file, tmp_path):
    target = tmp_path / "report.html"
    code, out, _ = command("reliability", ratings_file, "--criterion", "criterion", "--html", target)
    assert code == 0
    assert "report.html" in out.replace("\n", "")
    page = target.read_text(encoding="utf-8")
    assert page.count("<figure ") == 10
    assert "What papers forget" in page
    assert page.count('class="line"') == 12
    assert page.count("<script>") == 1  # inline: it sorts tables
    for outside in ("<script ", "<link", "<img", "src=", "@import", "DOCTYPE svg"):
        assert outside not in page


@pytest.mark.slow
def test_a_crowd_fits_on_one_screen(command, tmp_path):
    rng = np.random.default_rng(1)
    quality = rng.normal(size=300)
    rows = [
        [item, f"P{person}", int(np.clip(np.round(3 + quality[item] + rng.normal(scale=0.7)), 1, 5))]
        for item in range(300) for person in rng.choice(60, 5, replace=False)
    ]  # fmt: skip
    code, out, _ = command("reliability", _write(tmp_path / "crowd.csv", ["item", "participant", "rating"], rows))
    assert code == 0
    assert out.count("\n") <= 20
    assert "Averages over 5 ratings of each item are reliable (.8" in out
    assert "60 raters, 300 items; 1,500 ratings, 5 per item." in out


def test_reliability_reads_its_file_once(command, ratings_file, monkeypatch):
    from ordbridge.reading import source

    opened, contents = [], source.contents
    for module in ("ordbridge.reading.source", "ordbridge.reading.opening", "ordbridge.reading.tables"):
        monkeypatch.setattr(f"{module}.contents", lambda path, *a, **k: opened.append(path) or contents(path, *a, **k))
    code, out, _ = command("reliability", ratings_file, "--participant", "participant")
    assert code == 0 and len(opened) == 1
    assert "fluency" in out and "adequacy" in out  # each criterion by itself, without being told


def test_categories_without_an_order_need_no_order(command, tmp_path):
    rows = [[f"I{i}", who, ["cat", "dog", "emu"][(i * k) % 3]] for k, who in enumerate("abc", 1) for i in range(30)]
    file = _write(tmp_path / "words.csv", ["item", "participant", "rating"], rows)
    assert command("reliability", file)[0] == 2
    code, out, _ = command("reliability", file, "--level", "nominal")
    assert code == 0 and "nominal" in out


def test_gold_is_found_by_items_that_are_numbers(command, tmp_path):
    rows = [[i, who, (i + (who == "c" and i % 5 == 0)) % 4 + 1] for who in "abc" for i in range(30)]
    file = _write(tmp_path / "numbers.csv", ["item", "participant", "rating"], rows)
    gold = _write(tmp_path / "gold.csv", ["item", "gold"], [[i, i % 4 + 1] for i in range(30)])
    code, out, _ = command("reliability", file, "--gold", gold, "--json", "-")
    assert code == 0 and len(json.loads(out)["tables"]["accuracy"]) >= 3


def test_reliability_names_what_is_wrong(command, ratings_file):
    code, out, err = command("reliability", ratings_file, "--participant", "judge", "--criterion", "criterion")
    assert code == 2
    assert out == ""
    assert "there is no column 'judge' for the participant" in err
    assert "Traceback" not in err
    code, _, err = command("reliability", ratings_file, "--criterion", "criterion", "--scale", 1, 3)
    assert code == 2
    assert "outside the scale 1 to 3" in err


def test_interval_of_the_papers_two_scores(command):
    code, out, _ = command(
        "interval", 76.85, 81.99, "--conf-level", 0.8, "--threshold", 80, "--scale", 0, 100, "--margin", 3
    )
    assert code == 0
    for part in (
        "The mean is 79.42 (80% CI 71.51 to 87.33).",
        "Verdict at 80: borderline FAIL.",
        "3.6345",
        "7.91",
        "9.96%",
        "93.3%",
        "93.7%",
        "needs 4 raters",
    ):
        assert part in out


def test_interval_of_the_papers_one_score(command):
    code, out, _ = command("interval", 85.2, "--prior", 96.3, "--conf-level", 0.8)
    assert code == 0
    assert "65.08 to 100.00" in out
    assert "k = 2.3125" in out
    code, out, _ = command(
        "interval", 85.2, "--prior", 96.3, "--conf-level", 0.8, "--unbounded", "--distribution", "unimodal"
    )
    assert "47.05 to 134.45" in out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((85.2,), "give --prior"),
        ((85.2, 86, "--prior", 90), "--prior is for a single score"),
        ((85.2, "--prior", 90, "--threshold", 80), "need at least two scores"),
        ((85.2, "--prior", 90, "--unbounded", "--scale", 0, 100), "either --scale or --unbounded"),
        ((85.2, 86, "--unbounded"), "--unbounded is for a single score"),
        ((80, 80), "all 2 scores are 80"),
    ],
)
def test_interval_names_what_is_wrong(command, words, sentence):
    code, _, err = command("interval", *words)
    assert code == 2
    assert sentence in err


@pytest.fixture
def two_scales(tmp_path):
    rng = np.random.default_rng(7)
    cells = [(f"S{s}", f"I{i}", f"R{r}") for s in range(5) for i in range(8) for r in range(6)]
    quality = np.array([int(system[1]) * 0.6 for system, _, _ in cells]) + rng.normal(size=len(cells))
    header = ["system", "item", "participant", "rating"]
    seven = [[*cell, int(np.clip(round(3 + q), 1, 7))] for cell, q in zip(cells, quality, strict=True)]
    slider = [[*cell, round(float(np.clip(40 + 10 * q, 0, 100)), 1)] for cell, q in zip(cells, quality, strict=True)]
    return _write(tmp_path / "vds.csv", header, seven), _write(tmp_path / "vas.csv", header, slider)


@pytest.mark.slow
def test_scales_side_by_side(command, two_scales, tmp_path):
    options = ("--system", "system", "--item", "item", "--html", tmp_path / "s.html")
    code, out, _ = command("scales", *two_scales, *options)
    assert code == 0
    out = " ".join(out.split())
    assert out.startswith("No clear difference in agreement between vas and vds: Kendall's W .57 against .55")
    code, out, _ = command("scales", *two_scales, *options, "--details")
    for part in ("vds", "vas", "Kendall's W", "Interchangeability", "/10", "Tukey", "rater", "** p < .01"):
        assert part in out
    assert "Differences" in (tmp_path / "s.html").read_text(encoding="utf-8")


def test_scales_names_what_is_wrong(command, two_scales):
    code, _, err = command("scales", *two_scales, "--participant", "judge")
    assert code == 2
    assert "there is no column 'judge' for the participant" in err
    code, _, err = command("scales", two_scales[0])
    assert code == 2
    assert "at least two scales" in err


@pytest.mark.slow
def test_scales_again_and_outside(command, two_scales, tmp_path):
    outside = _write(tmp_path / "measure.csv", ["system", "value"], [[f"S{i}", i / 10] for i in range(5)])
    seven, slider = two_scales
    code, out, _ = command("scales", seven, slider, slider, "--again", seven, "--outside", outside)
    assert code == 0
    assert "stability" in out
    assert "validity" in out
    assert "vas.csv (3)" in " ".join(out.split())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ordbridge.errors.StatisticalWarning")
@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_every_command_with_a_picture_draws_it(command, ratings_file, two_scales, tmp_path, kind):
    """Those of compare, fit, plan and power are drawn by their own tests."""
    beginning = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[kind]
    commands = {
        "reliability": [ratings_file, "--criterion", "criterion"],
        "judges": [_judged(tmp_path / "judged.csv")],
        "scales": two_scales,
        "reproduce": ["gladkoff2023", "--out", tmp_path / "out"],
    }
    for name, words in commands.items():
        file = tmp_path / f"{name}.{kind}"
        code, out, _ = command(name, *words, "--plot", file)
        assert code == 0
        assert f"wrote {file}" in out.replace("\n", "")
        assert file.read_bytes().startswith(beginning)
    code, _, err = command("scales", *two_scales, "--plot", tmp_path / "scales.docx")
    assert code == 2 and "ends in .png, .svg or .pdf" in err


def _judged(path):
    """Three people and a judge, who rate 60 items."""
    rng = np.random.default_rng(1)
    quality = rng.normal(3, 1, 60)
    rows = [
        [f"I{item}", person, "judge" if person == "gpt" else "human", int(np.clip(round(q + rng.normal(0, 0.6)), 1, 5))]
        for person in ("ann", "bo", "cy", "gpt")
        for item, q in enumerate(quality)
    ]
    return _write(path, ["item", "participant", "kind", "rating"], rows)


@pytest.mark.slow
def test_scales_have_the_report_of_everything_else(command, two_scales, tmp_path):
    html, tex, md = (tmp_path / f"s.{ending}" for ending in ("html", "tex", "md"))
    code, out, _ = command("scales", *two_scales, "--html", html, "--latex", tex, "--markdown", md)
    assert code == 0 and "difference" in out
    page = html.read_text(encoding="utf-8")
    places = [page.index(mark) for mark in ("<h1>", "<svg", "<table", "<h2>For the paper", "<h2>How to repeat it",
                                            "<h2>More")]  # fmt: skip
    assert places == sorted(places)
    assert r"\toprule" in tex.read_text(encoding="utf-8") and "Belz" in md.read_text(encoding="utf-8")


def test_every_number_is_in_the_json(command, two_scales, ratings_file):
    for words, tables in (
        (("scales", *two_scales), {"means", "reliability", "differences"}),
        (("interval", 76.85, 81.99), {"interval", "margins"}),
        (("reliability", ratings_file), {"summary", "coefficients", "raters", "components"}),
    ):
        code, out, _ = command(*words, "--json", "-")
        found = json.loads(out)
        assert code == 0
        assert tables <= set(found["tables"])
        assert found["answer"]
        for one in found["findings"]:
            assert {"code", "severity", "subject", "values", "text"} == set(one)
