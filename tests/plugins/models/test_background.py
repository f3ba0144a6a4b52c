"""Work in the background as clients start it: the real hook, a process of its own, a model on loopback."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.plugins.agents.hooking import Client
from tests.support import processes
from tests.support.model_server import ModelServer, Reply
from tests.support.trusting import trusted

from holdfast.api import Extraction, FactCandidate, Holdfast, hookimpl

pytest.importorskip("openai")

ANSWER = json.dumps({"facts": [{"content": "Deploys need two reviewers", "category": "knowledge", "confidence": 0.9}]})


def settings(project: Path, server: ModelServer, when: str = "turn", calls: int = 50) -> None:
    (project / "holdfast.toml").write_text(
        f'[plugins.openai]\nmodel = "small"\nbase_url = "{server.url}/v1"\nmax_retries = 0\n'
        f'[plugins.offline]\nenabled = false\n[extract]\nwhen = "{when}"\ncalls_a_day = {calls}\n',
        encoding="utf-8",
    )
    trusted(project)


def session(project: Path, number: int, *said: str, **env: str) -> Any:
    """A conversation, and its end under way; ``wait()`` gives the exit code."""
    client = Client(project, native=f"0f6f7c54-6f0e-4a4b-9f0e-2b8a0d1c7e{number:02d}")
    for text in said:
        client.say(text, "Understood.")
    process = client.start(client.payload("SessionEnd", reason="exit"), **env)

    def wait() -> int:
        process.communicate(timeout=60)
        return process.returncode

    return wait


def memory_md(project: Path) -> str:
    path = project / ".holdfast" / "MEMORY.md"
    return path.read_text(encoding="utf-8") if path.exists() else ""


def status(project: Path) -> str:
    return " ".join(processes.run("status", cwd=project).stdout.split())


def facts(project: Path) -> list[str]:
    with Holdfast.open(project) as memory:
        return [fact.content for fact in memory.facts.list()]


def until(what: Callable[[], object]) -> None:
    """Wait for another process, far longer than it can take."""
    end = time.monotonic() + 30
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
def test_stop__model_takes_its_time__hook_does_not_wait_and_the_fact_comes_once(project):
    client = Client(project)
    go_on = threading.Event()
    with ModelServer().answers(Reply(write=lambda _: ANSWER if go_on.wait(30) else "")) as server:
        settings(project, server)
        client.say("How do we deploy?", "Deploys need two reviewers.")
        assert facts(project) == [], "the hook waited for the model"
        go_on.set()
        until(lambda: facts(project))
        until(lambda: is_idle(project))
        client.compact()
        client.hook("SessionEnd", reason="exit")
        until(lambda: is_idle(project))
        assert len(server.requests) == 1
    assert facts(project) == ["Deploys need two reviewers"]


@pytest.mark.req("R033")
def test_turns__killed_while_the_model_is_asked__turn_still_waits_and_its_fact_comes_once(project):
    client = Client(project)
    client.say("How do we deploy?", "Deploys need two reviewers.")
    with ModelServer().answers(Reply(text=ANSWER, delay_s=30), ANSWER) as server:
        settings(project, server)
        first = subprocess.Popen([sys.executable, "-m", "holdfast", "extract", "--turns"], cwd=project)
        until(lambda: server.requests)
        first.kill()
        first.wait(timeout=60)
        for how in ("--queued", "--turns", "--queued"):
            assert processes.run("extract", how, cwd=project).returncode == 0
        assert len(server.requests) == 2
    assert facts(project) == ["Deploys need two reviewers"]


AUTO = {"HOLDFAST_DREAM__WHEN": "auto"}


def test_session_end__defaults__begin_a_dream_that_only_the_setting_prevents(project):
    assert session(project, 1, "DECISION: prices are in cents")() == 0  # the tests' own setting: manual
    time.sleep(0.3)
    assert memory_md(project) == ""
    assert session(project, 2, "DECISION: receipts go by mail", **AUTO)() == 0
    until(lambda: "receipts go by mail" in memory_md(project))
    assert "prices are in cents" in memory_md(project)
    until(lambda: "The last dream was" in status(project))


def test_session_end__two_at_once__dream_once_and_lose_nothing(project):
    ends = [session(project, n, f"DECISION: the port of service {n} is 80{n}", **AUTO) for n in (1, 2)]
    assert [end() for end in ends] == [0, 0]
    until(lambda: memory_md(project))
    with Holdfast.open(project) as memory:
        until(lambda: all(run.reason[:20] != "The run has not fini" for run in memory.dreams()))
        done = [run for run in memory.dreams() if run.status == "done"]
        assert len(done) == 1
        memory.deep_dream(force=True)
    assert all(f"service {n}" in memory_md(project) for n in (1, 2))


def test_background__calls_of_the_day_are_used_up__rest_waits_for_another_day(project, clock):
    answers = [
        json.dumps({"facts": [{"content": f"Fact {n}", "category": "context", "confidence": 0.9}]}) for n in "123"
    ]
    with ModelServer().answers(*answers) as server:
        settings(project, server, when="flush", calls=1)
        for number in (1, 2):
            session(project, number, f"This is number {number}", HOLDFAST_PLUGINS__OPENAI__ENABLED="false")()
        for day, count in ((0, 1), (0, 1), (-1, 2), (5, 3)):
            clock.tick(days=day)
            with Holdfast.open(project, clock=clock) as memory:
                memory.session("more").add("user", f"And {day}")
                memory.session("more").add("assistant", "Understood.")
                memory.extract_turns()
            assert len(server.requests) == count
        assert "1 calls a day" in status(project)


def test_queue__of_a_plugin_that_another_process_has__is_left_alone(project):
    class Own:
        @hookimpl
        def on_extract(self, turns: Any) -> Extraction:
            return Extraction(facts=[FactCandidate(content="Said here", category="context", confidence=0.9)])

    class Other(Own):
        @hookimpl
        def on_extract(self, turns: Any) -> Extraction:
            return Extraction()

    with Holdfast.open(project, plugins=[("own", Own())]) as memory:
        memory.services.hurried = True
        memory.session("s").add("user", "hello")
        memory.session("s").flush()
    with Holdfast.open(project, plugins=[("other", Other())]) as memory:
        memory.extract_turns()
    with Holdfast.open(project, plugins=[("own", Own())]) as memory:
        assert len(memory.extract_queued().added) == 1
