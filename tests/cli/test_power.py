from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ordbridge.cli import main
from ordbridge.errors import InputError
from ordbridge.power import dask_backend, load, read_study
from ordbridge.power.study import TEMPLATE
from ordbridge.reading.tables import read

SMALL = ["power", "--preset", "howcroft2021", "--variance", "low", "--items", "20", "--ratings-per-text", "3"]
THREE_SYSTEMS = """
[truth]
effects = [0.5, 0.0]
thresholds = [-1.0, 0.0, 1.0]
[design]
table = "design.csv"
[grid]
effect = [[0.5, 0.0], [0.0, 0.0]]
[models.lm]
[models.second]
kind = "lm"
formula = "rating ~ system + order"
[run]
datasets = 2
seed = 3
term = "systemB"
"""


@pytest.mark.needs_r
def test_the_command_of_the_documentation(tmp_path, capsys):
    store, table, picture = (str(tmp_path / name) for name in ("run", "power.csv", "power.svg"))
    arguments = [*SMALL, "--effect", "0", "0.62", "--models", "lm", "clm", "--datasets", "3", "--jobs", "2"]
    assert main([*arguments, "--store", store, "--out", table, "--plot", picture]) == 0
    out, err = capsys.readouterr()
    assert "type-I error" in out and f"12 fits in {store}" in " ".join(out.split())
    assert ["effect", "model", "datasets", "measure", "power"] in [line.split() for line in out.splitlines()]
    assert all(" of 12 fits" in line for line in err.splitlines())  # progress, told from the fifth second on
    assert read(table).num_rows == 4
    assert Path(picture).read_text().count("low variance")
    assert main([*arguments[:-3], "4", "--store", store, "--quiet"]) == 0  # more datasets, one job
    out, err = capsys.readouterr()
    assert "16 fits in" in out and not err


@pytest.mark.needs_r
def test_a_study_file_is_written_and_read(tmp_path, capsys):
    file = str(tmp_path / "study.toml")
    assert main(["power", "--init", file]) == 0
    assert Path(file).read_text() == TEMPLATE
    study = read_study(file)
    assert len(study.grid.cells) == 8 and study.options["datasets"] == 100
    assert main(["power", "--init", file]) == 2
    assert "already there" in capsys.readouterr().err
    options = ["--items", "30", "--models", "lm", "--datasets", "2", "--effect", "0", "--store", str(tmp_path / "run")]
    assert main(["power", file, *options]) == 0
    run = load(tmp_path / "run")
    assert run.grid.axes["items"] == (30,) and run.manifest["seed"] == 42
    assert run.fits["term"].to_pylist() == ["systemB"] * 4


@pytest.mark.slow
def test_the_written_study_runs_as_it_is(tmp_path, capsys):
    """Its own grid and models; only fewer datasets, and natively, or it would take hours."""
    file = str(tmp_path / "study.toml")
    assert main(["power", "--init", file]) == 0
    assert (
        main(["power", file, "--datasets", "1", "--engine", "fast", "--store", str(tmp_path / "run"), "--quiet"]) == 0
    )
    table = load(tmp_path / "run").power()
    assert table.num_rows == 16 and sum(table["n_failed"].to_pylist()) == 0
    assert "16 fits in" in capsys.readouterr().out


@pytest.mark.slow
def test_the_table_says_how_lmer_was_fitted(tmp_path, capsys):
    few = ["--effect", "0", "--models", "lmer", "--datasets", "1", "--engine", "fast", "--quiet"]
    assert main([*SMALL, *few, "--store", str(tmp_path / "published")]) == 0
    assert "lmer (maximum likelihood)" in " ".join(capsys.readouterr().out.split())  # as in the paper
    assert main(["power", "--init", str(tmp_path / "study.toml")]) == 0
    own = ["power", str(tmp_path / "study.toml"), "--variance", "careful", "--items", "50", *few]
    assert main([*own, "--store", str(tmp_path / "own")]) == 0
    assert "lmer (REML)" in " ".join(capsys.readouterr().out.split())


