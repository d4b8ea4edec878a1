from __future__ import annotations

import errno
import gc
import json
import os
import shutil
import warnings

import pyarrow.parquet as pq
import pytest
import stub
from stub import same

from ordbridge.errors import InputError
from ordbridge.power import Grid, load, parts, store
from ordbridge.power.fit_table import FITS, FitRow, table_of


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "run"


def _parts(folder):
    return sorted((folder / "fits").iterdir())


@pytest.mark.slow
def test_manifest_says_what_was_asked_and_with_what(grid, run_stub, folder):
    run_stub(grid, store=folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["seed"] == 7 and manifest["datasets"] == 10
    assert manifest["grid"]["truths"]["low"]["item_sd"] == [0.29, 0.63]
    assert manifest["models"]["lm"]["formula"] == "rating ~ system"
    (environment,) = manifest["environments"]
    assert {"python", "numpy", "pyarrow", "ordbridge"} <= set(environment)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"seed": 8}, "seed is 7 there and 8 here"),
        ({"models": ["lm"]}, "the model clm is only there"),
        ({"models": {"lm": "rating ~ system + order", "clm": {}}}, "formula of lm is 'rating ~ system' there and"),
        ({"models": {"lm": {}, "clm": {"link": "logit"}}}, "link of clm is 'probit' there and 'logit' here"),
    ],
)
@pytest.mark.slow
def test_another_run_is_refused(grid, run_stub, folder, options, sentence):
    run_stub(grid, datasets=2, store=folder)
    with pytest.raises(InputError, match=sentence):
        run_stub(grid, datasets=2, store=folder, **options)


@pytest.mark.slow
def test_another_grid_is_refused(grid, run_stub, folder):
    run_stub(grid, datasets=2, store=folder)
    axes = {"variance": "low", "items": [20, 30], "ratings_per_text": 3, "effect": [0, 0.62]}
    with pytest.raises(InputError, match="items is 20, 30 there and 20, 40 here"):
        run_stub(Grid(preset="howcroft2021", **axes | {"items": [20, 40]}), datasets=2, store=folder)
    other = {"low": Grid(preset="howcroft2021").truths["high"]}
    with pytest.raises(InputError, match="the truth or the design of cell 'variance=low items=20"):
        run_stub(Grid(truth=other, design="howcroft2021", **axes), datasets=2, store=folder)
    shuffled = Grid(preset="howcroft2021", **axes | {"items": [30, 20], "effect": [0.62, 0]})
    run_stub(shuffled, datasets=2, store=folder)  # the same cells in another order are the same run


@pytest.mark.slow
def test_fewer_sims_keep_what_is_there_and_show_what_was_asked_for(grid, run_stub, folder):
    whole = run_stub(grid, datasets=4, store=folder)
    few = run_stub(grid, datasets=2, store=folder)
    assert few.missing == 0 and set(few.power()["n"].to_pylist()) == {2}
    assert same(few, run_stub(grid, datasets=2))
    assert same(load(folder), whole)


@pytest.mark.slow
def test_fewer_sims_than_a_run_that_was_stopped_are_all_there(grid, run_stub, folder):
    def stop(progress):
        if progress.done > progress.total / 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_stub(grid, stub.slow, datasets=40, null_datasets=60, store=folder, progress=stop)
    few = run_stub(grid, datasets=2, store=folder)
    assert few.missing == 0 and set(few.power()["n"].to_pylist()) == {2}
    assert load(folder).missing > 0


@pytest.mark.parametrize("number", [errno.EIO, errno.EXDEV, errno.ESTALE])
def test_a_folder_whose_renames_fail_is_a_sentence_and_nothing_stored_is_lost(
    grid, run_stub, folder, monkeypatch, number
):
    run_stub(grid, datasets=2, store=folder)
    before = load(folder).fits
    real = os.replace

    def fail(source, target):
        if str(folder) in str(target):
            raise OSError(number, os.strerror(number))
        return real(source, target)

    with monkeypatch.context() as patched:
        patched.setattr("os.replace", fail)
        with pytest.raises(OSError, match=r"cannot write to .*what was stored stays readable"):
            run_stub(grid, datasets=4, store=folder)
    assert load(folder).fits.equals(before)
    assert not list(folder.rglob("*.tmp"))
    assert run_stub(grid, datasets=4, store=folder).missing == 0


