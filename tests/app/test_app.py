"""The page itself: how quickly it answers, what it survives, whom it answers, and that nothing of it is left."""

from __future__ import annotations

import errno
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from ordbridge.app import Server, analyses, jobs, next_study
from ordbridge.app.analyses import write_demo
from ordbridge.app.given import Given
from ordbridge.app.jobs import Jobs
from ordbridge.errors import InputError
from ordbridge.simulate import Truth

PATIENT = 240_000
ASKED = {
    "setting": "representative",
    "spread": 1.0,
    "points": 0.4,
    "items": 100,
    "ratings": 3,
    "price": 0.1,
    "spend": 0,
}
# from the slider's event to the new sentence and curve; the observer is called before the browser paints them
ROUND_TRIP = """async values => { const slider = document.getElementById('items'), spent = [];
    for (const value of values) spent.push(await new Promise(done => {
        const began = performance.now();
        new MutationObserver((_, one) => { one.disconnect(); done(performance.now() - began); })
            .observe(document.getElementById('power'), {childList: true});
        slider.value = value;
        slider.dispatchEvent(new Event('input', {bubbles: true}));
    }));
    return spent; }"""


def until(what: Callable[[], object], seconds: float = 60) -> None:
    """Wait until something is true."""
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.1)


@pytest.mark.slow
def test_the_first_paint_and_the_sliders_are_quick(app: str, tab: Any) -> None:
    tab.goto(app)
    tab.click("#tab-next")
    tab.wait_for_selector("#power:has-text('% power')", timeout=PATIENT)
    assert 0 < tab.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime") < 2000
    spent = tab.evaluate(ROUND_TRIP, list(range(110, 310, 10)))
    assert min(spent) < 100  # the others wait for whatever else this machine does; benchmarks/app.py prints them


@pytest.mark.slow
def test_every_slider_moves_the_curve_at_once(app: str, tab: Any, accessible: Any) -> None:
    tab.goto(app)
    tab.click("#tab-next")
    tab.wait_for_selector("#power:has-text('% power')", timeout=PATIENT)

    def state() -> tuple[str, str]:
        return tab.inner_text("#power"), tab.locator("#curve").inner_html()

    for slider, value in {"items": "400", "ratings": "5", "points": "0.3", "price": "0.2", "spend": "300",
                          "spread": "1.5"}.items():  # fmt: skip
        before = state()
        tab.fill(f"#{slider}", value)
        until(lambda before=before: state() != before)
    before = state()
    tab.select_option("#setting", "low")
    until(lambda: state() != before)
    assert tab.inner_text("#affordable").startswith("300 buys 150 items: about")
    assert "cost 800" in tab.inner_text("#power")
    assert tab.locator("#curve .beyond").count() == 1
    assert accessible(tab) == []


@pytest.mark.slow
def test_progress_cancel_and_a_second_tab_meanwhile(app: str, running: Any, tab: Any, chromium: Any) -> None:
    tab.goto(app)
    tab.click("#tab-next")
    tab.fill("#items", "200")
    tab.fill("#ratings", "4")
    tab.click("[data-job=confirm]")
    tab.wait_for_selector(
        "[data-of=confirm] .working :text-matches('of 1,300 simulated studies, at most .* left')", timeout=PATIENT
    )
    other = chromium.new_context().new_page()
    other.goto(app)
    other.click("#demo")
    other.wait_for_selector("#compare:not([hidden])", timeout=PATIENT)
    other.click("#tab-next")
    other.fill("#items", "200")
    other.wait_for_selector("#power:has-text('1,200 ratings')", timeout=PATIENT)
    assert tab.locator("[data-of=confirm] progress").count() == 1  # the first one computes all the while
    other.context.close()
    tab.click("[data-of=confirm] >> text=Cancel")
    tab.wait_for_selector("[data-of=confirm] .error")
    assert tab.inner_text("[data-of=confirm] .error") == "Cancelled."
    tab.wait_for_selector("[data-job=confirm]:not([disabled])")
    until(lambda: running.working() == [])


@pytest.mark.slow
def test_a_closed_page_ends_its_jobs_and_takes_its_file_along(app: str, running: Any, chromium: Any) -> None:
    page = chromium.new_context().new_page()
    page.goto(app)
    page.click("#demo")
    page.wait_for_selector("[data-of=compare] .headline", timeout=PATIENT)
    page.click("#tab-next")
    page.fill("#items", "600")
    page.fill("#ratings", "12")
    page.click("[data-job=confirm]")
    until(lambda: len(running.working()) == 1)
    assert [file for file in running.files() if file.name == "demo.csv"]
    page.close()
    until(lambda: running.working() == [] and not [file for file in running.files() if file.suffix == ".csv"])
    page.context.close()


