"""Whether the tests of faults and attacks can fail: each must pass, and notice when its guard is taken out.

    python tools/broken_on_purpose.py [WORD ...]

With words only those whose name has one of them. The files of this clone are changed for the time of one test and then
put back, so everything must be committed first.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 400  # a test that hangs without its guard has noticed
PASSED, FAILED = 0, 1  # exit codes of pytest


class Break(NamedTuple):
    """A guard: what to put in the place of which lines of a file, and the test that must fail then."""

    name: str
    file: str
    old: str
    new: str
    test: str


BREAKS = [
    Break(
        "TLS of a local cluster", "power/dask_backend.py", "security=security,", "", "power/test_dask.py -k nobody_else"
    ),
    Break(
        "scheduler gone",
        "power/dask_backend.py",
        "except CancelledError:\n            raise self._gone() from None",
        "except CancelledError:\n            raise",
        "power/test_dask.py -k that_dies_is_one_sentence_and_the_same_call_goes_on[scheduler",
    ),
    Break(
        "all workers gone",
        "power/dask_backend.py",
        "if now - self._watch.last_worker_seen > PATIENCE:",
        "if False:",
        "power/test_dask.py -k that_dies_is_one_sentence_and_the_same_call_goes_on[worker",
    ),
    Break(
        "unreachable cluster",
        "power/dask_backend.py",
        'raise ClusterError(f"{where} ({_first_line(error)}){hint}") from None',
        "raise",
        "power/test_dask.py -k says_how_to_go_on_without",
    ),
    Break(
        "checksum of a part",
        "power/parts.py",
        'if part.suffix != ".parquet" or part.stem.rpartition("-")[2] != checksum(part):',
        "if False:",
        "power/test_store.py -k a_damaged_part_is_set_aside",
    ),
    Break(
        "foreign part",
        "power/parts.py",
        "if (schema.metadata or {}).get(IDENTITY) != identity.encode():",
        "if False:",
        "power/test_store.py -k a_foreign_part",
    ),
    Break(
        "impossible rows",
        "power/parts.py",
        "if reason := _fault_of_rows(table, manifest):",
        "if reason := '':",
        "fuzz/test_stores.py",
    ),
    Break(
        "edited manifest",
        "power/manifest.py",
        'if manifest.get("identity", identity := identity_of(manifest)) != identity:',
        "if False:",
        "power/test_store.py -k edited_manifest",
    ),
    Break(
        "a reader never writes",
        "power/parts.py",
        'done = distrust(path, part) if distrust is not None else ""',
        "done = set_aside(path, part)",
        "fuzz/test_stores.py",
    ),
    Break(
        "faults of the machine",
        "power/faults.py",
        "    return re.search(MACHINE",
        "    return False and re.search(MACHINE",
        "power/test_faults.py -k what_is_of_the_machine",
    ),
    Break(
        "no memory",
        "power/worker.py",
        "if is_of_the_machine(error):",
        "if False:",
        "power/test_faults.py -k a_fit_without_memory",
    ),
    Break(
        "crashes are tried again",
        "power/runner.py",
        "self._alone(crashed, known=True)",
        "",
        "power/test_faults.py -k a_crash_is_tried",
    ),
    Break(
        "killed from outside",
        "power/faults.py",
        '"""Signals that come',
        'KILLED = "never"\n"""Signals that come',
        "power/test_faults.py -k killed_from_outside",
    ),
    Break(
        "stopped worker with a time limit",
        "power/runner.py",
        "return self._timeout is not None and time.monotonic() - self._answered",
        "return False and time.monotonic() - self._answered",
        "power/test_faults.py -k stopped_worker_does_not_hold_up",
    ),
    Break(
        "stopped worker is named",
        "power/runner.py",
        "if time.monotonic() - self._answered > SILENCE:",
        "if False:",
        "power/test_faults.py -k stopped_worker_is_named --timeout 90",
    ),
    Break(
        "lock as a link",
        "power/store.py",
        "if file.is_symlink() or (file.exists() and not file.is_file()):",
        "if False:",
        "power/test_store.py -k link_in_the_place_of_the_lock",
    ),
    Break(
        "rename without sync",
        "power/store.py",
        "            sync_folder(final.parent)\n",
        "",
        "power/test_store.py -k synced_with_its_folder",
    ),
    Break(
        "Python files in the working folder, loky",
        "power/backends.py",
        'PYTHONSAFEPATH="1"',
        'PYTHONSAFE="1"',
        "cli/test_hostile_surroundings.py -k workers_import_nothing_from_the_working_folder[loky",
    ),
    Break(
        "Python files in the working folder, Dask",
        "power/backends.py",
        '"PYTHONSAFEPATH": "1",',
        "**{},",
        "cli/test_hostile_surroundings.py -k workers_import_nothing_from_the_working_folder[dask",
    ),
    Break(
        "Python files in the working folder, page",
        "app/jobs.py",
        'environment(PYTHONSAFEPATH="1")',
        "environment()",
        "cli/test_hostile_surroundings.py -k page_imports",
    ),
    Break(
        "Python files in the working folder, doctor",
        "bridge/doctor.py",
        '"-P", ',
        "",
        "cli/test_hostile_surroundings.py -k doctor_imports",
    ),
    Break(
        "folders of killed processes",
        "support/temp_cleanup.py",
        "                _remove_if_ownerless(",
        "                bool(",
        "support/test_temp_cleanup.py -k folder_of_a_killed",
    ),
    Break(
        "semaphores of killed processes",
        "support/temp_cleanup.py",
        "(SEMAPHORES / name).unlink()",
        "pass",
        "support/test_temp_cleanup.py -k semaphores",
    ),
    Break(
        "R's files of killed processes",
        "bridge/session.py",
        ', "TMPDIR": str(private_folder())',
        "",
        "support/test_temp_cleanup.py -k a_group_that_is_killed",
    ),
    Break(
        "Ctrl-C while R starts",
        "support/child_processes.py",
        "        self.note()\n",
        "",
        "bridge/test_interrupted_start.py -k while_r_starts",
    ),
    Break(
        "SIGTERM",
        "cli/signals.py",
        '"SIGTERM", ',
        "",
        "bridge/test_interrupted_start.py -k command_that_is_ended_says_so[SIGTERM",
    ),
    Break(
        "signals inside R's callbacks",
        "support/child_processes.py",
        "            if self._waits:",
        "            if False:",
        "bridge/test_interrupted_start.py -k inside_a_callback_of_r",
    ),
    Break(
        "signals that can only be ignored",
        "cli/signals.py",
        "            self._ignored = True",
        "            self._hook(what)",
        "bridge/test_interrupted_start.py -k can_only_ignore",
    ),
    Break(
        "signals that are swallowed",
        "cli/signals.py",
        "threading.Thread(target=self._watch,",
        "threading.Thread(target=bool,",
        "bridge/test_interrupted_start.py -k keeps_to_itself",
    ),
    Break(
        "signals at the very end",
        "cli/__init__.py",
        "atexit.register(lambda: shutdown.leave(code))",
        "bool(atexit)",
        "bridge/test_interrupted_start.py -k very_end",
    ),
    Break(
        "a signal is reported as a fault",
        "cli/__init__.py",
        "        if shutdown.code is not None:  # what",
        "        if False:  # what",
        "cli/test_last_resort.py -k because_of_a_signal",
    ),
    Break(
        "other files in the place of a store of draws",
        "models/inference/resampling.py",
        "if not all(map(LINE.fullmatch, lines)) or not UNFINISHED.fullmatch(unfinished):",
        "if False:",
        "inference/test_tests.py -k leaves_other_files_alone",
    ),
    Break(
        "the key to the page",
        "app/server.py",
        '        return "open the address that ordbridge app shows in the terminal"',
        '        return ""',
        "app/test_app.py -k strangers_get_nothing",
    ),
    Break(
        "the key to the page, another user",
        "app/server.py",
        '        return "open the address that ordbridge app shows in the terminal"',
        '        return ""',
        "app/test_app.py -k another_user",
    ),
    Break(
        "requests that are none",
        "app/server.py",
        'if not re.fullmatch("[0-9]{1,15}", given):',
        "if not given.isdigit():",
        "app/test_app.py -k no_request",
    ),
    Break(
        "connections that wait",
        "app/server.py",
        "request_queue_size = 1024",
        "request_queue_size = 5",
        "app/test_app.py -k two_hundred",
    ),
    Break(
        "number of jobs",
        "app/jobs.py",
        "if not self._places.acquire(blocking=False):",
        "if sum(job.snapshot()['state'] == 'running' for job in study.jobs.values()) >= MOST_RUNNING:",
        "app/test_app.py -k no_more_jobs",
    ),
    Break(
        "descriptors of jobs",
        "app/jobs.py",
        "            self._process.close()",
        "            pass",
        "app/test_app.py -k three_hundred",
    ),
    Break(
        "memory of jobs",
        "app/work.py",
        "    limit_memory(memory)\n",
        "",
        "app/test_app.py -k memory_limit",
    ),
    Break(
        "a full disk under the page",
        "app/work.py",
        "if isinstance(error, OSError) and error.errno in FULL:",
        "if False:",
        "app/test_app.py -k full_disk",
    ),
    Break(
        "markup in pages",
        "support/escaping.py",
        "return escape(visible(text), quote=True)",
        "return visible(text)",
        "report/test_names_as_text.py -k page_shows",
    ),
    Break(
        "formulas in spreadsheets",
        "support/escaping.py",
        '    return f"\'{text}" if',
        "    return text if",
        "report/test_names_as_text.py -k spreadsheet",
    ),
    Break(
        "names in LaTeX",
        "support/escaping.py",
        "return TOKEN.sub(written, one_line(text))",
        "return one_line(text)",
        "report/test_names_as_text.py -k numbers_are_numbers",
    ),
]