@pytest.mark.needs_r
def test_three_systems_on_a_table_of_ones_own(tmp_path, capsys):
    assert (
        main(
            [
                "design",
                "crossed",
                "--items",
                "6",
                "--raters",
                "4",
                "--systems",
                "3",
                "--out",
                str(tmp_path / "design.csv"),
            ]
        )
        == 0
    )
    (tmp_path / "study.toml").write_text(THREE_SYSTEMS)
    assert main(["power", str(tmp_path / "study.toml"), "--store", str(tmp_path / "run"), "--quiet"]) == 0
    table = load(tmp_path / "run").power()
    assert table["effect"].to_pylist() == [0.5, 0.5, 0.0, 0.0]
    assert table["measure"].to_pylist() == ["power", "power", "type-I error", "type-I error"]
    assert table["model"].to_pylist() == ["lm", "second"] * 2


def test_a_start_for_every_clmm():
    from ordbridge.cli.power import _started

    models = _started(
        {"clmm": {}, "lmer": {}, "simple": {"kind": "clmm", "formula": "rating ~ system + (1 | item)"}}, "fast"
    )
    assert [name for name, options in models.items() if options.get("start") == "fast"] == ["clmm", "simple"]
    assert _started(("lm", "clmm"), "fast") == {"lm": {}, "clmm": {"start": "fast"}}


@pytest.mark.needs_r
def test_without_a_store_the_same_command_goes_on(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = [*SMALL, "--effect", "0", "--models", "lm", "--datasets", "2", "--quiet"]
    for _ in range(2):
        assert main(arguments) == 0
    assert len(list((tmp_path / "runs").iterdir())) == 1


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("preset = 'howcroft2021'\n[gird]\n", "no section 'gird'"),
        ("preset = 'howcroft2021'\n[run]\ndatasets = 'many'\n", "datasets = 'many' in [run] is not of type int"),
        ("preset = 'howcroft2021'\n[run]\nsmis = 3\n", "no key of [run] 'smis'"),
        ("preset = 'howcroft2021'\n[grid]\nitems = [55]\n", "items=55 has no list of the published kind"),
        ("[truth]\nthresholds = [0.0]\n[design]\nkind = 'crossed'\n", "no effects"),
        ("truth = 3\n", "must be a section"),
        ("[truth\n", "is not valid TOML"),
        ("[truth]\neffects = [0.0]\nthresholds = [0.0]\n[design]\nitems = 3\n", "needs a kind"),
    ],
)
def test_a_wrong_study_file(tmp_path, capsys, text, sentence):
    (tmp_path / "study.toml").write_text(text)
    assert main(["power", str(tmp_path / "study.toml"), "--store", str(tmp_path / "run")]) == 2
    err = capsys.readouterr().err
    assert sentence in err and err.count("\n") == 1
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("asked", ['scheduler = "tcp://evil:8786"', 'backend = "dask"\nscheduler = "tcp://evil:8786"',
                                   'backend = "dask"'])  # fmt: skip
def test_a_study_file_cannot_say_where_work_is_sent(tmp_path, capsys, monkeypatch, asked):
    """A scheduler's answers are unpickled, so it can run code here: only who types the command may name one."""
    monkeypatch.setattr(dask_backend, "DaskBackend", _contacted)
    (tmp_path / "study.toml").write_text(f"preset = 'howcroft2021'\n[run]\ndatasets = 1\n{asked}\n")
    assert main(["power", str(tmp_path / "study.toml"), "--store", str(tmp_path / "run")]) == 2
    err = capsys.readouterr().err
    assert "cannot be in a study file" in err and err.count("\n") == 1
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "text",
    [
        "scheduler = 'tcp://evil:8786'\npreset = 'howcroft2021'\n",
        "preset = 'howcroft2021'\n[grid]\nscheduler = 'tcp://evil:8786'\n",
        "preset = 'howcroft2021'\n[models.lm]\nscheduler = 'tcp://evil:8786'\n",
        "[truth]\neffects = [0.1]\nthresholds = [0.0]\nscheduler = 'tcp://evil:8786'\n[design]\nkind = 'crossed'\n",
        "[truth]\neffects = [0.1]\nthresholds = [0.0]\n[design]\nkind = 'crossed'\nscheduler = 'tcp://evil:8786'\n",
    ],
)
def test_no_other_section_takes_a_scheduler(tmp_path, capsys, monkeypatch, text):
    monkeypatch.setattr(dask_backend, "DaskBackend", _contacted)
    (tmp_path / "study.toml").write_text(text)
    assert main(["power", str(tmp_path / "study.toml"), "--store", str(tmp_path / "run")]) == 2
    err = capsys.readouterr().err
    assert "'scheduler'" in err and err.count("\n") == 1


