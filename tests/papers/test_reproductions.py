"""What the reproductions find, and that they write what they promise."""

import zipfile
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from ordbridge import cli
from ordbridge.errors import InputError
from ordbridge.papers import amidei2019, amidei_printed, belz2011, gladkoff2023
from ordbridge.papers.reproduction import Claim, Part, Reproduction, claims_table
from ordbridge.reading import tables
from ordbridge.reliability import goodman_kruskal_gamma, prepare
from ordbridge.render.figures.style import empty_figure
from ordbridge.results import found

DATA = Path(__file__).resolve().parents[2] / "../shared/data"


def verdicts(result):
    return {row["claim"]: row["verdict"] for row in result.claims.to_pylist()}


def test_a_reproduction_is_written_whole(tmp_path):
    picture = empty_figure(2, 2)
    picture.subplots().plot([1, 2])
    parts = (Part("numbers", "Numbers", pa.table({"n": [1, 2]}), ("A < B.",)), Part("line", "A line", picture))
    claims = claims_table([Claim("one", "1", "page 1").judged("2", "does not hold", "counted")])
    result = Reproduction("Title", "Somebody (1999)", ("Done.",), claims, parts, (found("simulated-settings"),))
    names = {path.name for path in result.write(tmp_path / "new" / "folder")}
    assert names == {
        "claims.csv",
        "claims.parquet",
        "numbers.csv",
        "numbers.parquet",
        "line.png",
        "report.html",
    }
    page = (tmp_path / "new" / "folder" / "report.html").read_text()
    assert (
        "A &lt; B." in page
        and "says nothing for or against the paper" in page
        and "does not hold" in page
        and "<svg" in page
    )
    assert tables.read(tmp_path / "new" / "folder" / "numbers.parquet")["n"].to_pylist() == [1, 2]
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="it is a file"):
        result.write(tmp_path / "file")


def test_gladkoff_is_ticked_or_corrected():
    result = gladkoff2023.reproduce()
    wrong = {row["claim"]: row["ours"] for row in result.claims.to_pylist() if row["verdict"] != "holds"}
    assert wrong == {
        "k, normal, α = 0.5": "0.5000",
        "k, normal, α = 0.05": "9.6529",
        "margin at 80 % over the centre": "28.3 %",
    }
    assert result.claims.num_rows == len(gladkoff2023.claims) == 31
    factors = result.tables["factors"]["symmetric_with_one_peak"].to_pylist()
    assert factors == pytest.approx([0.5, 1.866, 2.914, 3.936, 8.972, 18.987, 98.997], abs=5e-4)


@pytest.mark.parametrize(("kind", "law"), [("normal", "normal"), ("unimodal", "uniform")])
def test_chance_of_missing_touches_alpha_and_simulation_agrees(kind, law):
    k = gladkoff2023._k(0.2, kind)
    distance = np.linspace(0.3, 3, 2000)
    assert gladkoff2023.chance_of_missing(k, distance, law).max() == pytest.approx(0.2, abs=1e-3)
    random = np.random.default_rng(1)
    score = random.normal(size=40_000) if law == "normal" else random.uniform(-(3**0.5), 3**0.5, 40_000)
    missed = np.abs((score + 1.2) / 2) > k * np.abs(score - 1.2)  # the mean is 0, the prior value 1.2
    assert missed.mean() == pytest.approx(gladkoff2023.chance_of_missing(k, np.array([1.2]), law)[0], abs=0.01)


def test_two_point_scores_are_missed_half_of_the_time():
    assert gladkoff2023.chance_of_missing(gladkoff2023._k(0.2, "unimodal"), np.array([1.0]), "two-point")[0] == 0.5


@pytest.fixture(scope="module")
def belz():
    return belz2011.reproduce(datasets=4, seed=3)


@pytest.mark.slow
def test_belz_lays_out_both_designs(belz):
    assert belz2011.EXPERIMENTS["weather"].design().num_rows == 484
    assert belz2011.EXPERIMENTS["image"].design().num_rows == 896
    assert (belz2011.EXPERIMENTS["weather"].pairs, belz2011.EXPERIMENTS["image"].pairs) == (55, 28)
    assert [v for claim, v in verdicts(belz).items() if claim.startswith("every rater")] == ["holds", "holds"]


