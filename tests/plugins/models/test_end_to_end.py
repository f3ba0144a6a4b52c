"""From a recorded conversation to a prompt, as a user does it: the command line, the real SDK, a model on loopback."""

from __future__ import annotations

import json
import os
from importlib.resources import files
from pathlib import Path

import pytest
from tests.support import processes
from tests.support.model_server import ModelServer, Reply
from tests.support.trusting import trusted

ANSWER = {
    "facts": [
        {"content": "Always uses pytest -q, never unittest", "category": "preference", "confidence": 0.95},
        {"content": "Issue #214: customers charged twice since 2.14", "category": "context", "confidence": 0.9},
        {"content": "Perhaps likes small commits", "category": "preference", "confidence": 0.3},
    ],
    "profile": {"work": "Builds a payment service.", "topOfMind": "The double charges."},
    "summary": "Found and fixed the double charge.",
}


def holdfast(project: Path, *words: str, code: int = 0) -> str:
    """What the command prints; it must end with ``code``."""
    env = {**os.environ, "HOLDFAST_OPENAI_KEY": "key-123", "NO_PROXY": "127.0.0.1", "PYTHONUTF8": "1"}
    done = processes.run(*words, cwd=project, env=env)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def transcript() -> str:
    """The session that ``holdfast demo`` shows."""
    return str(files("holdfast_cli.demo") / "session.jsonl")


@pytest.mark.req("R033", "R034", "R039", "R062", "R063")
def test_extract__demo_transcript_and_a_model__its_facts_are_in_the_prompt(project: Path, transcript: str) -> None:
    pytest.importorskip("openai")
    with ModelServer().answers(json.dumps(ANSWER)) as server:
        (project / "holdfast.toml").write_text(
            f'[plugins.openai]\nmodel = "small"\nbase_url = "{server.url}/v1"\n[plugins.offline]\nenabled = false\n',
            encoding="utf-8",
        )
        trusted(project)
        told = json.loads(holdfast(project, "extract", "--transcript", transcript, "--json"))
        sent = json.dumps([request.body for request in server.requests])
    assert [row["outcome"] for row in told["candidates"]][:3] == ["added", "added", "below threshold"]
    assert len(told["added"]) == 2
    assert told["failures"] == []
    assert "remember: we always use pytest -q, never unittest" in sent
    assert "wJalrXUtnFEM" not in sent, "a secret of the transcript was shown to the model"
    prompt = holdfast(project, "prompt")
    for text in (
        "Always uses pytest -q",
        "customers charged twice",
        "Builds a payment service.",
        "The double charges.",
    ):
        assert text in prompt
    assert "small commits" not in prompt


@pytest.mark.req("R033")
def test_extract__model_fails_then_answers__what_waited_is_in_the_prompt(project: Path, transcript: str) -> None:
    pytest.importorskip("openai")
    with ModelServer().answers(Reply(status=401), json.dumps(ANSWER)) as server:
        (project / "holdfast.toml").write_text(
            f'[plugins.openai]\nmodel = "small"\nbase_url = "{server.url}/v1"\nmax_retries = 0\n'
            "[plugins.offline]\nenabled = false\n",
            encoding="utf-8",
        )
        trusted(project)
        failed = json.loads(holdfast(project, "extract", "--transcript", transcript, "--json", code=1))
        assert failed["queued"] > 0
        assert holdfast(project, "prompt") == ""
        holdfast(project, "extract", "--queued")
    assert "Always uses pytest -q" in holdfast(project, "prompt")