def main() -> None:
    """Break, test, put back; the exit code says whether something went unnoticed."""
    if subprocess.run(["git", "status", "--porcelain", "src"], cwd=ROOT, capture_output=True, text=True).stdout:
        sys.exit("commit the changes of src/ first: files are changed and put back")
    wanted = [one for one in BREAKS if not sys.argv[1:] or any(word in one.name for word in sys.argv[1:])]
    unnoticed = []
    for one in wanted:
        began = time.monotonic()
        verdict = tried(one)
        print(f"{one.name:45s} {verdict:35s} {time.monotonic() - began:4.0f} s", flush=True)
        unnoticed += [one.name] if verdict != "noticed" else []
    print(f"{len(wanted) - len(unnoticed)} of {len(wanted)} noticed")
    sys.exit(bool(unnoticed))


def tried(one: Break) -> str:
    """Run a guard's test as it is, break the guard, run it again, put everything back, and say how the test ended."""
    file = ROOT / "src" / "ordbridge" / one.file
    before = file.read_text(encoding="utf-8")
    if one.old not in before:
        return "THE GUARD IS NOT THERE"
    if ended(one.test) != PASSED:  # a test that always fails would notice everything
        return "FAILS WITH THE GUARD, TOO"
    try:
        file.write_text(before.replace(one.old, one.new), encoding="utf-8")
        code = ended(one.test)
    finally:
        file.write_text(before, encoding="utf-8")
    return {PASSED: "NOT NOTICED", FAILED: "noticed"}.get(code, f"NO TEST RAN (pytest's exit code {code})")


def ended(test: str) -> int:
    """Return pytest's exit code on a test; one that hangs has failed."""
    path, *options = test.split(" ")
    if options[:1] == ["-k"] and "[" in options[1]:  # one case of a test
        name, _, case = options[1].partition("[")
        options[1] = f"{name} and {case}"
    command = [sys.executable, "-m", "pytest", f"tests/{path}", *options, "-x", "-q", "-p", "no:cacheprovider"]
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, timeout=SECONDS).returncode
    except subprocess.TimeoutExpired:
        return FAILED


if __name__ == "__main__":
    main()
