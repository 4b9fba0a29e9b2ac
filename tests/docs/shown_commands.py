"""Every command that README and docs show, as it would be typed."""

import re
import shlex
from functools import cache
from pathlib import Path

PROJECT = Path(__file__).parents[2]
GUIDES = (PROJECT / "README.md", *sorted((PROJECT / "docs").rglob("*.md")))
_TRAINING = ("python", "train.py")
_VARIABLE = re.compile(r"[A-Z_]+=")


@cache
def shown() -> dict[str, str]:
    """Where each line of code stands that begins with a command, by the line, without its comment."""
    found: dict[str, str] = {}
    for guide in GUIDES:
        text = re.sub(r"\\\n\s*", " ", guide.read_text(encoding="utf-8"))
        blocks = re.findall(r"^```bash\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        rest = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
        lines = [line for block in blocks for line in block.splitlines()]
        lines += re.findall(r"^    (\S.*)$", rest, re.MULTILINE)
        lines += re.findall(r"`((?:python|zoo) [^`\n]+)`", rest)
        for line in lines:
            found.setdefault(re.sub(r"\s+#.*$", "", line.strip()), str(guide.relative_to(PROJECT)))
    return found


def trainings() -> list[str]:
    """The lines that run train.py."""
    return [line for line in shown() if words_of(line)[:2] == _TRAINING]


def zoo_commands() -> list[str]:
    """The lines that run a verb of `zoo` with what it needs; a verb alone in a sentence is none."""
    return [line for line in shown() if words_of(line)[:1] == ("zoo",) and len(words_of(line)) > 2]


@cache
def words_of(line: str) -> tuple[str, ...]:
    """The words of a line, as a shell reads them, without variables before and files behind them."""
    try:
        words = shlex.split(line)
    except ValueError:  # no command: an apostrophe in a sentence
        return ()
    while words and _VARIABLE.match(words[0]):
        words = words[1:]
    return tuple(words[: words.index(">")] if ">" in words else words)
