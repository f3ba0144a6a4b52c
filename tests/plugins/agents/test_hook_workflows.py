"""Open workflows at the end of a client's session."""

import pytest
from tests.plugins.agents.hooking import Client

from holdfast import Holdfast


@pytest.mark.parametrize("name", ["claude-code", "opencode"])
def test_session_end__workflow_is_open__is_named_and_stays_open(name, project):
    with Holdfast.open(project) as memory:
        memory.create_three_files()
        memory.workflow("build").start()
    client = Client(project, name)
    before = {p.name: p.read_bytes() for p in (project / ".holdfast" / "context").glob("*.md")}
    client.hook("UserPromptSubmit", prompt="Make the login work", prompt_id="p")
    client.hook("Stop", last_assistant_message="Done, all tests pass.", prompt_id="p")
    told = client.hook("SessionEnd" if name != "opencode" else "dispose", reason="exit")
    assert (
        "unfinished at the end of this session: build. Run `holdfast workflow end build`." in told.stdout + told.stderr
    )
    with Holdfast.open(project) as memory:
        assert memory.unfinished_workflows() == ("build",)
    assert {p.name: p.read_bytes() for p in (project / ".holdfast" / "context").glob("*.md")} == before
