"""Claude Agent SDK needs no guard of its own: it loads the project's hooks. The bundled program runs, offline."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.plugins.agents.test_real_clients import model, spoil
from tests.plugins.loops.test_frameworks import journal_of

from holdfast import Holdfast

__all__ = ["model"]
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.req("R184", "R166")
def test_claude_agent_sdk__installed_project_and_a_broken_store__journals_and_does_not_compact(
    project, tmp_path, model, monkeypatch
):
    pytest.importorskip("claude_agent_sdk")
    from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, query

    for name in [name for name in os.environ if name.startswith(("CLAUDE", "ANTHROPIC", "HOLDFAST_", "XDG_"))]:
        monkeypatch.delenv(name)
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    monkeypatch.setenv("HOME", str(home))  # it has the key that marks the project's state as this user's
    environment = {
        "HOME": str(home),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "ANTHROPIC_BASE_URL": model.url,
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "IS_SANDBOX": "1",
    }
    trusted = {"projects": {str(project): {"hasTrustDialogAccepted": True}}}
    (home / ".claude.json").write_text(json.dumps(trusted))
    command = [sys.executable, "-m", "holdfast_memory", "install", "claude-code"]
    subprocess.run(command, cwd=project, env={**os.environ, **environment}, check=True, capture_output=True)

    async def say(text: str, **options: Any) -> str:
        given = ClaudeAgentOptions(cwd=str(project), env=environment, **options)
        assert given.setting_sources is None, "the SDK's default loads the project's settings"
        session = ""
        async for message in query(prompt=text, options=given):
            if isinstance(message, ResultMessage):
                session = message.session_id
        return session

    session = asyncio.run(say("Fix the login test"))
    with Holdfast.open(project) as memory:
        said = journal_of(memory, f"claude-code-{session}")
    assert said[0] == ("user", "", "Fix the login test")
    assert said[-1][0] == "assistant"
    mend = spoil(project)
    asyncio.run(say("/compact", resume=session))
    assert model.summaries == 0
    mend()
    asyncio.run(say("/compact", resume=session))
    assert model.summaries == 1
