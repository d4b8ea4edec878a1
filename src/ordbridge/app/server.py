"""The server of the page: Python's own, on 127.0.0.1 only.

Every request needs the token that is in the page, and the address of this machine as its host, so that neither another
page in the same browser nor a name that points here can ask for anything. Nothing is fetched from elsewhere.
"""

from __future__ import annotations

import json
import re
import secrets
import threading
import time
from functools import lru_cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from ordbridge.app import work
from ordbridge.app.jobs import Jobs
from ordbridge.errors import InputError
from ordbridge.escaping import for_html

__all__ = ["Server"]

HOST = "127.0.0.1"
MEGABYTES = 50
SILENT = 600.0  # seconds after which a tab that says nothing is taken for closed
CHUNK = 2**16
OWN = (
    "default-src 'none'; style-src 'nonce-{n}'; script-src 'nonce-{n}'; connect-src 'self'; frame-src 'self'; "
    "img-src data:"
)
REPORT = (
    "sandbox allow-scripts; default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
)
TYPES = {".html": "text/html", ".csv": "text/csv", ".tex": "text/x-tex", ".md": "text/markdown", ".png": "image/png",
         ".svg": "image/svg+xml", ".pdf": "application/pdf", ".css": "text/css", ".js": "text/javascript"}  # fmt: skip


class Server:
    """The page and its jobs; ``serve`` answers until ``close`` is called.

    Parameters
    ----------
    port
        0 for any that is free.
    megabytes
        The size from which on files are refused.

    Examples
    --------
    >>> server = Server()
    >>> server.address.startswith("http://127.0.0.1:")
    True
    >>> server.close()
    """

    def __init__(self, port: int = 0, megabytes: float = MEGABYTES) -> None:
        self.token, self.megabytes, self.jobs = secrets.token_urlsafe(24), megabytes, Jobs()
        self.seen: dict[str, float] = {}
        handler = type("Bound", (Handler,), {"app": self})
        try:
            self._server = ThreadingHTTPServer((HOST, port), handler)
        except OSError as error:
            self.jobs.close()
            raise InputError(f"cannot use port {port}: {error.strerror}; give another one, or none") from None
        self._server.daemon_threads = True
        self._serving = False

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"http://{HOST}:{self._server.server_port}/"

    @property
    def hosts(self) -> set[str]:
        """What a request may call this machine."""
        return {f"{name}:{self._server.server_port}" for name in (HOST, "localhost")}

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

    def _forget_closed_tabs(self) -> None:
        while True:
            time.sleep(5)
            for name, when in list(self.seen.items()):
                if time.monotonic() - when > SILENT:
                    self.seen.pop(name, None)
                    self.jobs.forget(name)


class Handler(BaseHTTPRequestHandler):
    """One request."""

    app: Server
    protocol_version = "HTTP/1.1"
    server_version = "ordbridge"
    sys_version = ""

    def log_message(self, *_: Any) -> None:
        """Say nothing: names of files are nobody's business."""

    def do_GET(self) -> None:
        """Send the page, the state of a job, or one of its files."""
        self._answer(self._get)

    def do_POST(self) -> None:
        """Take a file, start a job, cancel one, forget a study, or move the sliders."""
        self._answer(self._post)

    def _answer(self, how: Any) -> None:
        address = urlsplit(self.path)
        parts = [unquote(part) for part in address.path.split("/") if part]
        query = {name: values[0] for name, values in parse_qs(address.query).items()}
        token = self.headers.get("X-Token") or query.get("token") or ""
        try:
            if self.headers.get("Host") not in self.app.hosts:
                self.close_connection = True
                return self._send({"error": "this is not the address of the page"}, HTTPStatus.FORBIDDEN)
            if parts and not secrets.compare_digest(token.encode(), self.app.token.encode()):
                self.close_connection = True
                return self._send({"error": "this page is out of date; load it again"}, HTTPStatus.FORBIDDEN)
            how(parts, query)
        except InputError as refusal:
            self.close_connection = True  # what came with the request may not have been read
            self._send({"error": str(refusal)}, HTTPStatus.BAD_REQUEST)
        except (ConnectionError, TimeoutError):
            self.close_connection = True  # the browser was closed

    def _get(self, parts: list[str], query: dict[str, str]) -> None:
        match parts:
            case []:
                self._send_page()
            case ["studies", study, "jobs", job]:
                self._alive(study)
                self._send(self.app.jobs.job(study, job).snapshot())
            case ["studies", study, "jobs", job, "files", name]:
                self._send_file(self.app.jobs.job(study, job).folder, name, "keep" in query)
            case _:
                self._send({"error": "there is nothing here"}, HTTPStatus.NOT_FOUND)

    def _post(self, parts: list[str], query: dict[str, str]) -> None:
        jobs = self.app.jobs
        match parts:
            case ["studies"]:
                self._open(query.get("name", ""))
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
                self._send(work.power_at_once(self._json()))
            case _:
                self._send({"error": "there is nothing here"}, HTTPStatus.NOT_FOUND)

    def _open(self, name: str) -> None:
        """Take a file, or make the demo; a study without a file can only plan."""
        length = self._length()
        if length > self.app.megabytes * 2**20:
            self.close_connection = True
            raise InputError(f"the file is larger than {self.app.megabytes:g} MB; use the command line")
        study = self.app.jobs.new()
        folder = self.app.jobs.study(study).folder
        if name == "demo":
            self.app.jobs.study(study).file = work.write_demo(folder)
        elif name:
            file = folder / (re.sub(r"[^\w.() -]", "_", Path(name).name)[-120:].lstrip(".") or "file")
            with open(file, "wb") as out:
                while length > 0 and (chunk := self.rfile.read(min(CHUNK, length))):
                    out.write(chunk)
                    length -= len(chunk)
            if length:
                self.app.jobs.forget(study)
                raise InputError("the file did not arrive whole; drop it again")
            self.app.jobs.study(study).file = file
        self._alive(study)
        self._send({"study": study})

    def _alive(self, study: str) -> None:
        self.app.seen[study] = time.monotonic()

    def _length(self) -> int:
        given = self.headers.get("Content-Length", "")
        if not given.isdigit():
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
            .replace("{token}", for_html(self.app.token))
            .replace("{nonce}", nonce)
            .replace("{megabytes}", f"{self.app.megabytes:g}")
            .replace("/*css*/", _file("page.css"))
            .replace("/*js*/", _file("page.js"))
        )
        self._send_bytes(html.encode(), "text/html", {"Content-Security-Policy": OWN.format(n=nonce)})

    def _send_file(self, folder: Path, name: str, keep: bool) -> None:
        file = folder / name
        if file.parent != folder or not file.is_file() or name.startswith("."):
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


@lru_cache
def _file(name: str) -> str:
    return (resources.files(__package__) / name).read_text(encoding="utf-8")
