"""Every block of the README can be typed, and its printed output is what comes out."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from ordbridge.cli import main

README = Path(__file__).resolve().parents[1] / "README.md"
TEXT = README.read_text(encoding="utf-8")
TASKS = re.findall(r"```sh\n(ordbridge .*?)\n```\n+```text\n(.*?)```", TEXT, re.DOTALL)
ROUGH = 0.011  # R's own numbers vary in the last digit that is printed, from one version to another


def alike(shown: str, printed: str) -> bool:
    """Compare word by word: numbers nearly, and versions of software not at all; a line of … leaves out the rest."""
    short = shown.rstrip().endswith("…")
    wanted, got = ([word.strip("(),;%") for word in text.split()] for text in (shown.rstrip("… \n"), printed))
    if len(wanted) > len(got) or (len(wanted) != len(got) and not short):
        return False
    return all(map(_same, wanted, got))


def _same(one: str, other: str) -> bool:
    if re.fullmatch(r"\d+(\.\d+){2,}\.?", one):  # a version
        return re.fullmatch(r"\d+(\.\d+)+\.?", other) is not None
    try:
        a, b = (float(word.replace("−", "-").replace(",", "").lstrip("£")) for word in (one, other))
    except ValueError:
        return one == other
    return abs(a - b) <= ROUGH * max(1.0, abs(b))


def test_the_comparison_of_outputs_notices_changes() -> None:
    assert alike("p = .010 in R 4.2.2", "p = .011 in R 4.5.0") and alike("a b\n  …\n", "a b c")
    assert not alike("p = .010", "p = .050") and not alike("a b", "a c") and not alike("a b", "a b c")


def test_it_is_short_and_has_five_tasks_with_their_output() -> None:
    assert len(TEXT.splitlines()) < 150
    assert len(TASKS) == TEXT.count("```sh") == TEXT.count("```text") == 5
    for _, shown in TASKS:
        assert max(map(len, shown.splitlines())) <= 92, "a table of seven columns may be a little wider"


@pytest.mark.slow
@pytest.mark.needs_r
@pytest.mark.skipif(not shutil.which("Rscript"), reason="no R here")
@pytest.mark.parametrize("place", range(5))
def test_a_task_prints_what_the_readme_shows(
    place: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    main(["examples", "."])
    capsys.readouterr()
    command, shown = TASKS[place]
    words = shlex.split(command)[1:]
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert alike(shown, printed), printed
    for word in words:
        if word.endswith((".html", ".tex")):
            assert Path(word).stat().st_size > 1000


@pytest.mark.slow
@pytest.mark.needs_r
@pytest.mark.skipif(not shutil.which("Rscript"), reason="no R here")
def test_the_lines_of_python_draw_the_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    exec(code, {})
    assert Path("answer.png").read_bytes().startswith(b"\x89PNG")
    assert (README.parent / "docs" / "answer.png").exists()


def test_what_pip_and_make_are_asked_for_is_there() -> None:
    makefile = (README.parent / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^    make (\w+)", TEXT, re.MULTILINE):
        assert f"\n{target}:" in makefile
    assert (README.parent / "environment.yml").exists()
    for link in re.findall(r"\]\(([\w/.-]+\.\w+)", TEXT):
        assert (README.parent / link).exists(), link
