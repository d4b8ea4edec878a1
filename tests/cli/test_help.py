"""What a new user sees first: the short help, examples, groups of options, suggestions, completion."""

from __future__ import annotations

import argparse
import os
import pty
import select
import shlex
import shutil
import signal
import subprocess
import time

import pytest

from ordbridge.cli import COMMANDS, helping, main, parser_of
from ordbridge.cli.completion import script


def _all_parsers():
    def walk(parser, name):
        yield pytest.param(parser, name, id=name)
        for inner, its in () if parser.commands is None else parser.commands.choices.items():
            yield from walk(its, f"{name} {inner}")

    for name, parser in parser_of(*COMMANDS).commands.choices.items():
        yield from walk(parser, name)


def test_ordbridge_alone_shows_the_five_commonest_tasks(capsys):
    assert main([]) == 0
    said = capsys.readouterr().out
    assert all(f"ordbridge {name}" in said for name in ("compare", "reliability", "plan", "judges", "app", "examples"))
    assert max(map(len, said.splitlines())) <= 80 and len(said.splitlines()) < 20


@pytest.mark.parametrize(("parser", "name"), list(_all_parsers()))
def test_every_help_begins_with_two_examples_and_groups_its_options(parser, name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    head, first, second, *rest = parser.format_help().replace(" \\\n     ", "").splitlines()
    assert head == "examples:" and first.startswith(f"  ordbridge {name}") and second.startswith("  ordbridge ")
    assert f"usage: ordbridge {name}" in "\n".join(rest)
    examples = parser.format_help().partition("usage:")[0].splitlines()
    assert max(len(line) for line in examples if " > " not in line) <= 80
    if parser.commands is None:
        titles = [group.title for group in parser._action_groups if group._group_actions]
        assert titles[0] == "common" and set(titles) - {*helping.TITLES.values()} <= {
            "logs of evaluations (inspect_ai, lm-eval, promptfoo, MT-bench, AlpacaEval)"
        }
        grouped = [action for group in parser._action_groups for action in group._group_actions]
        assert sorted(map(id, grouped)) == sorted(map(id, parser._actions))


def test_long_commands_have_all_four_groups():
    for name in ("compare", "plan", "fit"):
        parser = parser_of(name).commands.choices[name]
        titles = [group.title for group in parser._action_groups if group._group_actions]
        assert titles[:4] == ["common", "reading the file", "model", "output"]
        assert len(parser._action_groups[2]._group_actions) < 14


@pytest.mark.parametrize("example", [line for pair in helping.EXAMPLES.values() for line in pair])
def test_the_examples_can_be_typed(example):
    words = shlex.split(example.partition(" > ")[0])[1:]
    parse = argparse.ArgumentParser.parse_args
    assert parse(parser_of(words[0]), words).run


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["comprae", "x.csv"], "Did you mean compare?"),
        (["compare", "x.csv", "--hmtl", "r.html"], "Did you mean --html?"),
        (["plan", "x.csv", "--effect-point=0.3", "--bugdet", "5"], "Did you mean --budget?"),
        (["design", "crossed", "--items", "2", "--raters", "2", "--sead", "1"], "Did you mean --seed?"),
    ],
)
def test_what_was_meant(words, meant, capsys):
    with pytest.raises(SystemExit) as left:
        main(words)
    assert left.value.code == 2
    assert meant in capsys.readouterr().err


def test_a_file_in_the_place_of_a_command_gets_a_command(tmp_path, capsys):
    (tmp_path / "x.csv").write_text("a\n", encoding="utf-8")
    with pytest.raises(SystemExit):
        main([str(tmp_path / "x.csv")])
    assert f"ordbridge compare {tmp_path / 'x.csv'}" in capsys.readouterr().err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_has_every_command_and_is_read_by_its_shell(shell, tmp_path):
    text = script(shell)
    assert all(name in text for name in COMMANDS) and ("-l html" if shell == "fish" else "--html") in text
    if not shutil.which(shell):
        pytest.skip(f"no {shell} here")
    file = tmp_path / "completion"
    file.write_text(text, encoding="utf-8")
    subprocess.run([shell, "-n", str(file)], check=True)


