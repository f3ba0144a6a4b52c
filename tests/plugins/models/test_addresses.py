"""Where a model's key and a conversation go: the real SDKs, between servers on loopback that record what arrives."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.support import file_keyring
from tests.support.model_server import ModelServer, Reply
from tests.support.recorder import Recorder
from tests.support.trusting import trusted

from holdfast import Holdfast, Message, Turn
from holdfast.config.values import PluginConfig
from holdfast_app.config import Config
from holdfast_keys import origins, secrets

PROVIDERS = ("openai", "anthropic")
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
Ask = Callable[..., str]


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch, tmp_path) -> None:
    """No key, no address and no proxy in the environment; an empty keyring in a file."""
    for name in PROVIDERS:
        for variable in (*secrets.variables(name), f"{name.upper()}_BASE_URL", f"{name.upper()}_CUSTOM_HEADERS"):
            monkeypatch.delenv(variable, raising=False)
    for variable in (*PROXIES, "NO_PROXY", "no_proxy", "ANTHROPIC_AUTH_TOKEN", "OPENAI_ORG_ID"):
        monkeypatch.delenv(variable, raising=False)
    file_keyring.chosen(monkeypatch, tmp_path / "keyring.json")


@pytest.fixture
def ask(project, provider, closing) -> Ask:
    """Ask the model at an address once; returns what went wrong. Without one the project's own file names it."""

    def ask(address: str = "", **more: Any) -> str:
        config = None
        if address:
            settings = {"model": "m", "base_url": address, "max_retries": 0, **more}
            config = Config(plugins={provider: PluginConfig(settings=settings), "offline": PluginConfig(enabled=False)})
        memory = closing(Holdfast.open(project, config=config))
        message = Message(role="user", text="The conversation", at=datetime(2026, 11, 21, tzinfo=UTC), id="m1")
        return " ".join(memory.extract(Turn(messages=[message])).failures)

    return ask


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


def key_in(headers: Any) -> bool:
    return "k-123" in f"{headers.get('authorization')} {headers.get('x-api-key')}"


@pytest.mark.parametrize("status", [302, 308])
def test_ask__redirected_to_another_server__nothing_reaches_it_and_the_next_step_is_told(
    ask, provider, model, monkeypatch, status
):
    monkeypatch.setenv(secrets.variables(provider)[0], "k-123")
    with Recorder() as other:
        model.answers(Reply(status=status, headers={"Location": other.url + "/v1"}))
        failure = ask(model.url)
        assert other.requests == []
    assert key_in(model.requests[0].headers)
    assert "redirect" in failure
    assert f"holdfast auth set {provider} --origin" in failure
    assert "k-123" not in failure


def test_ask__address_that_only_the_project_names__gets_neither_key_nor_conversation(
    ask, provider, model, project, monkeypatch
):
    """Also where the project's settings were in force: this is the second line of defence."""
    monkeypatch.setenv(secrets.variables(provider)[0], "k-123")
    lines = [f"[plugins.{provider}]", 'model = "m"', "max_retries = 0", f'base_url = "{model.url}"']
    (project / "holdfast.toml").write_text("\n".join([*lines, "[plugins.offline]", "enabled = false", ""]))
    failure = ask(model.url)
    assert model.requests == []
    assert "only this project" in failure
    assert "holdfast trust" in failure
    monkeypatch.delenv(secrets.variables(provider)[0])
    assert "only this project" in ask(model.url)  # without a key, too
    assert model.requests == []
    trusted(project)
    monkeypatch.setenv(secrets.variables(provider)[0], "k-123")
    assert ask() == ""
    assert key_in(model.requests[0].headers)


def test_ask__stored_key__goes_to_its_origin_and_elsewhere_a_stand_in(ask, provider, model):
    secrets.store(provider, "k-123")
    assert ask(model.url) == ""
    assert not key_in(model.requests[0].headers)
    secrets.store(provider, "k-123 for this", origins.of(model.url))
    assert ask(model.url) == ""
    assert key_in(model.requests[1].headers)
