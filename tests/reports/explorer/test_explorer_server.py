"""The explorer as a local page: whom it answers, and what."""

import base64
import json
from http.client import HTTPConnection
from typing import Any

import pytest
from explored import served

from zoo.reports.explorer import server as explorer_server
from zoo.reports.explorer.forms import Form, question
from zoo.reports.explorer.server import Server

TEXT = Form("text")
JSON = {"Content-Type": "application/json"}


def ask(server: Server, sent: Any, *, path: str = "/ask", **headers: str) -> tuple[int, Any]:
    body = sent if isinstance(sent, bytes) else json.dumps(sent).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    connection.request("POST", path, body, {**JSON, **named})
    answer = connection.getresponse()
    found = json.loads(answer.read())
    connection.close()
    return answer.status, found


def test_it_listens_on_this_machine_alone() -> None:
    with served(TEXT) as server:
        assert server.server_address[0] == "127.0.0.1"
        assert server.address == f"http://127.0.0.1:{server.server_port}/"


def test_a_question_and_its_answer() -> None:
    with served(TEXT) as server:
        status, found = ask(server, {"texts": [" <b>hello "]}, Origin=server.address[:-1])
        assert (status, found["given"]) == (200, "<b>hello")
        assert found["runs"][0]["answers"][0]["text"] == "'<b>hello'"
        assert ask(server, {"texts": ["two"]}, Host=f"localhost:{server.server_port}")[0] == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "example.org"},
        {"Host": "127.0.0.1"},
        {"Origin": "http://example.org"},
        {"Origin": "null"},
        {"Content_Type": "text/plain"},
        {"Content_Type": "application/x-www-form-urlencoded"},
    ],
)
def test_others_are_refused(headers: dict[str, str]) -> None:
    """Other sites, and names that lead here."""
    with served(TEXT) as server:
        status, found = ask(server, {"texts": ["hello"]}, **headers)
        assert status == 403
        assert list(found) == ["error"]


def test_the_page_is_refused_to_other_hosts() -> None:
    with served(TEXT) as server:
        connection = HTTPConnection("127.0.0.1", server.server_port, timeout=20)
        statuses = []
        for host in (f"127.0.0.1:{server.server_port}", "example.org"):
            connection.request("GET", "/", headers={"Host": host})
            answer = connection.getresponse()
            statuses.append(answer.status)
            text = answer.read().decode()
            assert ("<html" in text) == (answer.status == 200)
        connection.request("GET", "/etc/passwd")
        assert connection.getresponse().status == 404
        connection.close()
    assert statuses == [200, 403]


def test_wrong_questions(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(explorer_server, "MOST_BYTES", 1000)
    with served(TEXT) as server:
        for sent in (b"{", [1], {}, {"texts": "a"}, {"texts": ["a", "b"]}, {"texts": [1]}, {"texts": [" "]}):
            assert ask(server, sent)[0] == 400, sent
        assert ask(server, b"[" * 999)[0] == 400
        assert ask(server, {"texts": ["a" * 2000]})[0] == 413
        assert ask(server, {"texts": ["a"]}, path="/other")[0] == 404
        assert ask(server, {"texts": ["wrong"]}) == (400, {"error": "that is wrong"})
        assert capsys.readouterr().err == ""
        assert ask(server, {"texts": ["broken"]})[0] == 500
        assert "RuntimeError: a bug" in capsys.readouterr().err
        assert ask(server, {"texts": ["a"]})[0] == 200, "it goes on"


def test_what_each_kind_of_form_asks() -> None:
    with question(Form("pair"), {"texts": [" a ", "b"]}) as one:
        assert one == (("a", "b"), "a\nb", {})
    with question(Form("text", reads_blanks=True), {"texts": [" a "]}) as one:
        assert one.asked == " a "
    with question(Form("game", takes_length=True), {"seed": 3, "length": 20}) as one:
        assert one == (3, "seed 3\nlength 20", {"length": 20})
    with question(Form("game"), {"seed": 3, "length": 20}) as one:
        assert one == (3, "seed 3", {})
    sent = {"picture": base64.b64encode(b"bytes").decode(), "name": "a.png"}
    with question(Form("picture"), sent) as one:
        assert (one.asked.read_bytes(), one.words) == (b"bytes", "a.png")
    assert not one.asked.exists()


@pytest.mark.parametrize(
    ("form", "sent"),
    [
        (Form("game"), {"seed": "1"}),
        (Form("game"), {"seed": True}),
        (Form("game", takes_length=True), {"length": 1.5}),
        (Form("picture"), {}),
        (Form("picture"), {"picture": "no base 64!"}),
        (Form("pair"), {"texts": ["a"]}),
        (Form("text"), {"texts": ["a" * 200_000]}),
    ],
)
def test_forms_refuse_what_they_did_not_ask(form: Form, sent: Any) -> None:
    with pytest.raises(ValueError, match=r"."), question(form, sent):
        pass
