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

        def add(design):
            real(design)
            for parser in design._subparsers._group_actions[0].choices.values():
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
        sys.exit(main(["doctor"]))
    """)
    assert (done.returncode, done.stderr) == (130, "ordbridge: stopped\n")


@pytest.mark.needs_r
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_inside_a_callback_of_r_is_raised_when_r_has_returned(name: str) -> None:
    """What is raised inside a callback of rpy2 is printed and lost."""
    done = python(f"""
        import os, signal
        from ordbridge.bridge import session

        class Ended(BaseException): ...

        def end(number, frame):
            raise Ended(number)

        signal.signal(signal.{name}, end)
        r = session._get_session()
        import rpy2.rinterface_lib.callbacks as callbacks
        callbacks.consolewrite_print = lambda text: os.kill(os.getpid(), signal.{name})
        try:
            with r.lock, r.interruptible():
                r._evaluate("print(1)")
        except Ended as ended:
            print("raised", ended.args[0] == signal.{name}, signal.getsignal(signal.{name}) is end)
        with r.lock, r.interruptible():
            print(r._evaluate("1 + 1")[0])
    """)
    assert done.stdout == "raised True True\n2.0\n"
    assert done.stderr == ""


@pytest.mark.needs_r
def test_r_that_is_interrupted_writes_nothing() -> None:
    """Outside of our own handlers, as while a package is loaded, R writes an empty line, which rpy2 logs."""
    done = python("""
        import os, signal, threading
        from ordbridge.bridge import session

        r = session._get_session()
        threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            with r.lock, r.interruptible():
                r._evaluate("repeat NULL")
        except KeyboardInterrupt:
            print("interrupted")
    """)
    assert (done.stdout, done.stderr) == ("interrupted\n", "")


def as_program(body: str, before: str = "") -> subprocess.CompletedProcess[str]:
    """Run ``ordbridge doctor`` as a program whose command does something else."""
    indented = textwrap.indent(textwrap.dedent(body), "    ")
    return python(f"""
import os, signal, sys, time
import ordbridge.cli.doctor as command
from ordbridge.cli import program, signals

def run(args):
{indented}
    return 0

real = command.add

def add(parser):
    real(parser)
    parser.set_defaults(run=run)

command.add = add
sys.argv = ["ordbridge", "doctor"]
{before}
program()
""")


@pytest.mark.slow
def test_a_signal_that_a_library_keeps_to_itself_ends_the_program_all_the_same() -> None:
    kept = as_program("""
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(60)
        except BaseException:
            print("swallowed")
    """)
    assert (kept.returncode, kept.stdout, kept.stderr) == (143, "swallowed\n", "ordbridge: stopped\n")
    forever = as_program(
        """
        pressed = False
        while True:
            try:
                if not pressed:
                    pressed = True
                    os.kill(os.getpid(), signal.SIGINT)
                time.sleep(60)
            except BaseException:
                pass
        """,
        before="signals.PATIENCE = 0.5",
    )
    assert (forever.returncode, forever.stderr) == (130, "ordbridge: stopped, without waiting for the computation\n")


@pytest.mark.slow
def test_a_signal_in_a_callback_that_can_only_ignore_it_is_raised_again() -> None:
    done = as_program("""
        import weakref
        class Thing: ...
        thing = Thing()
        kept = weakref.ref(thing, lambda _: os.kill(os.getpid(), signal.SIGTERM))
        del thing
        time.sleep(60)
    """)
    assert (done.returncode, done.stderr) == (143, "ordbridge doctor: stopped\n")


@pytest.mark.slow
def test_compiled_code_that_never_looks_up_is_ended() -> None:
    done = as_program(
        """
        import ctypes, threading
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGTERM)).start()
        libc = ctypes.CDLL(None)
        while True:
            libc.sleep(60)  # without Python's signal handlers; the signal alone wakes it, so once more
            libc.sleep(60)
        """,
        before="signals.PATIENCE = 0.5",
    )
    assert (done.returncode, done.stderr.count("stopped")) == (143, 1)


@pytest.mark.slow
def test_ctrl_c_at_the_very_end() -> None:
    """When all is printed and the interpreter is going away, a signal would kill it without a word."""
    done = as_program("""
        import atexit
        print("the answer")
        atexit.register(lambda: os.kill(os.getpid(), signal.SIGINT))
    """)
    assert (done.returncode, done.stdout, done.stderr) == (130, "the answer\n", "ordbridge: stopped\n")


@pytest.mark.slow
def test_exit_codes_without_a_signal_are_those_of_the_command() -> None:
    assert as_program("print('fine')").returncode == 0
    assert as_program("return 1").returncode == 1
    assert as_program("sys.exit(2)").returncode == 2
    broken = as_program("os.close(1); print('lost')")
    assert broken.returncode == 1 and "Traceback" not in broken.stderr


@pytest.mark.slow
def test_later_signals_do_not_cut_short_what_is_put_in_order() -> None:
    done = as_program("""
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(60)
        finally:
            os.kill(os.getpid(), signal.SIGINT)
            print("in order")
    """)
    assert (done.returncode, done.stdout, done.stderr) == (143, "in order\n", "ordbridge doctor: stopped\n")
