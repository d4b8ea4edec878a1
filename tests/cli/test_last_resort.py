"""What nobody foresaw is one sentence; memory and disk have their own; each end has its exit code."""

from __future__ import annotations

import errno
import json
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ordbridge.cli import exits, main

DOCS = Path(__file__).resolve().parents[2] / "docs" / "reference" / "command-line.md"
ROWS = [f"p{p},t{i},{s},{1 + (p + i) % 5}" for p in range(3) for i in range(4) for s in ("Müller – α", "b")]
RATINGS = "participant,item,system,rating\n" + "\n".join(ROWS) + "\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "ratings.csv").write_text(RATINGS)
    return tmp_path / "ratings.csv"


@pytest.fixture
def failing(monkeypatch):
    """Let reading fail in a way that nobody foresaw."""

    def fail(error: BaseException) -> None:
        def read(*_, **__):
            raise error

        monkeypatch.setattr("ordbridge.reading.read", read)

    return fail


def test_what_nobody_foresaw_is_a_sentence_and_a_report_without_data(file, failing, capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr("sys.argv", ["ordbridge", "read", str(file), "--system=secret"])
    try:
        int("anna@example.org")
    except ValueError as cause:
        error = RuntimeError("the rating of anna@example.org")
        error.__cause__ = cause
    failing(error)
    assert main(["read", str(file)]) == exits.UNFORESEEN
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and said.startswith("ordbridge read: something unforeseen happened (RuntimeError)")
    report = Path(re.search(r"\S+ordbridge-bug-\S+", said)[0])
    text = report.read_text()
    assert report.stat().st_mode & 0o777 == 0o600
    assert "ordbridge read --system\n" in text and "cli/read.py" in text and "numpy " in text and "ValueError" in text
    assert "anna@" not in text.replace('int("anna@example.org")', "") and "secret" not in text
    assert str(tmp_path) not in text


def test_a_report_that_cannot_be_written_is_said(file, failing, capsys, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", "/no/such/folder")
    failing(KeyError("x"))
    assert main(["read", str(file)]) == exits.UNFORESEEN
    assert "(KeyError), and no report could be written" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError(), "there is not enough memory"),
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), "the disk is full; free some space"),
    ],
)
def test_memory_and_disk_have_their_own_sentences(error, said, file, failing, capsys):
    failing(error)
    assert main(["read", str(file)]) == exits.FAILED
    assert said in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
def test_what_breaks_because_of_a_signal_is_no_fault_to_report(file, capsys, monkeypatch):
    def read(*_, **__):
        try:
            signal.raise_signal(signal.SIGTERM)
        except KeyboardInterrupt:
            raise RuntimeError("a library's way to end") from None

    monkeypatch.setattr("ordbridge.reading.read", read)
    assert main(["read", str(file)]) == exits.TERMINATED
    assert capsys.readouterr().err == "ordbridge: stopped\n"


def ordbridge(*words: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "ordbridge", *map(str, words)], stderr=subprocess.PIPE, **options)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_output_to_a_full_disk_is_a_sentence(file):
    with open("/dev/full", "w") as full:
        done = ordbridge("read", file, stdout=full, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (exits.FAILED, 1)
    assert "the disk is full" in done.stderr


@pytest.mark.slow
def test_an_output_of_ascii_gets_ascii_and_json_keeps_its_names(file):
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = ordbridge("read", file, stdout=subprocess.PIPE, env=ascii_only)
    assert done.returncode == 0 and b"Traceback" not in done.stderr
    assert "Muller - alpha" in done.stdout.decode("ascii")
    words = ["fit", file, "--model", "lm", "--formula", "rating ~ system", "--engine", "fast", "--json", "-"]
    done = ordbridge(*words, stdout=subprocess.PIPE, env=ascii_only)
    assert "systemb" in json.dumps(json.loads(done.stdout.decode("ascii")))
    done = ordbridge("check", file, "--json", "-", stdout=subprocess.PIPE, env=ascii_only)
    assert json.loads(done.stdout.decode("ascii"))


@pytest.mark.slow
def test_a_terminal_of_the_c_locale_gets_ascii(file):
    surroundings = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "PYTHONIO"))}
    for locale, shown in (({"LANG": "C"}, "Muller - alpha"), ({"LC_ALL": "C.UTF-8"}, "Müller – α")):
        ours, theirs = pty.openpty()
        command = [sys.executable, "-m", "ordbridge", "read", str(file)]
        with subprocess.Popen(command, stdout=theirs, stderr=theirs, env=surroundings | locale) as process:
            os.close(theirs)
            text = b""
            try:
                while part := os.read(ours, 10_000):
                    text += part
            except OSError:  # the other end is closed
                pass
        os.close(ours)
        assert process.returncode == 0
        assert shown in text.decode()


def test_a_fit_that_did_not_converge_has_its_own_exit_code(file, capsys, monkeypatch):
    words = ["fit", str(file), "--model", "lm", "--formula", "rating ~ system", "--engine", "fast"]
    assert main(words) == exits.OK
    monkeypatch.setattr("ordbridge.models.fitted.Fitted.converged", property(lambda fit: False))
    assert main(words) == exits.NOT_CONVERGED
    assert main([*words, "--json", "-"]) == exits.NOT_CONVERGED


def test_all_exit_codes_stand_in_one_table():
    codes = {getattr(exits, name) for name in exits.__all__}
    table = set(map(int, re.findall(r"^\| (\d+) \|", DOCS.read_text(encoding="utf-8"), re.MULTILINE)))
    assert codes <= table and table - codes == {129}  # a terminal that was closed: 128 and the signal's number


def test_one_option_of_every_command_raises_the_limits(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("ORDBRIDGE_MAX_SIZE", "")
    path = tmp_path / "wide.csv"
    path.write_text(",".join(f"c{n}" for n in range(5000)) + "\n" + ",".join("1" * 5000) + "\n")
    assert main(["read", str(path)]) == exits.BAD_INPUT
    assert "raise the limits with --max-size 2GB" in capsys.readouterr().err
    assert main(["read", str(path), "--max-size", "2GB"]) == exits.BAD_INPUT
    assert "--max-size" not in capsys.readouterr().err
    assert main(["read", str(path), "--max-size", "much"]) == exits.BAD_INPUT
    assert "--max-size much is not a size" in capsys.readouterr().err
