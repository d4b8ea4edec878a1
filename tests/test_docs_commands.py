"""What README and documentation say can be typed, can be typed."""

from __future__ import annotations

import argparse
import doctest
import re
import shlex
import shutil
from pathlib import Path

import pytest

from ordbridge.cli import main

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# a line of its own in a code block, or in backticks; an ellipsis stands for something left out
LINE = re.compile(r"^(?:    )?(ordbridge [^`\n]*)$|`(ordbridge [^`\n]+)`", re.MULTILINE)


class Understood(Exception):  # noqa: N818
    """Raised instead of running a command."""


def commands():
    for page in PAGES:
        for found in LINE.finditer(page.read_text(encoding="utf-8").replace("\\\n", " ")):
            words = shlex.split(found[1] or found[2], comments=True)[1:]
            if words and "…" not in " ".join(words) and words[0][0] not in "-:":
                yield pytest.param(words, id=f"{page.name}: {' '.join(words)[:60]}")


@pytest.mark.parametrize("words", list(commands()))
def test_commands_on_the_pages_have_the_options_that_they_name(words, monkeypatch):
    parse = argparse.ArgumentParser.parse_args

    def parse_only(parser, *arguments, **options):
        raise Understood(parse(parser, *arguments, **options))

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", parse_only)
    if "--help" in words or (len(words) == 1 and words[0] not in ("validate", "doctor", "settings")):
        words = [words[0], "--help"]  # a command that is only mentioned
        with pytest.raises(SystemExit) as left:
            main(words)
        assert left.value.code == 0
        return
    with pytest.raises(Understood):
        main(words)


@pytest.mark.needs_r
@pytest.mark.skipif(not shutil.which("Rscript"), reason="no R here")
def test_the_page_for_r_users_can_be_typed(tmp_path, monkeypatch, capfd):
    """Run the page from top to bottom; what it shows of fit and raters is what comes out."""
    import subprocess

    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "howto" / "from-r.md").read_text(encoding="utf-8")
    said = {}
    for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL):
        for line in block.strip().splitlines():
            words = shlex.split(line)
            if words[0] == "ordbridge":
                assert main(words[1:]) == 0, line
            else:
                subprocess.run(words, check=True)
            said[words[1]] = _squeezed(capfd.readouterr().out)
    shown = [_squeezed(block) for block in re.findall(r"```text\n(.*?)```", text, re.DOTALL)]
    assert _squeezed(Path("wine.csv").read_text(encoding="utf-8")).startswith(shown[0])
    assert shown[1] in said["reliability"]
    assert shown[2] in said["compare"]
    assert shown[3] in said["fit"]
    assert shown[4].partition(", power")[0] in said["plan"]  # which design; its power depends on the last digits
    quoted = _squeezed(re.search(r"^> We fitted.*?\n\n", text, re.MULTILINE | re.DOTALL)[0].replace("> ", ""))
    assert re.sub(r"[\d.]+", "#", quoted) == re.sub(r"[\d.]+", "#", _squeezed(_paragraph("fit.md")))
    for file in (
        "raters.html",
        "raters.md",
        "compare.html",
        "compare.md",
        "compare.png",
        "fit.html",
        "fit.tex",
        "plan.png",
        "plan.html",
        "sheet.csv",
    ):
        assert Path(file).stat().st_size > 0
    flags = doctest.NORMALIZE_WHITESPACE
    assert (
        doctest.testfile(str(ROOT / "docs" / "howto" / "from-r.md"), module_relative=False, optionflags=flags).failed
        == 0
    )


def _squeezed(text):
    return " ".join(text.split())


def _paragraph(file):
    return next(part for part in Path(file).read_text(encoding="utf-8").split("\n\n") if part.startswith("We fitted"))


@pytest.mark.slow
@pytest.mark.needs_r
@pytest.mark.skipif(not shutil.which("Rscript"), reason="no R here")
def test_the_tutorial_can_be_typed(tmp_path, monkeypatch, capsys):
    """Every command of the tutorial prints what the page shows, in one folder, from top to bottom."""
    from test_readme import alike

    monkeypatch.chdir(tmp_path)
    page = ROOT / "docs" / "tutorial.md"
    tasks = re.findall(r"```sh\n(ordbridge .*?)\n```\n+```text\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert [shlex.split(command)[1] for command, _ in tasks] == [
        "examples", "check", "reliability", "compare", "plan", "design",
    ]  # fmt: skip
    for command, shown in tasks:
        words = shlex.split(command)[1:]
        assert main(words) == 0
        printed = capsys.readouterr().out
        assert alike(shown, printed), f"{command}\n{printed}"
        assert all(Path(word).stat().st_size for word in words if word.endswith((".html", ".tex", ".md", ".png")))
    assert (
        Path("summaries.csv").read_text(encoding="utf-8").startswith("worker_id,doc,system,rating\nw04,doc01,human,5")
    )
    assert doctest.testfile(str(page), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0
