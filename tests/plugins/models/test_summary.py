"""The running summary of a session, told by a model through the real SDKs (R030-R032)."""

import json
from collections.abc import Iterator

import pytest

from holdfast import Holdfast
from holdfast.config.values import PluginConfig
from holdfast_app.config import Config


@pytest.fixture
def memory(project, server, provider, clock, monkeypatch) -> Iterator[Holdfast]:
    monkeypatch.setenv(f"HOLDFAST_{provider.upper()}_KEY", "key-123")
    base = server.url + ("/v1" if provider == "openai" else "")
    settings = {"model": "small", "base_url": base, "max_retries": 0}
    plugins = {provider: PluginConfig(settings=settings), "offline": PluginConfig(enabled=False)}
    with Holdfast.open(project, config=Config(zone="UTC", plugins=plugins), clock=clock) as one:
        yield one


def says(summary: str) -> str:
    return json.dumps({"facts": [], "profile": {}, "summary": summary})


@pytest.mark.req("R030", "R031", "R032")
def test_summary__trims__is_told_once_each_extended_and_injected_only_by_the_caller(memory, server):
    server.answers(says("They chose Postgres."), says("They fixed the login."))
    told: list[str] = []
    session = memory.session("s")
    for topic in ("queue", "login"):
        for number in range(3):
            session.add("user", f"{topic} question {number}")
            session.add("assistant", f"{topic} answer {number}")
        session.compact(keep_last=2, on_summary=told.append)
    assert len(told) == 2
    assert "They chose Postgres." in told[0]
    assert "They fixed the login." in told[1]
    assert session.summary == "They chose Postgres.\n\nThey fixed the login."
    second = str(server.requests[1].body)
    assert "queue question 0" not in second  # what was summarised is not sent again
    kept = session.messages
    assert [m.text for m in kept] == ["login question 2", "login answer 2"]
    injected = session.with_summary(told[1])
    assert [m.role for m in injected] == ["user", "assistant"]
    assert told[1].strip() in injected[0].text
    assert injected[0].text.endswith("login question 2")
    assert session.messages == kept
