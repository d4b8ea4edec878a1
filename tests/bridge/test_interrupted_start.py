"""Ctrl-C and SIGTERM at awkward moments."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap

import pytest


def python(code: str) -> subprocess.CompletedProcess[str]:
    def listen() -> None:  # a job in the background, or under nohup, would not
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)

    command = [sys.executable, "-c", textwrap.dedent(code)]
    return subprocess.run(command, capture_output=True, text=True, preexec_fn=listen, timeout=200)


@pytest.mark.needs_r
def test_ctrl_c_while_r_starts_arrives_when_it_has_started() -> None:
    """Half-way, R's own code would swallow it, or R would be left half started."""
    done = python("""
        import os, signal
        import rpy2.rinterface as ri
        import ordbridge as ob

        real = ri.initr

        def pressed(*arguments, **options):
            os.kill(os.getpid(), signal.SIGINT)
            answer = real(*arguments, **options)
            print("started")
            return answer

        ri.initr = pressed
        data = {"y": [1.0, 2.0, 4.0], "x": [1, 2, 3]}
        try:
            ob.lm("y ~ x", data)
        except KeyboardInterrupt:
            print("interrupted")
        print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)
        print(round(float(ob.lm("y ~ x", data).estimates.estimate[1]), 6))
    """)
    assert done.stdout.split() == ["started", "interrupted", "True", "1.5"], done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
@pytest.mark.slow
def test_a_command_that_is_ended_says_so(name: str, code: int) -> None:
    done = python(f"""
        import os, signal, sys
        import ordbridge.cli.design as command
        from ordbridge.cli import main

        real = command.add

        def add(subparsers):
            real(subparsers)
            for parser in subparsers.choices["design"]._subparsers._group_actions[0].choices.values():
                parser.set_defaults(run=lambda args: os.kill(os.getpid(), signal.{name}) or signal.pause())

        command.add = add
        sys.exit(main(["design", "crossed", "--items", "2", "--raters", "2", "--systems", "2"]))
    """)
    assert (done.returncode, done.stderr) == (code, "ordbridge design: stopped\n")


@pytest.mark.slow
def test_ctrl_c_before_there_is_a_command() -> None:
    done = python("""
        import os, signal, sys
        import ordbridge.cli.doctor as command
        from ordbridge.cli import main

        command.add = lambda _: os.kill(os.getpid(), signal.SIGINT)
        sys.exit(main(["design"]))
    """)
    assert (done.returncode, done.stderr) == (130, "ordbridge: stopped\n")
