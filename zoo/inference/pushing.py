"""Uploads an exported model to the Hugging Face hub, only where somebody asks for it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from zoo.core.extras import require


class CannotPush(ValueError):
    """A model cannot be uploaded; the message says why."""


class Hub:
    """A place on the hub, for which the user is logged in.

    Args:
        name: USER/MODEL, or MODEL for the user's own.

    Raises:
        CannotPush: no model can have that name, nobody is logged in, or the hub cannot be reached.
        ValueError: the package for it is not installed.
    """

    def __init__(self, name: str) -> None:
        require(["huggingface_hub"], "hub")
        from huggingface_hub import HfApi, utils

        self.name, self._api = name, HfApi()
        with self._said():
            utils.validate_repo_id(name)  # type: ignore[attr-defined]  # documented, and not listed
            self._api.whoami()

    def upload(self, folder: Path) -> str:
        """Uploads every file of a folder; a model that is not there yet is made, and is private.

        Args:
            folder: complete.

        Returns:
            The address.

        Raises:
            CannotPush: the hub refuses it, or cannot be reached; the folder stays.
        """
        with self._said():
            place = self._api.create_repo(self.name, private=True, exist_ok=True)
            self._api.upload_folder(
                folder_path=folder, repo_id=place.repo_id, commit_message="Exported model"
            )
        return str(place.url)

    @contextmanager
    def _said(self) -> Iterator[None]:
        """Says in one line what the library, its HTTP client or the hub has to say."""
        from huggingface_hub.errors import LocalTokenNotFoundError

        try:
            yield
        except LocalTokenNotFoundError as error:
            raise CannotPush(f"--push {self.name}: nobody is logged in here; type: hf auth login") from error
        except Exception as error:
            raise CannotPush(f"--push {self.name}: {' '.join(str(error).split())}") from error