@pytest.mark.slow
def test_broken_and_large_files_get_a_sentence(app: str, tab: Any, drop: Callable[..., None]) -> None:
    tab.goto(app)
    for name, content, said in (
        ("x.xlsx", b"PK\x03\x04 nothing", "x.xlsx"),
        ("x.csv", b"", "x.csv is empty"),
        ("x.parquet", b"PAR1" + b"\x00" * 50, "x.parquet"),
        ("x.json", b"[{", "x.json is not JSON"),
        ("../../etc/passwd.csv", b"a,b\n1", ""),
        ("large.csv", b"a" * (2**20 + 10), "larger than 1 MB; start ordbridge app --megabytes 2"),
    ):
        drop(tab, (name, content))
        tab.wait_for_selector("#file-status .error", timeout=PATIENT)
        told = tab.inner_text("#file-status .error")
        assert said in told and not any(word in told for word in ("Traceback", "wrong in ordbridge", "/tmp", "="))
        tab.evaluate("document.querySelector('#file-status').replaceChildren()")
    tab.click("#demo")
    tab.wait_for_selector("#compare:not([hidden])", timeout=PATIENT)


def request(app: str, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, dict[str, Any]]:
    where = urlsplit(app)
    connection = http.client.HTTPConnection("127.0.0.1", where.port, timeout=30)
    connection.request(method, path, body, {"Host": where.netloc, **headers})
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, json.loads(content) if content.startswith(b"{") else {"text": content.decode()}


def let_in(app: str) -> dict[str, str]:
    """Open the printed address; return the cookie as a browser sends it back."""
    where = urlsplit(app)
    connection = http.client.HTTPConnection("127.0.0.1", where.port, timeout=30)
    connection.request("GET", f"/?{where.query}")
    answer = connection.getresponse()
    answer.read()
    connection.close()
    assert answer.status == 200
    return {"Cookie": answer.headers["Set-Cookie"].partition(";")[0]}


@pytest.fixture(scope="module")
def quiet() -> Any:
    """A server in this process, for requests that no browser would send."""
    server = Server(megabytes=1)
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    yield server
    server.close()
    thread.join(10)


def test_strangers_get_nothing(quiet: Server) -> None:
    app, mine = quiet.address, let_in(quiet.address)
    assert app.startswith("http://127.0.0.1:")
    wrong: list[dict[str, str]] = [
        {},
        {"Cookie": "ordbridge=" + "x" * 32},
        {"Cookie": "ordbridge=\xe9"},
        {"Cookie": ";=;"},
    ]
    for method, path in (("GET", "/"), ("GET", f"/{quiet.room}/"), ("GET", "/?key="), ("GET", f"/?key={'x' * 32}"),
                         ("GET", "/%00"), ("GET", "/engines"), ("POST", "/studies"), ("POST", "/power"),
                         ("POST", f"/studies?key={quiet.key}")):  # fmt: skip
        for headers in wrong:
            status, said = request(app, method, path, b"", **headers)
            assert (status, list(said)) == (403, ["error"]) and quiet.key not in said["error"]
    for name in ("evil.example", f"evil.example:{urlsplit(app).port}", "127.0.0.1", ""):  # names that were pointed here
        assert request(app, "GET", "/", **mine, Host=name)[0] == 403
        assert request(app, "GET", f"/?key={quiet.key}", Host=name)[0] == 403
    for headers in (
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": f"https://{urlsplit(app).netloc}"},
        {"Origin": "http://127.0.0.1:1"},  # another program on this machine
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ):
        assert request(app, "POST", "/studies?demo=1", b"", **mine, **headers)[0] == 403
        assert request(app, "POST", "/power", json.dumps(ASKED).encode(), **mine, **headers)[0] == 403
    own = {"Origin": f"http://{urlsplit(app).netloc}", "Sec-Fetch-Site": "same-origin"}
    assert request(app, "POST", "/power", json.dumps(ASKED).encode(), **mine, **own)[0] == 200
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert request(app, "GET", f"/?key={quiet.key}", **link)[0] == 200
    assert request(app, "GET", "/engines", **mine, **link)[0] == 403


