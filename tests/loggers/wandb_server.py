"""What `wandb sync` asks of W&B's server, answered on this machine and kept as a server would keep it."""

import gzip
import json
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from serving import serving

_MOST_REQUESTS = 500


class WandbServer(ThreadingHTTPServer):
    """Keeps the runs that are sent to it.

    The protocol is that of wandb 0.31: GraphQL for a run's settings, a stream of lines for each of its files,
    whose first line says where in the file it belongs.

    Attributes:
        files: the lines of each file of each run, `files[run]["wandb-history.jsonl"]`.
        overwritten: parts that were sent to a place where lines stood already.
        unknown: questions without an answer here.
        requests: how many there were.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        self.overwritten: list[str] = []
        self.unknown: list[str] = []
        self.requests = 0

    @property
    def address(self) -> str:
        """For WANDB_BASE_URL."""
        return f"http://127.0.0.1:{self.server_port}"

    def answer(self, path: str, body: Any) -> Any:
        """What the server says."""
        self.requests += 1
        if self.requests > _MOST_REQUESTS:
            raise RuntimeError("nobody would ask so much")
        if path == "/graphql":
            return {"data": self._ask(body["query"], body["variables"])}
        if path.endswith("/file_stream"):
            self._keep(path.split("/")[-2], body.get("files") or {})
        return {}

    def _ask(self, query: str, given: dict[str, Any]) -> Any:
        if "createRunFiles" in query:
            files = [{"name": name, "uploadUrl": f"{self.address}/{name}"} for name in given["files"]]
            return {"createRunFiles": {"runID": given["run"], "uploadHeaders": [], "files": files}}
        if "upsertBucket" in query:
            inserted = given["name"] not in self.files
            _ = self.files[given["name"]]
            return {"upsertBucket": {"bucket": self._run(given["name"]), "inserted": inserted}}
        if "RunResumeStatus" in query:
            known = given["name"] in self.files
            run = self._run(given["name"]) if known else None
            return {"model": {"id": "p", "name": "zoo", "entity": {"id": "e", "name": "me"}, "bucket": run}}
        self.unknown.append(query)
        return {}

    def _run(self, name: str) -> dict[str, Any]:
        files = self.files[name]
        history, events = files["wandb-history.jsonl"], files["wandb-events.jsonl"]
        project = {"id": "p", "name": "zoo", "entity": {"id": "e", "name": "me"}}
        texts = {"config": "{}", "wandbConfig": '{"t": 1}', "eventsTail": "[]"}
        counts = {"historyLineCount": len(history), "eventsLineCount": len(events), "logLineCount": 0}
        kept = {
            "historyTail": json.dumps(history[-1:]),
            "summaryMetrics": (files["wandb-summary.json"] or ["{}"])[-1],
        }
        about = {"id": name, "name": name, "displayName": name, "project": project, "tags": []}
        return {**about, **texts, **counts, **kept, "description": None, "notes": None, "sweepName": None}

    def _keep(self, run: str, parts: dict[str, Any]) -> None:
        for name, part in parts.items():
            lines, start = self.files[run][name], part["offset"]
            if start != len(lines) and name != "wandb-summary.json":  # of which the newest line counts
                self.overwritten.append(f"{name}: line {start} of {len(lines)}")
            lines[start : start + len(part["content"])] = part["content"]


class _Handler(BaseHTTPRequestHandler):
    server: WandbServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: object) -> None:
        """Says nothing."""

    def handle(self) -> None:
        with suppress(ConnectionError):  # it hangs up as it likes
            super().handle()

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Content-Encoding") == "gzip":
            content = gzip.decompress(content)
        asked = json.loads(content) if self.command == "POST" else None
        answer = json.dumps(self.server.answer(self.path, asked)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_PUT = do_POST  # a file's content


@contextmanager
def wandb_server() -> Iterator[WandbServer]:
    """Runs a server, at its `address`."""
    server = WandbServer()
    server.daemon_threads = True
    with serving(server):
        yield server
