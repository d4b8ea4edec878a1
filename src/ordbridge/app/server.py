"""The server of the page: Python's own, on 127.0.0.1 only.

Whoever has the printed address gets the page, and with it a cookie that every other request needs: other users of this
machine have neither. A request also needs the address of this machine as its host and, where the browser says it, this
page as its origin: so neither another page in the same browser nor a name that points here can ask for anything.
Browsers send a cookie to every port of a host, so this one belongs to a path that no other program can guess. Nothing
is fetched from elsewhere.
"""

from __future__ import annotations

import json
import re
import secrets
import threading
import time
from contextlib import suppress
from functools import lru_cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from ordbridge.app import analyses, next_study
from ordbridge.app.given import FILES
from ordbridge.app.jobs import GIGABYTES, Jobs, TabStudy
from ordbridge.app.work import unforeseen
from ordbridge.bridge.doctor import examine
from ordbridge.errors import InputError
from ordbridge.support.naming import arg
from ordbridge.support.writing import FULL

HOST = "127.0.0.1"
COOKIE = "ordbridge"
MEGABYTES = 50
MOST_FILES = 50  # dropped together
LONGEST_NAME = 240  # bytes of a file's name
SILENT = 300.0  # seconds after which a tab that says nothing is taken for closed; hidden ones speak once a minute
WATCH = 5.0  # seconds between two looks at who is silent
PATIENCE = 60.0  # seconds that a request may take to arrive
CHUNK = 2**16
NOT_NEEDED = ("BLAS", "emmeans", "pbkrtest")  # by a comparison
OWN = (
    "default-src 'none'; style-src 'nonce-{n}'; script-src 'nonce-{n}'; connect-src 'self'; frame-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
REPORT = (
    "sandbox allow-scripts allow-modals; default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
TYPES = {".html": "text/html", ".csv": "text/csv", ".tex": "text/x-tex", ".md": "text/markdown", ".png": "image/png",
         ".svg": "image/svg+xml", ".pdf": "application/pdf", ".zip": "application/zip", ".toml": "text/plain",
         ".json": "application/json", ".jsonl": "text/plain", ".bib": "text/plain"}  # fmt: skip


class Server:
    """The page and its jobs; ``serve`` answers until ``close`` is called.

    Parameters
    ----------
    port
        0 for any that is free.
    megabytes
        The size from which on files are refused.
    memory
        What one computation may use, in GB.
    silent
        Seconds after which a tab that says nothing is taken for closed, because the browser was killed.

    Examples
    --------
    >>> server = Server()
    >>> server.address.startswith("http://127.0.0.1:")
    True
    >>> server.close()
    """

    def __init__(
        self, port: int = 0, megabytes: float = MEGABYTES, memory: float = GIGABYTES, silent: float = SILENT
    ) -> None:
        if not 0 <= port < 2**16:
            raise InputError(f"{arg('port', port)} is not from 0 to 65535; give another one, or none")
        if not megabytes > 0:
            raise InputError(f"{arg('megabytes', megabytes)} must be above 0: larger files are refused")
        if not memory > 0:
            raise InputError(f"{arg('memory', memory)} must be above 0: it is what a computation may use, in GB")
        self.key, self.cookie, self.room = (secrets.token_urlsafe(24) for _ in range(3))
        self.megabytes, self.jobs = megabytes, Jobs(memory)
        self.silent = silent
        self.seen: dict[str, float] = {}
        handler = type("Bound", (Handler,), {"app": self})
        try:
            self._server = _Listener((HOST, port), handler)
        except OSError as error:
            self.jobs.close()
            raise InputError(f"cannot use port {port}: {error.strerror}; give another one, or none") from None
        self._serving = False
        self._engines: dict[str, Any] | None = None
        self._looking = threading.Lock()

    @property
    def address(self) -> str:
        """Where the page is, with the key to it."""
        return f"http://{HOST}:{self._server.server_port}/?key={self.key}"

    def doorway(self) -> str:
        """Return a file that leads to the page, readable by this user only: anybody sees what a browser is given."""
        file = self.jobs.folder / "open.html"
        file.write_text(f'<meta http-equiv="refresh" content="0; url={self.address}">', encoding="utf-8")
        return file.as_uri()

    @property
    def hosts(self) -> set[str]:
        """What a request may call this machine."""
        return {f"{name}:{self._server.server_port}" for name in (HOST, "localhost")}

    @property
    def origins(self) -> set[str]:
        """The pages that may ask."""
        return {f"http://{host}" for host in self.hosts}

    def engines(self) -> dict[str, Any]:
        """Say whether R can fit here, and if not, why; it is looked for once, in other processes."""
        with self._looking:
            if self._engines is None:
                found, can_fit = examine()
                versions = {row["component"]: row["found"] for row in found.to_pylist()}
                wrong = [row for row in found.to_pylist() if row["fix"] and row["component"] not in NOT_NEEDED]
                why = f"{wrong[0]['component']}: {wrong[0]['status']}" if wrong else ""
                self._engines = {"r": can_fit, "version": versions["R"], "why": "" if can_fit else why}
            return self._engines

    def serve(self) -> None:
        """Answer requests."""
        self._serving = True
        threading.Thread(target=self._forget_closed_tabs, daemon=True).start()
        self._server.serve_forever(poll_interval=0.2)

    def close(self) -> None:
        """Stop, end all jobs, and delete everything."""
        if self._serving:
            self._server.shutdown()
        self._server.server_close()
        self.jobs.close()
        self._looking.acquire(timeout=10)  # what looks for R removes its own files in the end

    def _forget_closed_tabs(self) -> None:
        while True:
            time.sleep(min(WATCH, self.silent))
            for name, when in list(self.seen.items()):
                if time.monotonic() - when > self.silent:
                    self.seen.pop(name, None)
                    self.jobs.forget(name)


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1024  # connections that wait to be accepted; the system may allow fewer


class Handler(BaseHTTPRequestHandler):
    """One request."""

    app: Server
    timeout = PATIENCE
    wbufsize, disable_nagle_algorithm = CHUNK, True  # an answer goes out at once and as one: a slider waits for it
    protocol_version, default_request_version = "HTTP/1.1", "HTTP/1.0"  # of the answer to what is not a request, too
    server_version = "ordbridge"
    sys_version = ""

    def log_message(self, *_: Any) -> None:
        """Say nothing: names of files are nobody's business."""

    def handle(self) -> None:
        """Answer until the connection ends; a browser may be closed at any time."""
        with suppress(ConnectionError):
            super().handle()

    def do_GET(self) -> None:
        """Send the page, the state of a job, or one of its files."""
        self._answer(self._get)

    def do_POST(self) -> None:
        """Take a file, start a job, cancel one, forget a study, or move the sliders."""
        self._answer(self._post)

    def _unknown(self) -> None:
        self._answer(lambda *_: self.send_error(HTTPStatus.NOT_IMPLEMENTED, "the page asks with GET and POST only"))

    do_HEAD = do_PUT = do_DELETE = do_OPTIONS = do_PATCH = do_TRACE = _unknown  # without the key 403, as everything

    def _answer(self, how: Any) -> None:
        try:
            address = urlsplit(self.path)
            parts = [unquote(part) for part in address.path.split("/") if part]
            query = {name: values[0] for name, values in parse_qs(address.query).items()}
        except ValueError:
            return self.send_error(HTTPStatus.BAD_REQUEST, "this is not an address")
        try:
            if refusal := self._refusal(address.path, query):
                return self.send_error(HTTPStatus.FORBIDDEN, refusal)
            how(parts[1:] if parts[:1] == [self.app.room] else parts, query)
        except InputError as refusal:
            self.send_error(HTTPStatus.BAD_REQUEST, str(refusal))
        except (ConnectionError, TimeoutError):
            self.close_connection = True  # the browser was closed
        except Exception as error:
            full = isinstance(error, OSError) and error.errno in FULL
            status = HTTPStatus.INSUFFICIENT_STORAGE if full else HTTPStatus.INTERNAL_SERVER_ERROR
            self.send_error(status, unforeseen(error))

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse in a sentence, also what is not a request at all; what came with it may not have been read."""
        self.close_connection = True
        status = HTTPStatus(code)
        self._send({"error": message or explain or status.phrase}, status)

    def _refusal(self, path: str, query: dict[str, str]) -> str:
        """Say why a request is not answered, or nothing."""
        if self.headers.get("Host") not in self.app.hosts:
            return "this is not the address of the page"
        if self._is_foreign(path):
            return "another page has asked; open this one by itself"
        if path == "/" and _same(query.get("key", ""), self.app.key):
            return ""
        pairs = (pair.strip().partition("=") for pair in self.headers.get("Cookie", "").split(";"))
        if any(name == COOKIE and _same(value, self.app.cookie) for name, _, value in pairs):
            return ""
        return "open the address that ordbridge app shows in the terminal"

    def _is_foreign(self, path: str) -> bool:
        """Tell whether another page asks: by the headers that no script can change."""
        origin, site = self.headers.get("Origin"), self.headers.get("Sec-Fetch-Site")
        page = path in ("/", f"/{self.app.room}/")
        followed = (
            page and self.headers.get("Sec-Fetch-Mode") == "navigate"
        )  # a link to the page is none of its requests
        return (origin is not None and origin not in self.app.origins) or (
            site not in (None, "same-origin", "none") and not followed
        )

    def _get(self, parts: list[str], query: dict[str, str]) -> None:
        match parts:
            case []:
                self._send_page()
            case ["engines"]:
                self._send(self.app.engines())
            case ["studies", study, "jobs", job]:
                self._alive(study)
                self._send(self.app.jobs.job(study, job).snapshot())
            case ["studies", study, "jobs", job, "files", name]:
                self._alive(study)
                self._send_file(self.app.jobs.job(study, job).folder, name, "keep" in query)
            case _:
                self._send({"error": "there is nothing here"}, HTTPStatus.NOT_FOUND)

    def _post(self, parts: list[str], query: dict[str, str]) -> None:
        jobs = self.app.jobs
        match parts:
            case ["studies"]:
                self._open(query.get("name", ""), "demo" in query)
            case ["studies", study, ("second" | "plan" | "more") as what]:
                self._add(jobs.study(study), what, query.get("name", ""))
            case ["studies", study, "alive"]:
                self._json()
                jobs.study(study)
                self._alive(study)
                self._send({})
            case ["studies", study, "forget"]:
                self._json()
                self.app.seen.pop(study, None)
                jobs.forget(study)
                self._send({})
            case ["studies", study, "jobs"]:
                asked = self._json()
                self._send({"job": jobs.start(study, str(asked.pop("kind", "")), asked)})
            case ["studies", study, "jobs", job, "cancel"]:
                self._json()
                jobs.job(study, job).cancel()
                self._send({})
            case ["power"]:
                asked = self._json()
                at = asked.get("study")
                folder = jobs.study(str(at)).folder if asked.get("setting") == next_study.PILOT else None
                self._send(next_study.power_at_once(asked, folder))
            case _:
                self._send({"error": "there is nothing here"}, HTTPStatus.NOT_FOUND)

    def _open(self, name: str, demo: bool) -> None:
        """Take a file, or make the demo; a study without a file can only plan."""
        length = self._length_of_file()
        study = self.app.jobs.new()
        opened = self.app.jobs.study(study)
        try:
            if demo:
                opened.files = [analyses.write_demo(opened.folder)]
            elif name:
                opened.files = [self._store(opened.folder, name, length)]
        except BaseException:
            self.app.jobs.forget(study)
            raise
        self._alive(study)
        self._send({"study": study})

    def _add(self, study: TabStudy, what: str, name: str) -> None:
        """Take more ratings, a second file whose columns are added, or a plan; without a name, leave it out again."""
        length = self._length_of_file()
        if name and _safe(name) in {*study.files, study.second, study.plan}:
            raise InputError(f"there is already a file called {_safe(name)}; rename one of them and add it again")
        stored = self._store(study.folder, name, length) if name else None
        if what == "more":
            if len(study.files) >= MOST_FILES:
                raise InputError(f"these are more than {MOST_FILES} files; use the command line")
            study.files += [stored] if stored else []
        else:
            setattr(study, what, stored)
        self._send({what: stored})

    def _length_of_file(self) -> int:
        length = self._length()
        if length > self.app.megabytes * 2**20:
            self.close_connection = True
            raise InputError(f"the file is larger than {self.app.megabytes:g} MB; use the command line")
        return length

    def _store(self, folder: Path, name: str, length: int) -> str:
        """Write a file that is sent, under a name that is one."""
        file = folder / _safe(name)
        with open(file, "wb") as out:
            while length > 0 and (chunk := self.rfile.read(min(CHUNK, length))):
                out.write(chunk)
                length -= len(chunk)
        if length:
            file.unlink()
            raise InputError("the file did not arrive whole; drop it again")
        return file.name

    def _alive(self, study: str) -> None:
        self.app.seen[study] = time.monotonic()

    def _length(self) -> int:
        given = self.headers.get("Content-Length", "")
        if not re.fullmatch("[0-9]{1,15}", given):
            raise InputError("the request does not say how long it is")
        return int(given)

    def _json(self) -> dict[str, Any]:
        length = self._length()
        if length > CHUNK:
            self.close_connection = True
            raise InputError("the request is too long")
        try:
            asked = json.loads(self.rfile.read(length) or b"{}")
        except (ValueError, RecursionError):
            raise InputError("the request cannot be read") from None
        if not isinstance(asked, dict):
            raise InputError("the request cannot be read")
        return asked

    def _send_page(self) -> None:
        nonce = secrets.token_urlsafe(12)
        html = (
            _file("page.html")
            .replace("{nonce}", nonce)
            .replace("{room}", self.app.room)
            .replace("{megabytes}", f"{self.app.megabytes:g}")
            .replace("/*css*/", _file("page.css"))
            .replace("/*js*/", _file("page.js") + _file("planner.js"))
        )
        cookie = f"{COOKIE}={self.app.cookie}; Path=/{self.app.room}/; HttpOnly; SameSite=Strict"
        headers = {"Content-Security-Policy": OWN.format(n=nonce), "Set-Cookie": cookie}
        self._send_bytes(html.encode(), "text/html", headers)

    def _send_file(self, folder: Path, name: str, keep: bool) -> None:
        file = folder / name
        if name not in FILES or not file.is_file():
            raise InputError("there is no such file; compute it again")
        headers = {"Content-Security-Policy": REPORT}
        if keep:
            headers["Content-Disposition"] = f'attachment; filename="{name}"'
        self._send_bytes(file.read_bytes(), TYPES.get(file.suffix, "application/octet-stream"), headers)

    def _send(self, content: dict[str, Any], status: HTTPStatus = HTTPStatus.OK) -> None:
        self._send_bytes(json.dumps(content).encode(), "application/json", {}, status)

    def _send_bytes(
        self, content: bytes, kind: str, headers: dict[str, str], status: HTTPStatus = HTTPStatus.OK
    ) -> None:
        self.send_response(status)
        charset = "; charset=utf-8" if kind.startswith("text/") else ""
        fixed = {"Content-Type": kind + charset, "Content-Length": str(len(content)), "Cache-Control": "no-store",
                 "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}  # fmt: skip
        for name, value in (fixed | headers).items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)


def _same(given: str, secret: str) -> bool:
    """Compare in a time that does not tell how much of it is right."""
    return secrets.compare_digest(given.encode("utf-8", "replace"), secret.encode())


def _safe(name: str) -> str:
    """Return the name of a file that is sent, as a name in a folder, with its ending.

    Examples
    --------
    >>> _safe("../../etc/passwd"), _safe("-rf notes (1).csv"), _safe("..")
    ('passwd', 'rf notes (1).csv', 'file')
    """
    shown = re.sub(r"[^\w.() -]", "_", Path(name).name)[-120:]
    return shown.encode()[-LONGEST_NAME:].decode(errors="ignore").lstrip(".- ") or "file"


@lru_cache
def _file(name: str) -> str:
    return (resources.files(__package__) / name).read_text(encoding="utf-8")
