"""What W&B would refuse of its variables: found before a run, in W&B's own words."""

import pytest

from zoo.loggers.wandb_settings import refused_project, refused_variables


def _refused(**variables: str) -> dict[str, str]:
    return dict(refused_variables(variables))


def test_what_wandb_takes() -> None:
    taken = {
        "WANDB_MODE": "offline",
        "WANDB_PROJECT": "a project",
        "WANDB_ENTITY": "team",
        "WANDB_RUN_ID": "abc-123",
        "WANDB_RUN_GROUP": "g" * 128,
        "WANDB_TAGS": "first,second",
        "WANDB_DIR": "/tmp",
        "WANDB_SILENT": "true",
        "WANDB_BASE_URL": "https://wandb.example.org",
        "WANDB_API_KEY": "no such key",  # which a server says, if one is asked
        "WANDB_OF_ANOTHER_PROGRAM": "anything",
        "PATH": "a/b",
    }
    assert not _refused(**taken)
    assert refused_project("attention-zoo") is None


@pytest.mark.hostile("wandb")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("WANDB_MODE", ""),
        ("WANDB_PROJECT", "a/b"),
        ("WANDB_PROJECT", "p" * 140),
        ("WANDB_RUN_ID", "abc/def"),
        ("WANDB_RUN_ID", ""),
        ("WANDB_ENTITY", "team/project"),
        ("WANDB_RUN_GROUP", "g" * 129),
        ("WANDB_JOB_TYPE", "j" * 65),
        ("WANDB_TAGS", "a,,b"),
        ("WANDB_TAGS", "t" * 65),
        ("WANDB_SILENT", "maybe"),
        ("WANDB_INIT_TIMEOUT", "soon"),
        ("WANDB_BASE_URL", "nonsense"),
        ("WANDB__SERVICE_WAIT", "-1"),
    ],
)
def test_what_wandb_refuses(name: str, value: str) -> None:
    assert list(_refused(**{name: value, "WANDB_DIR": "/tmp"})) == [name]


def test_the_message_says_what_is_allowed_what_was_given_and_what_was_meant() -> None:
    assert _refused(WANDB_MODE="offlin")["WANDB_MODE"] == (
        "must be one of online, offline, shared, disabled, dryrun, run, got 'offlin'; did you mean offline?"
    )


def test_a_secret_is_never_shown() -> None:
    (message,) = _refused(WANDB__EXTRA_HTTP_HEADERS="Bearer abc").values()
    assert "Bearer" not in message


def test_a_project_needs_a_name() -> None:
    assert refused_project("") == "must name a project, got nothing"
