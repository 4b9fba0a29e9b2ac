"""Which settings W&B takes, and whether it is online, by W&B's own rules."""

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
"""The most characters. Only the server refuses more (wandb/wandb#6402), of an offline run at its upload."""

_LONGEST_PROJECT = 128
_PLAIN_PROJECT = re.compile(rf"[A-Za-z0-9_-]{{1,{_LONGEST_PROJECT}}}")


def mode() -> Mode:
    """`WANDB_MODE`; where it is not set, online for a user who is logged in, else offline."""
    said = os.environ.get("WANDB_MODE", "").lower()
    if said == "disabled":
        return "disabled"
    if said in ("offline", "dryrun"):
        return "offline"
    return "online" if has_key() else "offline"


def library() -> Any:
    """The package wandb, imported late, because it reads the environment when it is imported."""
    if mode() != "online":  # W&B sends crash reports offline, too
        os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
    import wandb

    return wandb


def refused_project(name: str) -> str | None:
    """Why W&B takes no project of this name, with the nearest that it takes; None where it takes it."""
    if not name:
        return "must name a project, got nothing"
    if _PLAIN_PROJECT.fullmatch(name):  # W&B need not be asked, which takes a second to import
        return None
    refused = next(refused_variables({"WANDB_PROJECT": name}), None)
    return refused and refused[1]


def refused_variables(environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The names of W&B's environment variables that it would refuse, with the reason.

    Args:
        environment: all variables; only those that begin with `WANDB_` are checked.
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
        except Exception as error:  # W&B's validators raise many kinds
            yield name, _reason(error, value) + got + _nearest(error, name, value)


def _reason(error: Exception, value: str) -> str:
    details = _details(error)
    if choices := _choices(error):
        return f"must be one of {', '.join(choices)}"
    said = str(details[0]["msg"]).removeprefix("Value error, ") if details else str(error)
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
    """The details of an error of pydantic's; none of other errors."""
    details = getattr(error, "errors", None)
    return list(details()) if callable(details) else []


def has_key() -> bool:
    """Whether there is a key where `wandb login` or the user puts it; W&B itself would ask for one."""
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
