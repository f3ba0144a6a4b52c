"""Workflows over the three files, ended by what the real hooks saw of test commands and their exit status."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.plugins.agents.hooking import NOTHING, Answered, Client

from holdfast import Holdfast
from holdfast.errors import Refused
from holdfast_app.workflow.three import Deliverable, MemoryUpdate

CLIENTS = ("claude-code", "codex", "opencode")
NO_CHANGE = ["active_context", "patterns", "progress"]


@pytest.fixture
def three(project: Path) -> Callable[[], dict[str, str]]:
    """The three files of a project in which the workflow ``build`` was started: ``three()`` reads them."""
    with Holdfast.open(project) as memory:
        memory.create_three_files()
        memory.workflow("build").start()
    return lambda: {p.stem: p.read_text("utf-8") for p in (project / ".holdfast" / "context").glob("*.md")}


def is_open(project: Path, name: str = "build") -> bool:
    with Holdfast.open(project) as memory:
        return memory.workflow(name).is_open


def ran(client: Client, command: str, status: int, **more: Any) -> None:
    """A command of the shell, as the client tells its hooks of it."""
    key = f"t-{command}-{status}-{len(client.said())}"
    if client.name == "opencode":
        told = {"tool": "bash", "callID": key, "args": {"command": command}, "output": "out", "exit": status}
        answer = client.send({"event": "tool", "sessionID": client.native, "directory": str(client.project), **told})
    elif client.name == "codex":
        output = f"Exit code: {status}\nWall time: 0.1 seconds\nOutput:\nout\n"
        answer = client.hook(
            "PostToolUse",
            tool_name="Bash",
            tool_input={"command": command},
            tool_response=output,
            tool_use_id=key,
            turn_id="1",
        )
    elif status:
        answer = client.hook(
            "PostToolUseFailure",
            tool_name="Bash",
            tool_input={"command": command, "description": "Run it"},
            error=f"Exit code {status}\nout",
            is_interrupt=False,
            tool_use_id=key,
        )
    else:
        response = {"stdout": "out", "stderr": "", "interrupted": False, "isImage": False, **more}
        answer = client.hook(
            "PostToolUse",
            tool_name="Bash",
            tool_input={"command": command, "description": "Run it"},
            tool_response=response,
            tool_use_id=key,
        )
    assert answer == NOTHING


def ask(client: Client, prompt: str = "Make the login work") -> None:
    client.hook("UserPromptSubmit", prompt=prompt, prompt_id="p")


def stop(client: Client, answer: str = "Done, the login works.") -> Answered:
    return client.hook("Stop", last_assistant_message=answer, prompt_id="p")


@pytest.mark.req("R213", "R216", "R238")
@pytest.mark.parametrize("name", CLIENTS)
def test_stop__tests_passed__build_has_ended_with_the_command_as_evidence(
    name: str, project: Path, three: Callable[[], dict[str, str]]
) -> None:
    client = Client(project, name)
    ask(client)
    ran(client, "pytest -q", 0)
    told = stop(client)
    assert "The workflow build has ended: `pytest -q` ended with exit status 0." in told.stdout + told.stderr
    assert not is_open(project)
    progress = three()["progress"]
    assert "- Make the login work (`pytest -q` ended with exit status 0)" in progress
    assert progress.count("pytest -q") == 2
    again = three()
    assert stop(client) == NOTHING
    assert three() == again


@pytest.mark.parametrize("name", CLIENTS)
def test_stop__last_run_failed__stays_open_whatever_is_claimed_and_the_end_records_it(
    name: str, project: Path, three: Callable[[], dict[str, str]]
) -> None:
    client = Client(project, name)
    before = three()
    ask(client)
    ran(client, "pytest -q", 0)
    ran(client, "pytest -q tests/test_login.py", 1)
    stop(client, "Done, all tests pass.")
    assert is_open(project)
    assert three() == before
    with Holdfast.open(project) as memory, pytest.raises(Refused, match="ended with exit status 1"):
        memory.workflow("build").end(MemoryUpdate(no_change=NO_CHANGE), confirmed=["tests-passed"])
    client.hook("SessionEnd" if name != "opencode" else "dispose", reason="exit")
    assert is_open(project)
    deferred = three()["progress"].partition("## Deferred Items")[2]
    assert "- Make the login work (not verified: `pytest -q tests/test_login.py` ended with exit status 1)" in deferred
    assert "pytest" not in three()["progress"].partition("## Deferred Items")[0]


def test_stop__failing_test_passes_later__build_has_ended(project: Path, three: Callable[[], dict[str, str]]) -> None:
    client = Client(project)
    ask(client)
    ran(client, "pytest tests/test_login.py", 1)
    ran(client, "pytest -q", 0)
    stop(client)
    assert not is_open(project)
    assert "exit status 1" not in three()["progress"]


@pytest.mark.parametrize(
    ("command", "more"),
    [
        ("pytest -q | tail -3", {}),
        ("pytest -q; echo done", {}),
        ("pytest -q\necho done", {}),
        ("pytest || true", {}),
        ("pytest --collect-only", {}),
        ("echo pytest", {}),
        ("pytest -q", {"backgroundTaskId": "b1"}),
        ("pytest -q", {"interrupted": True}),
        ("ruff check .", {}),
    ],
)
def test_stop__exit_status_is_not_that_of_a_test__nothing_is_claimed(
    command: str, more: dict[str, Any], project: Path, three: Callable[[], dict[str, str]]
) -> None:
    client = Client(project)
    ask(client)
    ran(client, command, 0, **more)
    assert stop(client, "All 12 tests passed.") == NOTHING
    assert is_open(project)


def test_stop__codex_names_no_exit_status__nothing_is_claimed(
    project: Path, three: Callable[[], dict[str, str]]
) -> None:
    client = Client(project, "codex")
    ask(client)
    client.hook(
        "PostToolUse", tool_name="Bash", tool_input={"command": "pytest"}, tool_response="12 passed\n", tool_use_id="t"
    )
    stop(client)
    assert is_open(project)


def rollout(client: Client, call: str, output: object) -> None:
    """A row of Codex's transcript for the output of a call."""
    client.write(
        {"type": "response_item", "payload": {"type": "function_call_output", "call_id": call, "output": output}}
    )