@pytest.mark.slow
def test_belz_shows_the_papers_numbers_beside_simulated_ones(belz):
    rows = {(row["measure"], row["experiment"]): row for row in belz.tables["measures_weather"].to_pylist()}
    stability = rows["stability", "VDS-7(A)"]
    assert (stability["Clarity"], stability["Readability"]) == (0.656, 0.704)
    assert rows["F of rater", "VAS"]["Clarity"] == 6.857
    assert rows["stability", "VAS"]["Clarity"] is None  # the paper has none
    assert stability["simulated"] == pytest.approx(0.7, abs=0.12)
    assert rows["Kendall's W", "VDS-7(A)"]["simulated"] == pytest.approx(0.5, abs=0.15)
    assert rows["F of system", "VDS-7(A)"]["simulated"] == pytest.approx(23, abs=10)
    assert [one.code for one in belz.findings] == ["simulated-settings"]
    assert any(sentence.startswith("Of 36 printed numbers of the weather experiments") for sentence in belz.sentences)
    assert belz.tables["validity"]["printed"].to_pylist() == [0.870, 0.927, 0.906]


def test_belz_says_which_printed_numbers_lie_outside():
    rows = [{("Kendall's W", "VAS"): value} for value in (0.40, 0.45, 0.484)]
    table = belz2011._beside_paper("weather", rows).to_pylist()
    assert table[0]["outside"] == "Clarity"  # .485 and .480 are printed, the simulated ones end below .485


@pytest.mark.slow
def test_belz_scales_are_cuts_of_one_line(belz):
    plan = belz2011.EXPERIMENTS["weather"].design()
    runs = belz2011._rated_twice(plan, belz2011.settings["weather"], np.random.SeedSequence(1))
    np.testing.assert_array_equal(np.ceil(runs["VAS"][0]["rating"] * 7 / 100).clip(1, 7), runs["VDS-7"][0]["rating"])
    power = belz.tables["power"].to_pylist()
    assert len(power) == 2 * (len(belz2011.CATEGORIES) + 1)
    by_t = [row["significant"] for row in power if row["analysis"] == "t tests"]
    assert by_t[0] < by_t[-1]  # three categories find less than the line


def test_belz_second_run_keeps_raters_and_items():
    plan = belz2011.EXPERIMENTS["weather"].design()
    truth = belz2011.settings["weather"].shift(effect=[0.0] * 10)
    first, second = belz2011._rated_twice(plan, truth, np.random.SeedSequence(1))["VAS"]
    assert np.corrcoef(first["rating"], second["rating"])[0, 1] > 0.4
    assert (first["rating"] != second["rating"]).mean() > 0.5


def long_flickr(path, sorted_within=True):
    random = np.random.default_rng(2)
    ratings = np.clip(random.integers(1, 5, size=(200, 1)) + random.integers(-1, 2, size=(200, 3)), 1, 4)
    ratings = np.sort(ratings, axis=1) if sorted_within else ratings
    lines = ["id,j1,j2,j3,imageid,textid,refid"]
    lines += [f"{n},{a},{b},{c},i.jpg,t{n}.jpg#2,r" for n, (a, b, c) in enumerate(ratings)]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_amidei_sees_that_judges_are_rank_positions(tmp_path):
    result = amidei2019.reproduce(flickr=long_flickr(tmp_path / "judgements"))
    assert any("sorted within items" in one.text for one in result.findings)
    assert any("the columns are ranks, not judges" in sentence for sentence in result.sentences)
    values = dict(zip(*(result.tables["flickr"][c].to_pylist() for c in ("coefficient", "ours")), strict=True))
    assert values["γ, ratings shuffled"] < values["γ, mean over pairs"] - 0.05
    apart = amidei2019.reproduce(flickr=long_flickr(tmp_path / "judgements2", sorted_within=False))
    assert not any("ranks, not judges" in sentence for sentence in apart.sentences)


def test_shuffling_keeps_gaps_and_breaks_order():
    ratings = prepare([[1, 2, 3]] * 30 + [[1, None, 3]])
    shuffled = amidei2019.shuffled_within_items(ratings)
    assert shuffled.n_missing == 1
    assert goodman_kruskal_gamma(shuffled, conf_level=None).estimate < 0.9
    np.testing.assert_array_equal(np.sort(shuffled.codes, axis=1), np.sort(ratings.codes, axis=1))