@pytest.mark.skipif(not shutil.which("bash"), reason="no bash here")
@pytest.mark.parametrize(
    ("typed", "wanted"),
    [("ordbridge comp", "compare"), ("ordbridge compare --ht", "--html"), ("ordbridge design cro", "crossed")],
)
def test_bash_completes(typed, wanted, tmp_path):
    file = tmp_path / "completion"
    file.write_text(script("bash"), encoding="utf-8")
    words = typed.split()
    code = f'source {file}; COMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}; _ordbridge; echo "${{COMPREPLY[@]}}"'
    said = subprocess.run(["bash", "-c", code], check=True, capture_output=True, text=True, cwd=tmp_path).stdout
    assert wanted in said.split()


TYPED = [
    ("ordbridge compar", "compare"),
    ("ordbridge compare x.csv --partic", "--participant"),
    ("ordbridge design cro", "crossed"),
]


@pytest.mark.skipif(not shutil.which("fish"), reason="no fish here")
@pytest.mark.parametrize(("typed", "wanted"), TYPED)
def test_fish_completes(typed, wanted, tmp_path):
    (tmp_path / "completion.fish").write_text(script("fish"), encoding="utf-8")
    command = ["fish", "--no-config", "-c", f"source completion.fish; complete -C '{typed}'"]
    home = {**os.environ, "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    said = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path, env=home).stdout
    assert wanted in [line.partition("\t")[0] for line in said.splitlines()]


@pytest.mark.skipif(not shutil.which("zsh"), reason="no zsh here")
@pytest.mark.parametrize(("typed", "wanted"), TYPED)
def test_zsh_completes_what_is_typed(typed, wanted, tmp_path):
    """In a terminal, with the tabulator key: zsh completes nowhere else."""
    (tmp_path / "completion.zsh").write_text(script("zsh"), encoding="utf-8")
    child, terminal = pty.fork()
    if child == 0:  # pragma: no cover
        os.chdir(tmp_path)
        os.execvpe("zsh", ["zsh", "-f", "-i"], {**os.environ, "TERM": "dumb", "HOME": str(tmp_path)})
    try:
        _typed(terminal, "source ./completion.zsh && print -r ready-$((1 + 1))\n", "ready-2")
        _typed(terminal, f"{typed}\t", " ".join([*typed.split()[:-1], wanted]))
    finally:
        os.close(terminal)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _typed(terminal, keys, wanted):
    """Type keys and wait until a text is on the screen."""
    os.write(terminal, keys.encode())
    seen = ""
    until = time.monotonic() + 30
    while wanted not in seen:
        ready, _, _ = select.select([terminal], [], [], max(0.0, until - time.monotonic()))
        assert ready, seen
        seen += os.read(terminal, 65_536).decode(errors="replace")


def test_a_terminal_has_colours_and_a_file_has_none():
    import pyarrow as pa

    from ordbridge.render import terminal
    from ordbridge.render.layout import ShownTable
    from ordbridge.results import Result, found

    class Small(Result):
        answer = "B wins."
        counted = ""
        columns = "Columns: rating = score."
        findings = (found("few-shared-items", n=3), found("more-raters", n=4, text="text", estimate=0.9))

        def main(self):
            name = "a very long name of a system that takes more room than there is " * 2
            return [ShownTable(pa.table({"system": [name], "p_value": [1.5e-6], "rating": [3.14159]}))]

    plain = terminal.text(Small(), more="--html report.html")
    assert "\x1b" not in plain and "  ! Only 3 items" in plain and "rating = score." in plain
    assert plain.splitlines()[-1] == "  More: --html report.html"
    assert max(map(len, plain.splitlines())) <= 80
    assert "< .001" in plain and "3.14" in plain, "no column is lost: the name is cut"
    painted = terminal.text(Small(), colour=True)
    assert painted.startswith("\x1b[1mB wins.\x1b[0m") and "\x1b[33m  ! Only" in painted
    assert "4 raters" not in terminal.text(Small(), notes=False)