@pytest.mark.parametrize(
    "output",
    [
        "Chunk ID: 07b9b5\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\n12 passed\n",
        '{"output": "12 passed", "metadata": {"exit_code": 0, "duration_seconds": 0.1}}',
    ],
)
def test_stop__codex_names_the_exit_status_in_its_transcript__build_has_ended_with_it_as_evidence(
    project: Path, three: Callable[[], dict[str, str]], output: str
) -> None:
    client = Client(project, "codex")
    ask(client)
    told = {"tool_name": "Bash", "tool_input": {"command": "pytest -q"}, "tool_response": "12 passed\n"}
    client.hook("PostToolUse", **told, tool_use_id="call_1")
    rollout(client, "call_1", output)
    assert "build has ended: `pytest -q` ended with exit status 0" in stop(client).stdout
    assert not is_open(project)
    assert "`pytest -q`" in three()["progress"]


def test_stop__codex_names_a_failure_or_another_call__nothing_is_claimed(
    project: Path, three: Callable[[], dict[str, str]]
) -> None:
    client = Client(project, "codex")
    ask(client)
    told = {"tool_name": "Bash", "tool_input": {"command": "pytest -q"}, "tool_response": "1 failed\n"}
    client.hook("PostToolUse", **told, tool_use_id="call_1")
    rollout(client, "call_2", "Process exited with code 0\nOutput:\n")
    stop(client)
    assert is_open(project)
    rollout(client, "call_1", "Process exited with code 1\nOutput:\n1 failed\n")
    for _ in range(2):
        stop(client)
    assert is_open(project)
    [journal] = (client.state / "sessions").glob("*.jsonl")
    assert journal.read_text().count('"kind":"exit"') == 1


