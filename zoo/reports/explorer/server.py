"""The explorer as a page of this machine: one types an input and sees what the models read of it.

It listens on 127.0.0.1 alone. Pages of other sites can neither ask it (their requests carry another `Origin`)
nor pretend to be it (a name of theirs that leads here is another `Host`).
"""

import json
import re
import threading
import traceback
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from zoo.reports.embedding import embedded
from zoo.reports.explorer.forms import Form, question
from zoo.reports.explorer.page_data import page_data
from zoo.tasks.exploration import Exploration

ADDRESS = "127.0.0.1"
MOST_BYTES = 30 * 2**20
"""Of a request."""

Explore = Callable[..., Mapping[str, Exploration]]
"""Takes an input and options, see `Predictor.explore`; explorations by the names of runs."""


class Server(ThreadingHTTPServer):
    """Answers the page of one set of models.

    Args:
        page: what is shown first.
        form: what it asks for.
        explore: what answers, one question at a time.
        port: 0 for any that is free.

    Raises:
        OSError: the port is taken, or for the system alone.
    """

    daemon_threads = True

    def __init__(self, *, page: str, form: Form, explore: Explore, port: int = 0) -> None:
        self.page, self.form, self.explore = page.encode(), form, explore
        self.one_at_a_time = threading.Lock()
        try:
            super().__init__((ADDRESS, port), _Handler)
        except OSError as error:
            said = f"cannot serve on port {port}: {error.strerror}; --port 0 takes any that is free"
            raise OSError(said) from error

    @property
    def address(self) -> str:
        """Where a browser finds it."""
        return f"http://{ADDRESS}:{self.server_port}/"

    @property
    def hosts(self) -> tuple[str, str]:
        """The names by which a browser of this machine asks for it."""
        return f"{ADDRESS}:{self.server_port}", f"localhost:{self.server_port}"

    def answer(self, sent: Any) -> dict[str, Any]:
        """What the page shows of an input.

        Raises:
            ValueError: the input is wrong, or a model cannot answer it; so do TypeError and OSError.
        """
        with self.one_at_a_time, question(self.form, sent) as one:
            return page_data(one.words, self.explore(one.asked, **one.options))


class _Handler(BaseHTTPRequestHandler):
    server: Server
    timeout = 60  # seconds: browsers open connections that they may never use
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:  # the library's name
        if not self._is_for_us():
            self._refuse(HTTPStatus.FORBIDDEN, "this page answers the browser of its own machine")
        elif self.path != "/":
            self._refuse(HTTPStatus.NOT_FOUND, "there is one page: /")
        else:
            self._send(HTTPStatus.OK, "text/html; charset=utf-8", self.server.page)

    def do_POST(self) -> None:  # the library's name
        size = self.headers.get("Content-Length", "")
        if not self._is_for_us() or not self._is_from_us():
            self._refuse(HTTPStatus.FORBIDDEN, "this page answers its own questions")
        elif self.path != "/ask":
            self._refuse(HTTPStatus.NOT_FOUND, "questions go to /ask")
        elif not re.fullmatch("[0-9]{1,9}", size) or int(size) > MOST_BYTES:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"an input has at most {MOST_BYTES >> 20} MiB")
        else:
            self._answer(self.rfile.read(int(size)))

    def log_message(self, *_: object) -> None:
        """Says nothing: the terminal is for what goes wrong."""

    def _answer(self, body: bytes) -> None:
        try:
            answer = self.server.answer(json.loads(body))
        except (ValueError, TypeError, OSError, RecursionError) as error:
            self._refuse(HTTPStatus.BAD_REQUEST, " ".join(str(error).split()))
        except Exception:
            traceback.print_exc()
            self._refuse(HTTPStatus.INTERNAL_SERVER_ERROR, "the model failed; the terminal says more")
        else:
            self._send(HTTPStatus.OK, "application/json", embedded(answer).encode())

    def _is_for_us(self) -> bool:
        hosts = self.headers.get_all("Host", [])
        return len(hosts) == 1 and hosts[0] in self.server.hosts

    def _is_from_us(self) -> bool:
        """Other sites cannot send this type without asking, and the browser says which page asks."""
        origin = self.headers.get("Origin")
        ours = origin is None or origin in [f"http://{host}" for host in self.server.hosts]
        return ours and self.headers.get_content_type() == "application/json"

    def _refuse(self, status: HTTPStatus, why: str) -> None:
        self.close_connection = True  # what was sent may not have been read
        self._send(status, "application/json", embedded({"error": why}).encode())

    def _send(self, status: HTTPStatus, kind: str, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("X-Frame-Options", "DENY")
        self.send_header("Referrer-Policy", "no-referrer")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)
