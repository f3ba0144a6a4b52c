"""Extraction turn by turn as clients start it: the real hook, a process of its own, a model on loopback."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.plugins.agents.hooking import Client
from tests.support import processes
from tests.support.model_server import ModelServer, Reply
from tests.support.trusting import trusted

from holdfast import Holdfast

pytest.importorskip("openai")

ANSWER = json.dumps({"facts": [{"content": "Deploys need two reviewers", "category": "knowledge", "confidence": 0.9}]})


def settings(project: Path, server: ModelServer) -> None:
    (project / "holdfast.toml").write_text(
        f'[plugins.openai]\nmodel = "small"\nbase_url = "{server.url}/v1"\nmax_retries = 0\n'
        '[plugins.offline]\nenabled = false\n[extract]\nwhen = "turn"\n',
        encoding="utf-8",
    )
    trusted(project)


def facts(project: Path) -> list[str]:
    with Holdfast.open(project) as memory:
        return [fact.content for fact in memory.facts.list()]


def until(what: Callable[[], object]) -> None:
    """Wait for another process, far longer than it can take."""
    end = time.monotonic() + 60
    while not what():
        assert time.monotonic() < end
        time.sleep(0.05)


def is_idle(project: Path) -> bool:
    """Whether nothing waits and no process is at it."""
    from holdfast.fs import private

    state = project / ".holdfast" / "state"
    with private.lock(str(state / "extract-work"), timeout_s=60.0):
        return not (state / "extract.jsonl").exists() and not (state / "extract-wish").exists()


@pytest.mark.req("R033", "R034")
def test_stop__model_takes_its_time__hook_does_not_wait_and_the_fact_comes_once(project: Path) -> None:
    client = Client(project)
    with ModelServer().answers(Reply(text=ANSWER, delay_s=4)) as server:
        settings(project, server)
        client.say("How do we deploy?", "Deploys need two reviewers.")
        assert facts(project) == [], "the hook waited for the model"
        until(lambda: facts(project))
        until(lambda: is_idle(project))
        client.compact()
        client.hook("SessionEnd", reason="exit")
        until(lambda: is_idle(project))
        assert len(server.requests) == 1
    assert facts(project) == ["Deploys need two reviewers"]


@pytest.mark.req("R033")
def test_turns__killed_while_the_model_is_asked__turn_still_waits_and_its_fact_comes_once(project: Path) -> None:
    client = Client(project)
    client.say("How do we deploy?", "Deploys need two reviewers.")
    with ModelServer().answers(Reply(text=ANSWER, delay_s=30), ANSWER) as server:
        settings(project, server)
        command = [sys.executable, "-m", "holdfast", "extract"]
        first = subprocess.Popen([*command, "--turns"], cwd=project)
        until(lambda: server.requests)
        first.kill()
        first.wait(timeout=60)
        for what in ("--queued", "--turns", "--queued"):
            assert processes.run("extract", what, cwd=project).returncode == 0
        assert len(server.requests) == 2
    assert facts(project) == ["Deploys need two reviewers"]
