"""A keyring in a file, which processes share. ``PYTHON_KEYRING_BACKEND=tests.support.file_keyring.FileKeyring``."""

import json
import os
from pathlib import Path

import keyring.core
import pytest
from keyring.backend import KeyringBackend
from keyring.compat import properties
from keyring.errors import PasswordDeleteError

#: The variable that names the file.
VARIABLE = "TEST_KEYRING_FILE"


def chosen(monkeypatch: pytest.MonkeyPatch, path: Path) -> "FileKeyring":
    """An empty keyring in ``path``, which the library uses until the test ends."""
    monkeypatch.setenv(VARIABLE, str(path))
    monkeypatch.setattr(keyring.core, "_keyring_backend", FileKeyring())
    return FileKeyring()


class FileKeyring(KeyringBackend):
    """Keeps passwords as JSON in clear, for tests only."""

    @properties.classproperty
    def priority(cls) -> float:
        if VARIABLE not in os.environ:  # else it would be the default of every test after the one that imports it
            raise RuntimeError(VARIABLE)
        return 1

    @property
    def held(self) -> dict[str, str]:
        """Passwords by user name."""
        path = Path(os.environ[VARIABLE])
        found: dict[str, str] = json.loads(path.read_text()) if path.exists() else {}
        return found

    def get_password(self, service: str, username: str) -> str | None:
        return self.held.get(username)

    def set_password(self, service: str, username: str, password: str) -> None:
        self._write({**self.held, username: password})

    def delete_password(self, service: str, username: str) -> None:
        held = self.held
        if username not in held:
            raise PasswordDeleteError(username)
        del held[username]
        self._write(held)

    def _write(self, held: dict[str, str]) -> None:
        Path(os.environ[VARIABLE]).write_text(json.dumps(held))