def test_a_truth_file_takes_no_scheduler(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(dask_backend, "DaskBackend", _contacted)
    (tmp_path / "truth.toml").write_text("effects = [0.5]\nthresholds = [0.0]\nscheduler = 'tcp://evil:8786'\n")
    assert main(["plan", "--truth", str(tmp_path / "truth.toml"), "--store", str(tmp_path / "plans")]) == 2
    assert "a truth has no 'scheduler'" in capsys.readouterr().err


@pytest.mark.needs_r
def test_the_manifest_of_a_store_names_no_scheduler(tmp_path, monkeypatch):
    """A store that somebody hands over says what was run, never where its fits are done when it goes on."""
    monkeypatch.setattr(dask_backend, "DaskBackend", _contacted)
    arguments = [*SMALL, "--effect", "0", "--models", "lm", "--quiet", "--store", str(tmp_path / "run")]
    assert main([*arguments, "--datasets", "1"]) == 0
    file = tmp_path / "run" / "manifest.json"
    evil = {"backend": "dask", "scheduler": "tcp://evil:8786"}
    file.write_text(json.dumps({**json.loads(file.read_text()), **evil, "run": evil, "options": evil}))
    assert main([*arguments, "--datasets", "2"]) == 0
    assert load(tmp_path / "run").fits.num_rows == 2


def test_the_command_line_names_a_scheduler(tmp_path, monkeypatch):
    named = []

    def contacted(jobs, scheduler):
        named.append(scheduler)
        raise InputError("nobody is there")

    monkeypatch.setattr(dask_backend, "DaskBackend", contacted)
    (tmp_path / "study.toml").write_text("preset = 'howcroft2021'\n[run]\ndatasets = 1\n")
    arguments = ["power", str(tmp_path / "study.toml"), "--store", str(tmp_path / "run"), "--models", "lm"]
    assert main([*arguments, "--backend", "tcp://mine:8786"]) == 2
    with pytest.raises(InputError, match="nobody is there"):
        read_study(tmp_path / "study.toml", models=["lm"]).run(backend="tcp://also-mine:8786")
    assert named == ["tcp://mine:8786", "tcp://also-mine:8786"]


def _contacted(jobs, scheduler):
    raise AssertionError(f"Dask was asked for, with the scheduler {scheduler}")


def test_nothing_to_run(capsys):
    assert main(["power"]) == 2
    assert "name a study file" in capsys.readouterr().err


@pytest.mark.needs_r
def test_a_damaged_part_is_named_on_the_screen(tmp_path, capsys):
    arguments = [
        *SMALL,
        "--effect",
        "0",
        "--models",
        "lm",
        "--datasets",
        "2",
        "--quiet",
        "--store",
        str(tmp_path / "run"),
    ]
    assert main(arguments) == 0
    part = next((tmp_path / "run" / "fits").iterdir())
    part.write_bytes(part.read_bytes()[:-9])
    capsys.readouterr()
    assert main(arguments) == 0
    out, err = capsys.readouterr()
    assert err.startswith("warning: ") and part.name in err and "2 fits in" in " ".join(out.split())


@pytest.mark.needs_r
def test_ctrl_c_ends_within_two_seconds_and_says_how_to_go_on(tmp_path):
    """The workers sit inside R, in fits of half a minute and more; the signal goes to all, as from a terminal."""
    arguments = [*SMALL[:-3], "100", "--ratings-per-text", "10", "--effect", "0.31", "--models", "clmm", "--jobs", "2"]
    arguments += ["--store", str(tmp_path / "my run")]
    command = [sys.executable, "-m", "ordbridge", *arguments]
    listen = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}  # a job in the background would not
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True, **listen) as program:
        while not (workers := _inside_r(program.pid)):
            assert program.poll() is None
            time.sleep(0.1)
        time.sleep(3)
        sent = time.monotonic()
        os.killpg(program.pid, signal.SIGINT)
        _, err = program.communicate(timeout=30)
        took = time.monotonic() - sent
    assert program.returncode == 130
    assert took < 2
    assert f"To continue:\nordbridge {' '.join(arguments[:-1])} '{tmp_path}/my run'\n" in err
    assert "Traceback" not in err
    assert not [pid for pid in workers if Path(f"/proc/{pid}").exists()]
    assert json.loads((tmp_path / "my run" / "manifest.json").read_text())["seed"] == 0