@pytest.mark.parametrize("damage", ["truncated", "flipped", "text"])
def test_a_damaged_part_is_set_aside_and_its_fits_run_again(grid, run_stub, folder, damage):
    whole = run_stub(grid, datasets=4)
    run_stub(grid, datasets=4, store=folder)
    part = _parts(folder)[0]
    data = bytearray(part.read_bytes())
    if damage == "truncated":
        data = data[: len(data) // 2]
    elif damage == "flipped":
        data[200] ^= 0xFF
    else:
        data = bytearray(b"cell,replicate\n")
    part.write_bytes(data)
    with pytest.warns(UserWarning, match=f"{part.name} is not read: it is damaged"):
        left = load(folder).fits.num_rows
    assert left < whole.fits.num_rows
    assert part.exists() and not (folder / "set-aside").exists(), "a reader never writes"
    with pytest.warns(UserWarning, match="it is damaged, .* and was moved to"):
        assert same(run_stub(grid, datasets=4, store=folder), whole)
    assert (folder / "set-aside" / part.name).exists() and not part.exists()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert same(load(folder), whole)


@pytest.mark.slow
def test_a_part_is_looked_at_whole_before_its_fits_count_as_done(grid, run_stub, folder):
    """With a column damaged by which nothing is checked, and a name that fits, a run ended without these fits."""
    whole = run_stub(grid, datasets=4)
    run_stub(grid, datasets=4, store=folder)
    part = _parts(folder)[0]
    chunk = pq.read_metadata(part).row_group(0).column(FITS.names.index("loglik"))
    begin = chunk.dictionary_page_offset or chunk.data_page_offset
    data = bytearray(part.read_bytes())
    data[begin : begin + 8] = b"\xff" * 8
    part.write_bytes(data)
    part.rename(part.with_name(f"{part.stem.partition('-')[0]}-{parts.checksum(part)}.parquet"))
    with pytest.warns(UserWarning, match=r"it cannot be read .* and was moved to"):
        assert same(run_stub(grid, datasets=4, store=folder), whole)


@pytest.mark.slow
def test_a_bit_that_has_changed_is_noticed_even_if_the_name_fits(grid, run_stub, folder):
    """It would be another p-value, of a fit that nobody has made."""
    whole = run_stub(grid, datasets=4)
    run_stub(grid, datasets=4, store=folder)
    part = _parts(folder)[0]
    chunk = pq.read_metadata(part).row_group(0).column(FITS.names.index("p_value"))
    begin = chunk.dictionary_page_offset or chunk.data_page_offset
    data = bytearray(part.read_bytes())
    data[begin + 50] ^= 1  # behind the page's header, among its numbers
    part.write_bytes(data)
    part.rename(part.with_name(f"{part.stem.partition('-')[0]}-{parts.checksum(part)}.parquet"))
    with pytest.warns(UserWarning, match=r"it cannot be read .*and was moved to"):
        assert same(run_stub(grid, datasets=4, store=folder), whole)


def test_a_foreign_part_is_set_aside(grid, run_stub, folder, tmp_path):
    run_stub(grid, datasets=2, store=folder)
    run_stub(grid, datasets=2, seed=8, store=tmp_path / "other")
    foreign = _parts(tmp_path / "other")[0]
    shutil.copy(foreign, folder / "fits")
    with pytest.warns(UserWarning, match="belongs to another run"):
        assert load(folder).fits.num_rows == 2 * 4 * 2
    part = _parts(folder)[0]
    table = pq.read_table(part)
    renamed = table.rename_columns(["zelle", *table.column_names[1:]]).replace_schema_metadata(table.schema.metadata)
    pq.write_table(renamed, part)
    part.rename(part.with_name(f"0-{parts.checksum(part)}.parquet"))
    with pytest.warns(UserWarning, match="it has other columns"):
        assert load(folder).fits.num_rows < 2 * 4 * 2


def test_rows_written_twice_count_once(grid, run_stub, folder):
    run = run_stub(grid, datasets=2, store=folder)
    shutil.copy(_parts(folder)[0], _parts(folder)[0].with_name(f"0-{_parts(folder)[0].name.partition('-')[2]}"))
    assert load(folder).fits.equals(run.fits)


def test_small_parts_are_merged(grid, run_stub, folder, monkeypatch):
    monkeypatch.setattr(store, "EVERY_SECONDS", 0.0)
    monkeypatch.setattr(store, "SMALL_PARTS", 5)
    run = run_stub(grid, datasets=30, store=folder)
    assert len(_parts(folder)) < 5
    assert same(run, run_stub(grid, datasets=30))


def test_what_a_killed_writer_left_behind_is_cleared(grid, run_stub, folder):
    run_stub(grid, datasets=2, store=folder)
    (folder / "fits" / ".half.parquet.tmp").write_bytes(b"PAR1")
    (folder / ".manifest-x.tmp").write_text("{")
    assert run_stub(grid, datasets=3, store=folder).fits.num_rows == 3 * 4 * 2
    assert not list(folder.rglob("*.tmp"))


@pytest.mark.slow
def test_a_full_disk_stops_with_a_sentence(grid, run_stub, folder, monkeypatch):
    write, calls = pq.ParquetWriter.write_table, []

    def full(self, table, *args):
        calls.append(table.num_rows)
        if len(calls) > 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(self, table, *args)

    monkeypatch.setattr(store, "EVERY_SECONDS", 0.0)
    monkeypatch.setattr(pq.ParquetWriter, "write_table", full)
    with pytest.raises(OSError, match=r"no space left for .*run: what was stored stays readable"):
        run_stub(grid, stub.slow, store=folder)
    assert load(folder).fits.num_rows == sum(calls[:2]) > 0
    assert not list(folder.rglob("*.tmp"))
    monkeypatch.undo()
    assert same(run_stub(grid, store=folder), run_stub(grid))


def test_two_runs_on_one_store(grid, run_stub, folder):
    held = run_stub(grid, datasets=2, store=folder)
    writing = store.Store(folder, held.manifest)
    with pytest.raises(InputError, match=f"another run \\(process {os.getpid()}\\) is writing"):
        run_stub(grid, datasets=2, store=folder)
    writing.close()
    run_stub(grid, datasets=2, store=folder)


def test_a_folder_with_other_things_is_refused(grid, run_stub, folder, tmp_path):
    folder.mkdir()
    (folder / "thesis.tex").touch()
    with pytest.raises(InputError, match=r"holds 'thesis.tex' but no power run"):
        run_stub(grid, store=folder)
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="is a file"):
        run_stub(grid, store=tmp_path / "file")
    with pytest.raises(InputError, match=r"no manifest.json"):
        load(tmp_path)
    (tmp_path / "manifest.json").write_text('{"format": ')
    with pytest.raises(InputError, match="is damaged"):
        load(tmp_path)
    (tmp_path / "manifest.json").write_text('{"format": 99}')
    with pytest.raises(InputError, match="has format 99"):
        load(tmp_path)