def qgstec(path):
    """Six judges, two for each question, as many questions a pair as the paper says, plus one pair more."""
    random = np.random.default_rng(1)
    lines = []
    for (a, b), number in {**amidei2019.COMMON_QUESTIONS, (2, 3): 5}.items():
        for _ in range(number):
            cells = ["NA"] * 6
            cells[a - 1] = str(random.integers(1, 5))
            cells[b - 1] = str(np.clip(int(cells[a - 1]) + random.integers(-1, 2), 1, 4))
            lines.append("\t".join(cells))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("STEC_Source_Relevance.csv", "\n".join(lines) + "\n")
    return path


def test_amidei_counts_the_questions_of_each_pair_of_six_judges(tmp_path):
    result = amidei2019.reproduce(qgstec=qgstec(tmp_path / "Export-Subsets.zip"))
    counted = {claim: verdict for claim, verdict in verdicts(result).items() if claim.startswith("questions rated")}
    assert set(counted.values()) == {"holds"} and len(counted) == 9
    pairs = result.tables["qgstec_pairs"].to_pylist()
    assert len(pairs) == 10 < len(list(combinations(range(6), 2)))
    for row in pairs:
        assert row["kappa_cut_off"] == amidei2019.cut_off(row["kappa"])
        assert row["kappa"] != row["fleiss_1971"]
    at_hand = {(row["participant_a"], row["participant_b"]): row["kappa_paper"] for row in pairs}
    assert at_hand["P001", "P006"] == ".08" and at_hand["P001", "P005"] == "not available"


def test_amidei_compares_the_printed_tables_that_a_reader_types(tmp_path):
    ratings = qgstec(tmp_path / "Export-Subsets.zip")
    pairs = {
        (row["participant_a"], row["participant_b"]): row
        for row in amidei2019.reproduce(qgstec=ratings).tables["qgstec_pairs"].to_pylist()
    }
    cut, rounded = pairs.pop(("P001", "P002")), pairs.pop(("P001", "P004"))
    other = next(row for row in pairs.values() if amidei2019.cut_off(row["fleiss_1971"]) != row["kappa_cut_off"])
    judges = [int(other[name].lstrip("P")) for name in ("participant_a", "participant_b")]
    printed = tmp_path / "tables.csv"
    lines = [
        "criterion,participant_a,participant_b,kappa,gamma",
        f"Relevance,1,2,{cut['kappa_cut_off']},-0.5",
        f"Relevance,1,4,,{rounded['gamma']:.2f}",
        f"Relevance,{judges[0]},{judges[1]},{amidei2019.cut_off(other['fleiss_1971'])},",
        "Relevance,,,0.01,",
    ]
    printed.write_text("\n".join(lines))
    result = amidei2019.reproduce(qgstec=ratings, printed=printed)
    rows = {row["claim"]: row for row in result.claims.to_pylist() if row["where"] == "Tables 6, 7"}
    assert len(rows) == 17  # eight pairs of Table 7, of which three were typed otherwise, and all judges together
    assert rows["κ, Relevance, judges 1 and 2"]["verdict"] == "holds"
    assert "no way of computing it" in rows["γ, Relevance, judges 1 and 2"]["reason"]
    assert rows["γ, Relevance, judges 1 and 4"]["verdict"] == "holds"
    assert "Fleiss (1971)" in rows[f"κ, Relevance, judges {judges[0]} and {judges[1]}"]["reason"]
    assert rows["κ, Relevance, all judges"]["verdict"] == "corrected"
    assert result.tables["qgstec_pairs"]["kappa_paper"].to_pylist()[0] == cut["kappa_cut_off"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("criterion,kappa\n", "has no column 'participant_a'"),
        (
            "criterion,participant_a,participant_b,kappa,gamma\nRelevance,1,2,high,\n",
            "line 2: 'high' is not a coefficient",
        ),
        (
            "criterion,participant_a,participant_b,kappa,gamma\nRelevanz,1,2,0.5,\n",
            "Relevanz, P001, P002, which are not in",
        ),
        (
            "criterion,participant_a,participant_b,kappa,gamma\n" + 2 * "Relevance,1,2,0.5,\n",
            "line 3: .* stands there twice",
        ),
        (
            "criterion,participant_a,participant_b,kappa,gamma\nRelevance,one,2,0.5,\n",
            "line 2: judge 'one' is not a number",
        ),
    ],
)
def test_amidei_says_what_is_wrong_with_printed_tables(text, sentence, tmp_path):
    printed = tmp_path / "tables.csv"
    printed.write_text(text)
    with pytest.raises(InputError, match=sentence):
        amidei2019.reproduce(qgstec=qgstec(tmp_path / "Export-Subsets.zip"), printed=printed)