def test_stop__agent_goes_on__ends_when_it_is_done(project: Path, three: Callable[[], dict[str, str]]) -> None:
    client = Client(project)
    ask(client)
    ran(client, "npm test", 0)
    stop(client, "The tests pass. Next, I'll add the logout button.")
    assert is_open(project)
    stop(client, "Done, the logout button is there as well.")
    assert not is_open(project)


def test_stop__file_edited_after_the_tests__waits_for_another_run(
    project: Path, three: Callable[[], dict[str, str]]
) -> None:
    client = Client(project)
    ask(client)
    ran(client, "pytest", 0)
    for name in ("login.py", "README.md"):
        edit = {"file_path": str(project / name), "old_string": "a", "new_string": "b"}
        client.hook("PostToolUse", tool_name="Edit", tool_input=edit, tool_response={"ok": True}, tool_use_id=name)
    stop(client)
    assert is_open(project)
    ran(client, "pytest", 0)
    stop(client, "Done, the tests pass with the change as well.")
    assert not is_open(project)


def test_stop__tests_ran_in_another_session__its_build_stays_open(
    project: Path, three: Callable[[], dict[str, str]]
) -> None:
    client, other = Client(project), Client(project, native="11111111-6f0e-4a4b-9f0e-2b8a0d1c7e11")
    ask(client)
    ran(client, "pytest", 0)
    ask(other, "What time is it?")
    stop(other, "Noon.")
    assert is_open(project)


def test_stop__switched_off__stays_open(project: Path, three: Callable[[], dict[str, str]]) -> None:
    (project / "holdfast.toml").write_text("[workflow]\nautomatic = false\n", "utf-8")
    client = Client(project)
    ask(client)
    ran(client, "pytest", 0)
    assert stop(client) == NOTHING
    assert is_open(project)


def test_stop__no_workflow_is_open__no_store_is_opened(project: Path) -> None:
    client = Client(project)
    ask(client)
    ran(client, "pytest", 0)
    assert stop(client) == NOTHING
    assert not list(project.glob(".holdfast/*.md"))