@pytest.mark.slow
def test_parts_are_read_while_the_run_goes_on(grid, run_stub, folder):
    seen = []

    def look(progress):
        if progress.done:
            seen.append(load(folder).fits.num_rows)

    run = run_stub(grid, stub.slow, datasets=20, store=folder, progress=look)
    assert seen[-1] == run.fits.num_rows
    assert seen == sorted(seen)


@pytest.mark.slow
def test_what_is_done_is_stored_while_long_fits_go_on(run_stub, folder, monkeypatch):
    monkeypatch.setattr(store, "EVERY_SECONDS", 0.4)
    few = Grid(preset="howcroft2021", variance="low", items=20, ratings_per_text=3, effect=0.62)
    seen = []
    look = lambda progress: seen.append((progress.done, load(folder).fits.num_rows))  # noqa: E731
    run_stub(few, stub.stalls, datasets=6, store=folder, progress=look)
    assert [rows for done, rows in seen if done == 4][-1] == 4


def test_without_a_store_the_run_lives_as_long_as_its_object(grid, run_stub):
    run = run_stub(grid, datasets=1)
    path = run.path
    assert path.is_dir() and run.fits.num_rows == 8
    del run
    gc.collect()
    assert not path.exists()


def test_a_row_has_the_columns_of_the_table_in_their_order():
    assert list(FitRow._fields) == FITS.names
    failed = FitRow("all", 0, "lm", "fast", "systemB", p_value=float("nan"), status="error", message="no p-value")
    (row,) = table_of([failed]).to_pylist()
    assert row["p_value"] is None and row["estimate"] is None  # what is not there is null, NaN too
    assert (row["status"], row["message"], row["seconds"]) == ("error", "no p-value", None)


