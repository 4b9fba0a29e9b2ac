"""Which settings W&B takes, and whether it is online: asked before a run, of W&B's own settings."""

import netrc
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from zoo.core.problems import similar

Mode = Literal["online", "offline", "disabled"]

_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|HEADER")
_SERVER_TAKES = {"WANDB_RUN_GROUP": 128, "WANDB_JOB_TYPE": 64}
"""Characters at most. Only the server refuses more (wandb/wandb#6402), an offline run when it is sent."""

_LONGEST_PROJECT = 128
_PLAIN_PROJECT = re.compile(rf"[A-Za-z0-9_-]{{1,{_LONGEST_PROJECT}}}")


def mode() -> Mode:
    """Online only for a user who is logged in and has not said otherwise with `WANDB_MODE`."""
    said = os.environ.get("WANDB_MODE", "").lower()
    if said == "disabled":
        return "disabled"
    if said in ("offline", "dryrun"):
        return "offline"
    return "online" if _has_key() else "offline"


def library() -> Any:
    """The package wandb, imported late, because it reads the environment when it is imported."""
    if mode() != "online":
        # Its crash reports are the one thing that W&B sends offline, too.
        os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
    import wandb

    return wandb


def refused_project(name: str) -> str | None:
    """Why W&B has no project of this name, and the nearest that it takes; None where it has."""
    if not name:
        return "must name a project, got nothing"
    if _PLAIN_PROJECT.fullmatch(name):  # W&B need not be asked, which takes a second to import
        return None
    refused = next(refused_variables({"WANDB_PROJECT": name}), None)
    return refused and refused[1]


def refused_variables(environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """What W&B would refuse of its variables, with which it would not begin.

    Args:
        environment: `WANDB_MODE` and so on; other variables are left alone.

    Yields:
        The variable's name; and what it must be, what it is and the nearest match.
    """
    for name, value in environment.items():
        if not name.startswith("WANDB_") or (name == "WANDB_MODE" and value in get_args(Mode)):
            continue
        got = "" if _SECRET.search(name) else f", got {value!r}"
        longest = _SERVER_TAKES.get(name, len(value))
        if len(value) > longest:
            yield name, f"must have at most {longest} characters{got} ({len(value)})"
        if name == "WANDB_ENTITY" and "/" in value:
            yield name, f"must be a user or a team without the project{got}; set logger.wandb.project, too"
        try:
            library().Settings().update_from_env_vars({name: value})
        except Exception as error:  # its validators raise errors of many kinds
            yield name, _reason(error, value) + got + _nearest(error, name, value)


def _reason(error: Exception, value: str) -> str:
    details = _details(error)
    if choices := _choices(error):
        return f"must be one of {', '.join(choices)}"
    said = str(details[0]["msg"]).removeprefix("Value error, ") if details else str(error)
    # What was given follows behind the reason, for all variables alike.
    return f"must be as W&B takes it ({said.strip().removeprefix(f'Invalid project name {value!r}: ')})"


def _nearest(error: Exception, name: str, value: str) -> str:
    if choices := _choices(error):
        return similar(value, choices)
    if name != "WANDB_PROJECT":
        return ""
    team, _, project = value.rpartition("/")
    meant = re.sub(r"[^\w. -]+", "-", project)[:_LONGEST_PROJECT]
    return (f"; did you mean {meant}?" if meant else "") + (" WANDB_ENTITY names the team" if team else "")


def _choices(error: Exception) -> list[str]:
    details = _details(error)
    expected = str(details[0].get("ctx", {}).get("expected", "")) if details else ""
    return re.findall(r"'([^']*)'", expected)


def _details(error: Exception) -> list[dict[str, Any]]:
    """What pydantic knows of an error; other errors have a text alone."""
    details = getattr(error, "errors", None)
    return list(details()) if callable(details) else []


def _has_key() -> bool:
    """Where `wandb login` or the user puts a key; W&B itself would ask for one when it finds none."""
    if os.environ.get("WANDB_API_KEY"):
        return True
    host = urlsplit(os.environ.get("WANDB_BASE_URL", "https://api.wandb.ai")).netloc
    places = [os.environ["NETRC"]] if "NETRC" in os.environ else ["~/.netrc", "~/_netrc"]
    for place in places:
        try:
            if netrc.netrc(os.path.expanduser(place)).authenticators(host):
                return True
        except (OSError, netrc.NetrcParseError):
            continue
    return False