def test_stop__a_command_of_the_settings__counts_as_a_test(
    project: Path, three: Callable[[], dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.support.trusting import trusted

    (project / "holdfast.toml").write_text('[workflow]\ntests = ["./run-checks"]\n', "utf-8")
    client = Client(project)
    ask(client)
    ran(client, "./run-checks --fast", 0)
    stop(client)
    assert is_open(project), "a clone decides what counts as proof"
    trusted(project)
    stop(client)
    assert not is_open(project)


@pytest.mark.req("R217")
def test_debug__test_failed_and_passes_now__only_the_root_cause_has_to_be_stated(
    project: Path, three: Callable[[], dict[str, str]]
) -> None:
    with Holdfast.open(project) as memory:
        memory.workflow("debug").start()
    client = Client(project)
    ask(client, "Find out why the login hangs")
    ran(client, "pytest tests/test_hang.py", 1)
    ran(client, "pytest tests/test_hang.py", 0)
    stop(client, "The lock was taken twice; fixed.")
    assert is_open(project, "debug")
    status = [sys.executable, "-m", "holdfast", "workflow", "status", "--json"]
    told = json.loads(subprocess.run(status, cwd=project, capture_output=True, check=True, timeout=60).stdout)
    (debug,) = [one for one in told["prepared"] if one["workflow"] == "debug"]
    assert (debug["shown"], debug["missing"]) == (["regression-test"], ["root-cause-confirmed"])
    end = [sys.executable, "-m", "holdfast", "workflow", "end", "debug", "--root-cause-confirmed"]
    subprocess.run(end, cwd=project, check=True, timeout=60)
    assert not is_open(project, "debug")
    assert "`pytest tests/test_hang.py` ended with exit status 0" in three()["progress"]


def test_end__exit_status_is_stated_otherwise__observed_one_wins_and_the_words_stay(
    project: Path, three: Callable[[], dict[str, str]]
) -> None:
    with Holdfast.open(project) as memory:
        memory.workflow("review").start()
    client = Client(project)
    ask(client)
    ran(client, "pytest -q", 2)
    said = Deliverable(text="the parser is reviewed", command="pytest -q", exit_status=0)
    given = MemoryUpdate(verified_deliverables=[said], no_change=["active_context", "patterns"])
    with Holdfast.open(project) as memory:
        memory.workflow("review").end(given, confirmed=["review-complete"])
    verified, _, deferred = three()["progress"].partition("## Deferred Items")
    assert "the parser is reviewed" not in verified
    assert "the parser is reviewed (not verified: `pytest -q` ended with exit status 2)" in deferred


def test_end__agent_stated_decisions_before__they_are_in_the_update(
    project: Path, three: Callable[[], dict[str, str]]
) -> None:
    client = Client(project)
    ask(client)
    with Holdfast.open(project) as memory:
        memory.session(client.session).flush(
            {"decisions": ["Tokens live for an hour"], "next_step": "Deploy it", "curated": "none"}
        )
    ran(client, "cargo test", 0)
    stop(client)
    active = three()["active_context"]
    assert "- Tokens live for an hour" in active
    assert "- Deploy it" in active


@pytest.mark.req("R213", "R216")
@pytest.mark.parametrize("name", CLIENTS)
def test_stop__lint_type_check_build_deploy_and_commit_passed__they_are_evidence_of_the_build(
    name: str, project: Path, three: Callable[[], dict[str, str]]
) -> None:
    client = Client(project, name)
    ask(client)
    message = "git add -A && git commit -m \"$(cat <<'EOF'\nMend the login\n\nIt waits; see `login.py`.\nEOF\n)\""
    commands = ("ruff check .", "mypy --strict", "npm run build", "vercel deploy --prod", "git push", "pytest -q")
    for command in (*commands, message):
        ran(client, command, 0)
    stop(client)
    assert not is_open(project)
    progress = three()["progress"]
    assert all(f"`{command}` ended with exit status 0" in progress for command in commands)
    assert "`git commit -m message` ended with exit status 0" in progress or "Mend the login" in progress


@pytest.mark.parametrize(
    ("command", "ends", "name"),
    [("mypy --strict", False, "codex"), ("fly deploy", False, "claude-code"), ("git commit -m x", True, "opencode")],
)
def test_stop__another_command_failed__only_a_failed_check_or_deployment_keeps_the_build_open(
    command: str, ends: bool, name: str, project: Path, three: Callable[[], dict[str, str]]
) -> None:
    client = Client(project, name)
    ask(client)
    ran(client, "pytest -q", 0)
    ran(client, command, 1)
    stop(client)
    assert is_open(project) is not ends


@pytest.mark.req("R217")
@pytest.mark.parametrize(
    ("workflow", "flags", "missing", "name"),
    [
        ("discovery", "--requirements-approved", "the requirements are approved", "claude-code"),
        ("architecture", "--spec-approved", "the technical specification is approved", "codex"),
        ("review", "--review-complete", "the review is complete", "opencode"),
        ("debug", "--root-cause-confirmed", "the root cause is confirmed", "claude-code"),
    ],
)
def test_stop__condition_that_no_command_shows__is_named_with_the_command_that_states_it(
    workflow: str, flags: str, missing: str, name: str, project: Path, three: Callable[[], dict[str, str]]
) -> None:
    with Holdfast.open(project) as memory:
        memory.workflow("build").end(MemoryUpdate(no_change=NO_CHANGE), confirmed=["tests-passed"])
        memory.workflow(workflow).start()
    client = Client(project, name)
    ask(client)
    ran(client, "pytest -q", 1)
    ran(client, "pytest -q", 0)
    told = stop(client)
    wanted = f"The workflow {workflow} stays open, because no command shows that {missing}. "
    assert wanted in told.stdout + told.stderr
    assert is_open(project, workflow)
    ask(client, "What time is it?")
    assert stop(client, "Noon.") == NOTHING  # once for each turn with commands
    end = [sys.executable, "-m", "holdfast", "workflow", "end", workflow, *flags.split()]
    subprocess.run(end, cwd=project, check=True, timeout=60)
    assert not is_open(project, workflow)
    assert "`pytest -q` ended with exit status 0" in three()["progress"]
