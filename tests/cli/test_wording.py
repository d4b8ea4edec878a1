"""A message names the option that was typed; the same message from a function names its argument."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import ordbridge as ob
from ordbridge import design
from ordbridge.app.labels import LABELS, labelled
from ordbridge.cli import main
from ordbridge.errors import InputError
from ordbridge.support.naming import in_python, names_as

PACKAGE = Path(ob.__file__).parent
HOWCROFT = ("--preset", "howcroft2021", "--variance", "low")


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("design crossed --items 3 --raters 0", "--raters 0 must be an integer ≥ 1"),
        ("design latin-square --systems 8 --items 100 --raters 8", "--items 100 is not a multiple of the 8 systems"),
        (
            "design counterbalanced --items 10 --ratings-per-text 2",
            "nearest possible: --texts-per-participant 10, or --items 25",
        ),
        ("plan", "a plan starts from one of FILE, --truth and --preset; none is given"),
        ("plan --preset howcroft2021 --effect 0.3", "the preset 'howcroft2021' needs --variance: one of extra-low"),
        (("plan", *HOWCROFT, "--effect", "smallest"), "one number of items and one of ratings per text, or a table"),
        (("plan", *HOWCROFT, "--effect", "0.3", "--items", "0"), "--items 0 must be integers ≥ 1"),
        (
            ("plan", *HOWCROFT, "--effect", "0.3", "--ratings-per-text", "2", "0"),
            "--ratings-per-text 2 0 must be integers",
        ),
        (("plan", *HOWCROFT, "--effect", "0.3", "--target", "0.05"), "the target, 0.05, must be above alpha, 0.05"),
        (("plan", *HOWCROFT, "--effect", "0"), "the effect is 0, which no study can find"),
        (
            ("plan", *HOWCROFT, "--effect", "0.3", "--items", "50", "--design", "d.csv"),
            "leave out either the table or items and ratings per text",
        ),
        (("power", *HOWCROFT, "--datasets", "0"), "--datasets 0 must be an integer ≥ 1"),
        (("power", *HOWCROFT, "--items", "55", "--ratings-per-text", "3", "--effect", "0"), "--items 55 has no list"),
        (
            ("power", *HOWCROFT, "--items", "50", "--ratings-per-text", "3", "--effect", "0", "--jobs", "0"),
            "--jobs 0 is not a",
        ),
        (
            ("simulate", *HOWCROFT, "--items", "50", "--ratings-per-text", "3", "--seed", "-1", "--out", "x.csv"),
            "--seed -1 must",
        ),
        ("reproduce card2020 --items 7 --out x", "--items 7 is not in the published table"),
        ("reproduce howcroft2021 --datasets -2 --out x", "--datasets -2 must be an integer"),
    ],
)
def test_a_command_names_options(tmp_path, capsys, monkeypatch, command, sentence):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.csv").touch()
    assert main(command.split() if isinstance(command, str) else command) == 2
    error = capsys.readouterr().err
    assert sentence in error and error.count("\n") == 1


def test_a_study_file_keeps_its_own_names(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.toml").write_text("preset = 'howcroft2021'\n[grid]\nitems = [55]\nratings_per_text = 3\n")
    assert main(["power", "study.toml"]) == 2
    assert "items=55 has no list" in capsys.readouterr().err
    assert main(["power", "study.toml", "--items", "65"]) == 2
    assert "--items 65 has no list" in capsys.readouterr().err


def test_a_function_names_arguments():
    with pytest.raises(InputError, match=r"^raters=0 must be an integer ≥ 1$"):
        design.crossed(3, raters=0)


HOSTILE = ("scale=3", "`scale`", "--force", "give force=True")


def hostile(tmp_path, systems=HOSTILE):
    """A study whose systems are called like arguments and share no items."""
    rows = [
        f"{rater},{system}-{text},{system},{1 + (rater + 2 * text + place) % 5}"
        for place, system in enumerate(systems) for rater in range(4) for text in range(6)
    ]  # fmt: skip
    file = tmp_path / "ratings.csv"
    file.write_text("\n".join(["rater,item,system,rating", *rows]) + "\n", encoding="utf-8")
    return str(file)


@pytest.mark.parametrize("surface", ["python", "page"])
def test_names_of_systems_are_never_taken_for_arguments(tmp_path, surface):
    file = hostile(tmp_path)
    with names_as(in_python if surface == "python" else labelled), pytest.raises(InputError) as refused:
        ob.compare(file, reference="force=1", engine="fast")
    called = "reference=" if surface == "python" else f"“{LABELS['reference']}”: "
    assert str(refused.value).startswith(
        f"{called}{'force=1' if surface == 'page' else repr('force=1')} is not a system"
    )
    assert all(name in str(refused.value) for name in HOSTILE)


def test_the_command_line_keeps_such_names_too(tmp_path, capsys):
    rows = [f"{rater},{text},{one},{name},{4 if one == 'A' or name == '`scale`' else 1 + (rater + text) % 5}"
            for name in ("`scale`", "fluency") for one in "AB" for rater in range(4) for text in range(8)]  # fmt: skip
    (tmp_path / "criteria.csv").write_text("\n".join(["rater,item,system,criterion,rating", *rows]) + "\n")
    assert main(["check", str(tmp_path / "criteria.csv")]) in (0, 1)
    said = " ".join(capsys.readouterr().out.split())
    assert "! `scale`:" in said and "`--scale`" not in said
    assert main(["compare", hostile(tmp_path), "--engine", "fast", "--reference", "force=1"]) == 2
    said = capsys.readouterr().err
    assert "--reference force=1 is not a system" in said and all(name in said for name in HOSTILE)


def test_values_are_quoted_as_a_shell_needs_them(tmp_path, capsys):
    assert main(["compare", hostile(tmp_path), "--engine", "fast", "--reference", "a b"]) == 2
    assert "--reference 'a b' is not a system" in capsys.readouterr().err


def test_no_error_writes_the_name_of_an_argument_itself():
    """``raters=0`` and ``rating=`` in a message come from ``arg``, which knows what the surface calls them."""
    code = r"ordered=True|categories=\[|dtype=|power\.Grid\(|first=…|thresholds=\("  # Python for Python's users
    found = []
    for file in sorted(PACKAGE.rglob("*.py")):
        raised = [node for node in ast.walk(ast.parse(file.read_text("utf-8"))) if isinstance(node, ast.Raise)]
        for text in (one for node in raised for one in ast.walk(node) if isinstance(one, ast.Constant)):
            named = re.search(r"(?<![\w.\-])[a-z_]{2,}=(?![=\d])|^=(?=[\s;,]|$)|`[a-z_]+`", str(text.value))
            if named and not re.search(code, text.value):
                found.append(f"{file.relative_to(PACKAGE)}:{text.lineno}: {text.value}")
    assert not found, "\n".join(found)