@pytest.mark.needs_r
def test_a_full_disk_is_one_sentence(tmp_path):
    """The limit of file sizes stands for the disk: manifest and first parts fit, larger parts do not."""
    arguments = [*SMALL, "--effect", "0", "--models", "lm", "--datasets", "4000", "--store", str(tmp_path / "run")]

    def little_room():
        resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000))

    program = subprocess.run(
        [sys.executable, "-m", "ordbridge", *arguments, "--quiet"],
        capture_output=True, text=True, preexec_fn=little_room, timeout=120,
    )  # fmt: skip
    assert program.returncode == 1, program.stderr
    assert re.fullmatch(
        r"ordbridge power: no space left for .*run: what was stored stays readable; .*\n", program.stderr
    )
    assert 0 < load(tmp_path / "run").fits.num_rows < 4000


def _inside_r(pid: int) -> list[int]:
    """Return the children of a process that have loaded R."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(c) for c in children if "libR.so" in Path(f"/proc/{c}/maps").read_text()]


@pytest.mark.slow
def test_calibrated_power_side_by_side_and_kept(tmp_path, capsys):
    """Size, nominal and size-adjusted power; another call adds nulls to what is there."""
    store, page, paper = tmp_path / "run", tmp_path / "power.html", tmp_path / "power.md"
    arguments = [*SMALL, "--effect", "0.62", "--models", "lm", "--datasets", "20", "--engine", "fast"]
    assert main([*arguments, "--store", str(store), "--quiet"]) == 0
    assert "adjusted power" not in capsys.readouterr().out
    arguments += ["--null-datasets", "40", "--html", str(page), "--markdown", str(paper)]
    assert main([*arguments, "--store", str(store), "--quiet"]) == 0
    out = capsys.readouterr().out
    assert "adjusted power" in out and "critical values from 40 datasets each" in out and "60 fits in" in out
    run = load(store)
    assert run.calibration == 40
    assert {"size", "critical_value", "adjusted_low", "adjusted_high"} <= set(run.tables["power"].column_names)
    assert "Compare models by their adjusted power" in page.read_text(encoding="utf-8")
    assert "which 40 datasets without an effect give for each design" in paper.read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_goal_and_its_margin(tmp_path, capsys):
    arguments = [*SMALL, "--effect", "0", "--models", "lm", "--datasets", "4", "--engine", "fast", "--store"]
    assert main([*arguments, str(tmp_path / "run"), "--goal", "non-inferiority", "--margin", "0.5", "--quiet"]) == 0
    assert "goal: non-inferiority within 0.5 (rating)" in " ".join(capsys.readouterr().out.split())
    assert main([*arguments, str(tmp_path / "other"), "--goal", "equivalence"]) == 2
    assert "equivalence needs --margin above 0" in capsys.readouterr().err


@pytest.mark.slow
def test_a_study_file_can_be_calibrated(tmp_path):
    file = tmp_path / "study.toml"
    file.write_text(
        'preset = "howcroft2021"\n[models.lm]\n'
        '[grid]\nvariance = "low"\nitems = 20\nratings_per_text = 3\neffect = 0.62\n'
        '[run]\ndatasets = 3\nengine = "fast"\nnull_datasets = 30\n',
        encoding="utf-8",
    )
    assert read_study(file).run().calibration == 30