def test_the_cookie_goes_to_this_page_only(quiet: Server) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", urlsplit(quiet.address).port, timeout=30)
    connection.request("GET", f"/?key={quiet.key}")
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    _, *rules = (rule.strip() for rule in answer.headers["Set-Cookie"].split(";"))
    assert sorted(rules) == ["HttpOnly", f"Path=/{quiet.room}/", "SameSite=Strict"]
    assert quiet.key not in text and quiet.cookie not in text
    assert len({quiet.key, quiet.cookie, quiet.room}) == 3


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("setpriv") or os.getuid() != 0, reason="only root can be somebody else")
def test_another_user_of_the_machine_gets_nothing(another: Callable[..., Any]) -> None:
    page = another()
    where = urlsplit(page.address)
    ask = """exec 3<>/dev/tcp/127.0.0.1/$0; printf 'GET %s HTTP/1.0\\r\\nHost: %s\\r\\n\\r\\n' "$1" "$2" >&3; cat <&3"""
    somebody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]

    def asked(path: str) -> str:
        command = [*somebody, "bash", "-c", ask, str(where.port), path, where.netloc]
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd="/").stdout

    assert " 200 " in asked(f"/?{where.query}").splitlines()[0]  # this way of asking works
    for path in ("/", "/engines", "/studies/x/jobs/y", f"/?key={'A' * 32}"):
        said = asked(path)
        assert " 403 " in said.splitlines()[0] and "Set-Cookie" not in said
    own = next(path for path in page.temporary.iterdir() if path.is_dir() and path.name.startswith("ordbridge-"))
    assert own.stat().st_mode & 0o077 == 0


@pytest.mark.slow
def test_a_browser_is_led_in_and_can_load_the_page_again(tab: Any) -> None:
    server = Server()
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    assert server.key not in server.doorway()  # which anybody sees among the processes
    tab.goto(server.doorway())
    tab.wait_for_selector("#power:has-text('% power')", state="attached", timeout=PATIENT)
    assert server.key not in tab.url
    tab.reload()
    tab.wait_for_selector("#power:has-text('% power')", state="attached", timeout=PATIENT)
    assert tab.evaluate("document.cookie") == ""
    server.close()
    thread.join(10)


def test_no_other_page_can_frame_or_load_it(quiet: Server) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", urlsplit(quiet.address).port, timeout=30)
    connection.request("GET", f"/?key={quiet.key}")
    answer = connection.getresponse()
    answer.read()
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "connect-src 'self'" in policy
    assert answer.headers["Access-Control-Allow-Origin"] is None
    assert answer.headers["Cache-Control"] == "no-store"
    connection.close()


def raw(app: str, sent: bytes) -> bytes:
    """Send bytes that are no request, and return the first line of the answer."""
    with socket.create_connection(("127.0.0.1", urlsplit(app).port or 0), timeout=30) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        return connection.makefile("rb").readline()


def test_what_is_no_request_gets_400(quiet: Server, capfd: pytest.CaptureFixture[str]) -> None:
    host, cookie = urlsplit(quiet.address).netloc.encode(), let_in(quiet.address)["Cookie"].encode()
    head = b"Host: " + host + b"\r\nCookie: " + cookie + b"\r\n"
    long = b"9" * 5000
    for sent in (
        b"GET http://[ HTTP/1.1\r\n" + head,
        b"POST http://[::1 HTTP/1.1\r\n" + head,
        b"POST /studies HTTP/1.1\r\nContent-Length: \xb2\r\n" + head,
        b"POST /power HTTP/1.1\r\nContent-Length: " + long + b"\r\n" + head,
        b"POST /power HTTP/1.1\r\nContent-Length: -1\r\n" + head,
        b"POST /power HTTP/1.1\r\n" + head,
        b"GET / HTTP/x\r\n" + head,
        b"\x16\x03\x01\x02 \x01 \x02\r\n" + head,
    ):
        assert raw(quiet.address, sent + b"\r\n").split(b" ", 2)[1] == b"400", sent[:40]
    for wrong in (
        {"items": 1e308},
        {"items": "\ud800"},
        {"points": []},
        {"setting": {}},
        {"currency": 5},
        {"spend": None},
    ):
        body = json.dumps({**ASKED, **wrong}).encode()
        assert request(quiet.address, "POST", "/power", body, Cookie=cookie.decode())[0] in (200, 400), wrong
    body = json.dumps(ASKED).replace("100", "1e999").encode()
    assert request(quiet.address, "POST", "/power", body, Cookie=cookie.decode())[0] == 400
    assert capfd.readouterr().err == ""


