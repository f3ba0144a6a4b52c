"""What holdfast/hooks.py promises to the author of a plugin, with plugins of somebody else."""

import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from holdfast.api import ConfigError, HookFailed, PluginLoadFailed, StorageConfig, ValidationRequest, hookimpl
from holdfast.models import DreamDraft, DreamSources, Extraction, Turn
from holdfast.plugin.discovery import PLUGINS, Found
from holdfast.plugin.manager import PluginSettings
from holdfast_app.base import Plugins

SOURCES = DreamSources(memory="", notes=[])
TURNS = [Turn(messages=())]
CODE = """
from holdfast.hooks import hookimpl
from holdfast.models import DreamDraft

def dreamer(memory):
    class Dreamer:
        @hookimpl
        def on_dream(self, sources):
            return DreamDraft(memory=memory) if memory else None
    return Dreamer()

first, second, passes = dreamer("first"), dreamer("second"), dreamer("")
"""


def manager(*plugins: object) -> Plugins:
    """Plugins registered in that order, so the last one is called first."""
    made = Plugins()
    for number, plugin in enumerate(plugins):
        made.register(plugin, f"p{number}")
    return made


def dreamer(memory: str, **options: Any) -> object:
    return SimpleNamespace(on_dream=hookimpl(lambda: DreamDraft(memory=memory), **options))


def drafted(made: Plugins) -> str:
    found = made.on_dream(SOURCES)
    return found[1].memory


def extractor() -> object:
    return SimpleNamespace(on_extract=hookimpl(lambda: Extraction(summary="plain")))


class Wrapper:
    """Changes each summary. ``fail`` is called after the wrapped call."""

    def __init__(self, fail: Any = None) -> None:
        self.fail = fail

    @hookimpl(wrapper=True)
    def on_extract(self) -> Iterator[None]:
        found = yield
        if self.fail:
            self.fail()
        return [Extraction(summary=f"wrapped {one.summary}") for one in found]  # type: ignore[return-value]


def test_on_dream__tryfirst_and_trylast__hold():
    assert drafted(manager(dreamer("a", tryfirst=True), dreamer("b"))) == "a"
    assert drafted(manager(dreamer("a"), dreamer("b", trylast=True))) == "a"


def test_load__several_dreamers__are_called_by_name_and_the_default_ones_last(tmp_path, monkeypatch):
    (tmp_path / "dreamers_of_this_test.py").write_text(CODE)
    monkeypatch.syspath_prepend(tmp_path)
    names = {"zebra": "first", "yak": "passes", "offline": "second"}  # offline is on by default
    found = [Found(PLUGINS, name, f"dreamers_of_this_test:{value}", "dist", "1") for name, value in names.items()]
    made = Plugins()
    made.load([PluginSettings(name) for name in names], found, root="", state="")
    assert made.implementing("on_dream") == ("yak", "zebra", "offline")
    assert drafted(made) == "first"
    assert made.on_dream(SOURCES, only="yak") is None


def provider(answer: object) -> object:
    """A backend plugin with that answer; an exception is raised."""

    def storage_backend() -> object:
        if isinstance(answer, Exception):
            raise answer
        return answer

    return SimpleNamespace(storage_backend=hookimpl(storage_backend))


@pytest.mark.parametrize(
    ("answer", "error", "told"),
    [
        (None, PluginLoadFailed, "The backend 'mine' did not return a StorageBackend."),
        ("a store", HookFailed, "Plugin 'mine' (mine-dist 1.0) failed in storage_backend: it returned str"),
        (RuntimeError("boom"), HookFailed, "Plugin 'mine' (mine-dist 1.0) failed in storage_backend: RuntimeError"),
        (ConfigError("storage.url is missing."), ConfigError, "storage.url is missing."),
    ],
)
def test_storage_backend__plugin_gives_none__is_a_hard_error_that_names_it(answer, error, told):
    made = Plugins()
    made.register_backend(provider(answer), Found("holdfast.backends", "mine", "mine", "mine-dist", "1.0"))
    with pytest.raises(error) as raised:
        made.storage_backend(StorageConfig(backend="mine"), "/project")
    assert str(raised.value).startswith(told)


async def _async(request: object) -> Any:
    yield request


def _generator(request: object) -> Any:
    yield request


@pytest.mark.parametrize(
    ("functions", "reason"),
    [
        ({"on_validate": hookimpl(_async)}, "on_validate is async, and nothing awaits it"),
        ({"on_validate": hookimpl(_generator)}, "on_validate is a generator, and this hook returns Sequence"),
        ({"on_validate": lambda request: []}, "on_validate is not marked with hookimpl"),
        ({"on_validat": hookimpl(_generator)}, "'on_validat' is unknown, did you mean `on_validate`"),
        ({}, "none of the hooks on_dream, on_extract, on_flush, on_validate, storage_backend"),
    ],
)
def test_register__implementation_that_cannot_be_called__is_refused_with_the_reason(functions, reason):
    made, plugin = Plugins(), SimpleNamespace(**functions)
    with pytest.raises(PluginLoadFailed, match=reason) as refused:
        made.register(plugin, "mine", "dist 1.0")
    assert "'mine' (dist 1.0)" in refused.value.message
    assert refused.value.next_step == "Correct it, or open the project without it."
    assert made.on_validate(ValidationRequest("daily", "n.md", "text")) == []


@pytest.mark.parametrize("hook", ["on_validate", "on_flush", "storage_backend"])
@pytest.mark.parametrize("style", ["wrapper", "hookwrapper"])
def test_register__wrapper_that_could_hide_a_failed_save__is_refused_with_the_reason(hook, style):
    class Wraps:
        @hookimpl(specname=hook, **{style: True})
        def wraps(self) -> Any:
            yield

    with pytest.raises(PluginLoadFailed, match=f"it wraps {hook}; wrappers could hide a failed save"):
        Plugins().register(Wraps(), "mine")


def test_on_extract__wrapped__each_plugins_result_passes_the_wrapper():
    results, failures = manager(extractor(), Wrapper(), extractor()).on_extract(TURNS)
    assert [(name, one.summary) for name, one in results] == [("p0", "wrapped plain"), ("p2", "wrapped plain")]
    assert failures == []


@pytest.mark.parametrize("fail", [lambda: 1 / 0, lambda: exec("raise SystemExit")])
def test_on_extract__wrapper_fails__is_named_and_isolated(fail):
    results, failures = manager(extractor(), Wrapper(fail)).on_extract(TURNS)
    assert results == []
    assert [one.plugin for one in failures] == ["p1"]


def test_on_extract__wrapper_hangs__is_left_behind_at_the_deadlines(monkeypatch):
    made = Plugins()
    made.register(extractor(), "a", deadline_s=0.1)
    go = threading.Event()
    made.register(Wrapper(lambda: go.wait(20)), "b", deadline_s=0.1)
    began = time.monotonic()
    _, failures = made.on_extract(TURNS)
    assert [(one.plugin, one.reason) for one in failures] == [("b", "it took longer than 0.2 s")]
    assert time.monotonic() - began < 15
    go.set()
