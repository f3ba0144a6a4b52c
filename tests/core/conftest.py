"""What the core's tests share: projects opened with no plugin but the test's own, whole payloads, stores that break."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.support.stated import NO_PLUGINS

from holdfast.api import Extraction, Holdfast, Payload, hookimpl
from holdfast_app.config import Config

WHOLE: dict[str, Any] = {
    "objective": "Fix the login test",
    "facts": ["The token expires after 60 s"],
    "decisions": ["Use a lock"],
    "blockers": ["CI is red"],
    "next_step": "Run the tests",
    "artifacts": ["owner/repo#12"],
    "follow_ups": ["Tell Ana"],
    "needs_operator": ["Renew the certificate"],
    "state_mutations": [{"kind": "status", "target": "owner/repo#12", "summary": "in review"}],
    "handoff": {
        "active_task": "owner/repo#12",
        "branch": "fix-login",
        "blocker": "CI is red",
        "next_action": "Run the tests",
    },
    "curated": "none",
}


@pytest.fixture
def payload() -> Callable[..., Payload]:
    """``payload(field=value)``: one that meets the whole contract, with changes; ``None`` drops a field."""
    return lambda **changes: Payload(**{**WHOLE, **changes})


@pytest.fixture
def config() -> Callable[..., Config]:
    """``config(**changes)``: UTC, no plugin enabled."""
    return lambda **changes: Config(**{"zone": "UTC", "plugins": NO_PLUGINS, **changes})


@pytest.fixture
def opened(project, clock, config, closing) -> Callable[..., Holdfast]:
    """``opened(*plugins, **config changes)``: the project, as a new process would open it."""

    def open_project(*plugins: object, **changes: Any) -> Holdfast:
        named = [(f"test{n}", plugin) for n, plugin in enumerate(plugins)]
        return closing(Holdfast.open(project, config=config(**changes), clock=clock, plugins=named))

    return open_project


@pytest.fixture
def note(project) -> Callable[..., str]:
    """``note(day)``: the daily note as it lies on disk, empty when there is none."""

    def read(day: str = "2026-11-21") -> str:
        path = project / ".holdfast" / "memory" / f"{day}.md"
        return path.read_text() if path.exists() else ""

    return read


class Summarizer:
    """An ``on_extract`` that tells what it was asked: its summary lists the texts it got."""

    EXTRACTS_AT_ONCE = True

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    @hookimpl
    def on_extract(self, turns: Any) -> Extraction:
        texts = [m.text for turn in turns for m in turn.messages]
        self.asked.append(texts)
        return Extraction(summary="They said " + ", ".join(texts))


@pytest.fixture
def summarizer() -> Summarizer:
    return Summarizer()
