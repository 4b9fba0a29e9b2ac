"""What is settled before the command runs."""

import io
import sys
from collections.abc import Callable

import pytest

import zoo.cli.app
from zoo.__main__ import main


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_what_is_written_is_utf_8_in_every_locale(monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    written: dict[str, io.BytesIO] = {"stdout": io.BytesIO(), "stderr": io.BytesIO()}
    for name, content in written.items():
        monkeypatch.setattr(sys, name, io.TextIOWrapper(content, encoding=encoding, write_through=True))
    monkeypatch.setattr(zoo.cli.app, "main", _saying("3. März: sᵀh ± 木"))
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 3
    assert {content.getvalue().decode("utf-8") for content in written.values()} == {"3. März: sᵀh ± 木\n"}


def _saying(text: str) -> Callable[[], int]:
    def command() -> int:
        print(text)
        print(text, file=sys.stderr)
        return 3

    return command