def test_two_hundred_connections_at_once(quiet: Server) -> None:
    port = urlsplit(quiet.address).port or 0
    opened = []
    for _ in range(200):
        one = socket.socket()
        one.setblocking(False)
        one.connect_ex(("127.0.0.1", port))
        opened.append(one)
    answers = []
    for one in opened:
        one.settimeout(30)
        one.sendall(b"GET / HTTP/1.0\r\nHost: x\r\n\r\n")
    for one in opened:
        answers.append(one.recv(64).split(b" ", 2)[1])
        one.close()
    assert answers == [b"403"] * 200


def test_a_full_disk_is_named(quiet: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(analyses, "write_demo", full)
    status, said = request(quiet.address, "POST", "/studies?demo=1", b"", **let_in(quiet.address))
    assert status == 507 and said["error"].startswith("the disk with the temporary files is full")


def test_bad_requests_get_a_sentence(quiet: Server) -> None:
    app, mine = quiet.address, let_in(quiet.address)
    status, said = request(app, "POST", "/studies?demo=1", b"", **mine)
    assert status == 200
    study = said["study"]
    for path in (
        f"/studies/{study}/jobs/x/files/..%2F..%2Fdemo.csv",
        f"/studies/{study}/jobs/x",
        "/studies/none/jobs/x",
    ):
        assert request(app, "GET", path, **mine)[0] == 400
    for body in (b"[]", b"{", b"[" * 5000, b"{" + b" " * 70000 + b"}"):
        assert request(app, "POST", f"/studies/{study}/jobs", body, **mine)[0] == 400
    assert "nothing called" in request(app, "POST", f"/studies/{study}/jobs", b'{"kind": "eval"}', **mine)[1]["error"]
    large = {"Content-Length": str(2**20 + 1)}  # refused before anything of it is read
    assert "larger than 1 MB" in request(app, "POST", "/studies?name=a.csv", b"", **mine, **large)[1]["error"]
    same = request(app, "POST", f"/studies/{study}/second?name=..%2Fdemo.csv", b"a", **mine)[1]
    assert "there is already a file called demo.csv" in same["error"]
    for wrong in (
        {"items": "many"},
        {"spread": None},
        {"points": -1},
        {"points": 50},
        {"setting": "x"},
        {"items": 1e9},
    ):
        status, said = request(app, "POST", "/power", json.dumps({**ASKED, **wrong}).encode(), **mine)
        assert status == 400 and "wrong in ordbridge" not in said["error"]
    pilot = {**ASKED, "setting": "pilot", "pilot": "../..", "study": study}
    assert "not read as a pilot" in request(app, "POST", "/power", json.dumps(pilot).encode(), **mine)[1]["error"]
    assert request(app, "POST", f"/studies/{study}/forget", b"{}", **mine)[0] == 200
    assert "no longer open" in request(app, "GET", f"/studies/{study}/jobs/x", **mine)[1]["error"]
    for wrong in ({"port": -1}, {"port": 70000}, {"megabytes": 0}, {"memory": 0}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            Server(**wrong)
    with pytest.raises(InputError, match="cannot use port"):
        Server(port=urlsplit(app).port or 0)


def test_the_closed_form_takes_less_than_a_tenth_of_a_second() -> None:
    first = next_study.power_at_once(ASKED)
    powers = [p for _, p in first["curve"]]
    assert powers == sorted(powers) and 0 < first["power"] < 1 and first["cost"] == "60"
    spent = []
    for k in range(1, 6):
        began = time.process_time()
        found = next_study.power_at_once({**ASKED, "points": 0.4 + 0.05 * k, "spread": 1 + 0.1 * k})
        spent.append(time.process_time() - began)
        assert found["power"] > 0
    # processor time of a step that was never asked before: below 0.1 s, unless the machine is busy or lines are counted
    assert min(spent) < 0.3


def test_what_the_sliders_assume_is_in_the_file_beside_the_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    given = Given((), None, None, {**ASKED, "spread": 1.5, "setting": "low"}, tmp_path, lambda _: None)
    truth, _, words, typed = next_study._source(given)
    assert (words, typed) == ([], {"truth": "truth.toml"})
    assert Truth.from_toml(tmp_path / "truth.toml") == truth
    usual = Truth.from_toml(next_study._truth_text("low", None))
    assert truth.item_sd == tuple(1.5 * sd for sd in usual.item_sd)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are looked for in /proc")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_is_left_when_the_program_is_killed(another: Callable[..., Any], how: signal.Signals) -> None:
    page = another()
    mine = let_in(page.address)
    study = request(page.address, "POST", "/studies?demo=1", b"", **mine)[1]["study"]
    long = {**ASKED, "items": 600, "ratings": 12, "kind": "confirm"}
    request(page.address, "POST", f"/studies/{study}/jobs", json.dumps(long).encode(), **mine)
    until(lambda: len(page.working()) == 1)
    assert page.files()
    os.kill(page.process.pid, how)
    page.process.wait(30)
    until(lambda: page.working() == [] and page.files() == [])
    assert not [path for path in page.temporary.iterdir() if path.name.startswith("ordbridge-")]


@pytest.mark.slow
def test_a_tab_that_says_nothing_is_taken_for_closed() -> None:
    server = Server(silent=0.3)
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    mine = let_in(server.address)
    study = request(server.address, "POST", "/studies?demo=1", b"", **mine)[1]["study"]
    folder = server.jobs.study(study).folder
    assert (folder / "demo.csv").is_file()
    until(lambda: not folder.exists())
    server.close()
    thread.join(10)


@pytest.mark.slow
def test_a_study_that_is_forgotten_ends_its_jobs() -> None:
    jobs = Jobs()
    name = jobs.new()
    study = jobs.study(name)
    study.files = [write_demo(study.folder)]
    running = jobs.job(name, jobs.start(name, "confirm", {**ASKED, "items": 600, "ratings": 12}))
    jobs.forget(name)
    assert not study.folder.exists()
    assert running.snapshot()["state"] == "cancelled"
    jobs.close()


@pytest.mark.slow
def test_without_r_the_server_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("R_HOME", raising=False)
    server = Server()
    found = server.engines()
    server.close()
    assert found["r"] is False and "missing" in found["why"]


@pytest.mark.slow
def test_three_hundred_jobs_under_64_descriptors() -> None:
    code = """
        import resource, sys, time
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        from ordbridge.app.jobs import Jobs
        jobs = Jobs()
        name = jobs.new()
        for _ in range(300):
            job = jobs.job(name, jobs.start(name, "recognise", {}))
            while job.snapshot()["state"] == "running":
                time.sleep(0.002)
            assert "there is no file yet" in job.snapshot()["error"], job.snapshot()
        jobs.close()
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=280)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_no_more_jobs_than_allowed_run_at_once(quiet: Server) -> None:
    mine = let_in(quiet.address)
    studies = [request(quiet.address, "POST", "/studies", b"", **mine)[1]["study"] for _ in range(4)]
    long = json.dumps({**ASKED, "items": 600, "ratings": 12, "kind": "confirm"}).encode()

    def begin(k: int) -> int:
        return request(quiet.address, "POST", f"/studies/{studies[k % 4]}/jobs", long, **mine)[0]

    with ThreadPoolExecutor(40) as pool:
        answers = list(pool.map(begin, range(40)))
    assert sorted(answers) == [200] * jobs.MOST_RUNNING + [400] * (40 - jobs.MOST_RUNNING)
    for study in studies:
        request(quiet.address, "POST", f"/studies/{study}/forget", b"{}", **mine)
    again = request(quiet.address, "POST", "/studies", b"", **mine)[1]["study"]  # all places are free
    status, said = request(quiet.address, "POST", f"/studies/{again}/jobs", b'{"kind": "recognise"}', **mine)
    assert status == 200, said


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit what a process can write to")
@pytest.mark.parametrize(("limit", "word"), [(1.5, "error"), (16.0, "result")])
def test_a_job_has_a_memory_limit_of_its_own(limit: float, word: str, tmp_path: Path) -> None:
    code = f"""
        import json, os
        from multiprocessing import Pipe
        from ordbridge.app import work

        work.KINDS["hungry"] = lambda given: {{"taken": len(bytearray(2 * 2**30))}}
        own, other = Pipe(duplex=False)
        work.carry_out(other, "hungry", {str(tmp_path)!r}, ((), None, None), {{}}, "job", {limit})
        print(json.dumps(own.recv()))
    """
    (tmp_path / "job").mkdir()
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    said = json.loads(done.stdout)
    assert list(said) == [word]
    if word == "error":
        assert "more than the 1.5 GB of memory" in said["error"] and "--memory 3" in said["error"]