def _state(folder):
    return sorted((str(path), path.lstat().st_mtime_ns) for path in folder.rglob("*"))


@pytest.mark.parametrize(("identity", "sentence"), [(True, "not those it was written with"), (False, "another run")])
def test_an_edited_manifest_is_refused_and_moves_nothing(grid, run_stub, folder, identity, sentence):
    """A reader once moved every part aside because the seed in the manifest had been edited."""
    run = run_stub(grid, datasets=2, store=folder)
    manifest = folder / "manifest.json"
    good = manifest.read_text()
    values = json.loads(good)
    if not identity:
        del values["identity"]  # as version 0.1 wrote it
    manifest.write_text(json.dumps(values | {"seed": 8}))
    before = _state(folder)
    with pytest.raises(InputError, match=sentence):
        load(folder).power()
    with pytest.raises(InputError, match=sentence):
        run_stub(grid, datasets=2, seed=8, store=folder)
    assert [entry for entry in _state(folder) if "lock" not in entry[0]] == [e for e in before if "lock" not in e[0]]
    manifest.write_text(good)
    assert load(folder).fits.equals(run.fits)


def test_a_grid_that_differs_from_its_cells_is_refused(grid, run_stub, folder):
    run_stub(grid, datasets=2, store=folder)
    values = json.loads((folder / "manifest.json").read_text())
    values["grid"]["axes"]["items"] = [20]
    (folder / "manifest.json").write_text(json.dumps(values))
    with pytest.raises(InputError, match="its grid and its cells differ"):
        load(folder)


@pytest.mark.parametrize("name", ["lock", "lock-holder"])
def test_a_link_in_the_place_of_the_lock_is_not_followed(grid, run_stub, folder, tmp_path, name):
    run_stub(grid, datasets=1, store=folder)
    (tmp_path / "thesis.tex").write_text("precious")
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(tmp_path / "thesis.tex")
    with pytest.raises(InputError, match=f"{name} is not a file of a power run"):
        run_stub(grid, datasets=2, store=folder)
    assert (tmp_path / "thesis.tex").read_text() == "precious"


def test_a_store_in_the_home_folder(grid, run_stub, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    run_stub(grid, datasets=1, store="~/runs/x")
    assert (tmp_path / "home" / "runs" / "x" / "manifest.json").exists() and not (tmp_path / "~").exists()
    assert load("~/runs/x").fits.num_rows == 8


def test_all_files_of_a_store_can_be_read_by_the_same_people(grid, run_stub, folder):
    before = os.umask(0o022)
    try:
        run_stub(grid, datasets=1, store=folder)
    finally:
        os.umask(before)
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert {path.stat().st_mode & 0o777 for path in files} == {0o644}


def test_what_is_renamed_is_synced_with_its_folder(grid, run_stub, folder, monkeypatch):
    """Without it, a power cut may take away a part that was there."""
    import stat

    real, synced = os.fsync, []

    def fsync(handle):
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            synced.append(os.readlink(f"/proc/self/fd/{handle}"))
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    run_stub(grid, datasets=1, store=folder)
    assert {str(folder), str(folder / "fits")} <= set(synced)
