"""The two hooks that stop at the first result: the store is provided, a dream is drafted."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.config.values import StorageConfig
from holdfast.errors import ConfigError, HookFailed, PluginLoadFailed
from holdfast.hooks import hookimpl
from holdfast.plugin.discovery import BACKENDS, Found
from holdfast.plugin.manager import PluginManager
from holdfast_file.backend import FileBackend

ENTRY = Found(BACKENDS, "mine", "mine", "mine-dist", "1.0")


class Provider:
    """A backend plugin that answers with what it was made with; an exception is raised."""

    def __init__(self, answer: object) -> None:
        self.answer = answer
        self.asked: list[tuple[StorageConfig, Path]] = []

    @hookimpl
    def storage_backend(self, config: StorageConfig, root: Path) -> object:
        self.asked.append((config, root))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def provided(plugin: object, config: StorageConfig, root: Path) -> object:
    manager = PluginManager()
    manager.register_backend(plugin, ENTRY)
    return manager.storage_backend(config, str(root))


def test_storage_backend__plugin_provides_one__is_given_config_and_root(tmp_path: Path) -> None:
    config = StorageConfig()
    backend = FileBackend(tmp_path)
    plugin = Provider(backend)
    assert provided(plugin, config, tmp_path) is backend
    assert plugin.asked == [(config, tmp_path)]


@pytest.mark.parametrize(
    ("answer", "error", "told"),
    [
        (None, PluginLoadFailed, "The backend 'mine' did not return a StorageBackend."),
        ("a store", HookFailed, "Plugin 'mine' (mine-dist 1.0) failed in storage_backend: it returned str"),
        (
            RuntimeError("boom"),
            HookFailed,
            "Plugin 'mine' (mine-dist 1.0) failed in storage_backend: RuntimeError: boom.",
        ),
        (ConfigError("storage.url is missing."), ConfigError, "storage.url is missing."),
    ],
)
def test_storage_backend__plugin_gives_none__is_a_hard_error_that_names_it(
    tmp_path: Path, answer: object, error: type[Exception], told: str
) -> None:
    with pytest.raises(error) as raised:
        provided(Provider(answer), StorageConfig(backend="mine"), tmp_path)
    assert str(raised.value).startswith(told)