def test_amidei_without_a_file_has_the_printed_tables_and_their_averages():
    result = amidei2019.reproduce()
    assert set(result.tables) == {"claims", "table_3", "table_5", "table_7"}
    assert result.tables["table_3"].num_rows == 8
    assert result.tables["table_7"].to_pylist()[2]["J1–J6"] == "-.00013"
    averages = {row["claim"]: row for row in result.claims.to_pylist() if row["where"] == "Tables 5 and 7"}
    assert len(averages) == 22
    assert {row["verdict"] for row in averages.values()} == {"holds"}
    slips = [row for row in result.claims.to_pylist() if row["where"] == "Table 7"]
    assert [(row["paper"], row["ours"]) for row in slips] == [(".67", "0.634"), (".2", "0.223")]
    # The slip of .2 went into the average of its column: with .223 it would be .21, and .20 is printed.
    assert averages["average κ, judges 1 and 4 (Table 7)"]["reason"].endswith("with 0.223 instead it would be 0.21")
    assert averages["average γ, judges 1 and 3 (Table 7)"]["reason"].endswith("it would be 0.31 or 0.32")
    assert any("without the ratings of the six judges" in sentence for sentence in result.sentences)


def test_an_average_that_does_not_follow_is_found(monkeypatch):
    wrong = amidei_printed.TABLE_7 | {"average": (".23 .31 .20 .11 .46 .24 .21 .24", amidei2019.TABLE_7["average"][1])}
    monkeypatch.setattr(amidei_printed, "TABLE_7", wrong)
    found = [row["claim"] for row in amidei_printed.averages() if row["verdict"] != "holds"]
    assert found == ["average κ, judges 1 and 3 (Table 7)"]


def test_amidei_names_the_two_slips_and_counts_decimals():
    ours = {"kappa": 0.223, "gamma": 0.634, "fleiss_1971": 0.22}
    gamma = amidei2019.Claim("γ, Correctness, judges 1 and 3", ".67", "Tables 6, 7")
    assert "a slip of the paper" in amidei2019._explained(gamma, "gamma", ours)["reason"]
    kappa = amidei2019.Claim("κ, QuestionType, judges 1 and 4", ".2", "Tables 6, 7")
    assert "a slip of the paper" in amidei2019._explained(kappa, "kappa", ours)["reason"]
    five = amidei2019.Claim("κ, Correctness, judges 1 and 6", "-.00013", "Tables 6, 7")
    assert amidei2019._explained(five, "kappa", {"kappa": -0.000139, "fleiss_1971": 0.0})["verdict"] == "holds"
    assert amidei2019._explained(five, "kappa", {"kappa": -0.0009, "fleiss_1971": 0.0})["verdict"] == "corrected"


@pytest.mark.skipif(not (DATA / "flickr8k.csv").is_file(), reason="the real ratings are not here")
@pytest.mark.slow
def test_the_two_published_numbers_of_flickr():
    result = amidei2019.reproduce(flickr=DATA / "flickr8k.csv")
    ours = {
        row["claim"]: (row["ours"], row["verdict"]) for row in result.claims.to_pylist() if "Flickr" in row["claim"]
    }
    assert ours == {
        "κ of the three Flickr-8k judges": ("0.52592", "holds"),
        "mean pairwise γ of the three Flickr-8k judges": ("0.98875", "holds"),
    }


@pytest.mark.slow
def test_command(tmp_path, capsys):
    assert cli.main(["reproduce", "gladkoff2023", "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert "misprint" in said and "report.html" in said
    assert (tmp_path / "out" / "chance_of_missing.png").stat().st_size > 5000
    assert cli.main(["reproduce", "amidei2019", "--out", str(tmp_path / "amidei")]) == 0
    assert "known to be slips" in (tmp_path / "amidei" / "report.html").read_text(encoding="utf-8")
