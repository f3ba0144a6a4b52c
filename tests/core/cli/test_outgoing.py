"""Whatever command or tool is asked, a secret stored by hand stays inside; and no stored id of a session holds one."""

import json
import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.support import processes

from holdfast import Holdfast
from holdfast_app.memorytool import MemoryTool
from holdfast_mcp import searching, tools

from .test_commands import COMMANDS

#: Made up, in the published form of a token.
SECRET = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
MARK = "[REDACTED:"

#: Every command, with words that make it say as much as it can. Those that only write, ask or serve are in SILENT.
ASKED: dict[str, list[list[str]]] = {
    "load": [[], ["--json"], ["--max-chars", "9000"]],
    "prompt": [[], ["--fenced"], ["--json"]],
    "show": [[], ["--json"], ["MEMORY.md"], ["USER.md", "--json"], ["PROFILE.md"], ["continuity/active.md"]],
    "report": [[], ["--json"], ["--days", "3"], ["--morning"], ["--morning", "--json"]],
    "dream": [["--dry-run", "--force"], ["--dry-run", "--force", "--json"], ["--log"], ["--log", "--json"], ["review"]],
    "workflow": [["start", "build"], ["start", "build", "--json"], ["status"], ["status", "--json"]],
    "facts": [[], ["--json"], ["export"], ["export", "--json"], ["log"], ["log", "--json"], ["show", "{fact}"]],
    "remember": [["Deploy with {secret}"], ["Deploy with {secret}", "--json"]],
    "validate": [[]],
    "status": [[]],
    "spool": [["--json"], ["send", "--json"]],
    "sessions": [[], ["show", "s-{secret}"]],
    "doctor": [[]],
    "outbox": [[]],
    "plugins": [[]],
    "layers": [[]],
    "config": [[]],
    "retention": [["--dry-run"]],
    "scrub": [["--dry-run", "--json"]],
    "add": [["user", "It is {secret}", "--session", "s-{secret}", "--json"]],
    "flush": [["--session", "s-{secret}", "--json"], ["--session", "s-{secret}"], ["--session", "default", "--json"]],
    "end": [["--session", "s-{secret}"], ["--session", "s-{secret}", "--json"]],
    "override": [["--session", "s-{secret}", "--reason", "because {secret}"]],
    "extract": [["--queue"]],
    "capture": [["issue", "It leaks {secret}"], ["issue", "It leaks {secret}", "--json"]],
    "update": [["--no-change", "patterns", "--focus", "It is {secret}"]],
    "purge": [["--session", "s-{secret}", "--dry-run"]],
    "migrate": [["--to", "sqlite"]],
    "work": [[], ["--all"], ["--json"], ["show", "default"], ["close", "default", "--because", "it holds {secret}"]],
    "timeline": [[]],
    "why": [
        ["deploy token"],
        ["MEMORY.md:3"],
        ["{secret}"],
        ["{fact}"],
        ["{fact}", "--json"],
        ["MEMORY.md:3", "--json"],
    ],
    "diff": [[]],
    "verify": [[]],
    "explain": [[]],
    "search": [["deploy token"], ["deploy token", "--json"], ["{secret}"], ["{secret}", "--json"]],
}
#: Those that change what is stored.
WRITING = {
    "add", "capture", "dream", "end", "extract", "flush", "migrate", "override", "remember", "update", "validate",
    "work", "workflow",
}  # fmt: skip
SILENT = {
    "demo", "init", "install", "uninstall", "hook", "mcp", "plugin", "route", "auth", "completion", "trust",
    "web", "merge-driver", "export", "import", "gitea", "audit",
}  # fmt: skip


@pytest.fixture
def planted(run, project):
    """A project with the secret written by hand into every document and into the facts file."""
    assert run("init", "--three-files").code == 0
    assert run("remember", "PLANTED").code == 0
    assert run("add", "user", "Fix it", "--session", "default").code == 0
    said = ("--objective", "PLANTED", "--next-step", "PLANTED", "--curated", "none")
    assert run("flush", "--session", "default", *said).code == 0
    folder = project / ".holdfast"
    (folder / "MEMORY.md").write_text("# Memory\n\n- The deploy token is PLANTED\n")
    (folder / "USER.md").write_text("# User\n\n- The token is PLANTED\n")
    (folder / "PROFILE.md").write_text("# Profile\n\n## Work\n\n- Uses PLANTED\n")
    (folder / "memories").mkdir(exist_ok=True)
    (folder / "memories/tips.md").write_text("Use PLANTED\n")
    (folder / f"memories/{SECRET}.md").write_text("The deploy token works\n")
    for path in (folder / "context").glob("*.md"):
        path.write_text(path.read_text().replace("\n\n", "\n\n- PLANTED\n\n", 1))
    for path in folder.rglob("*"):
        if path.is_file() and "state" not in path.parts and path.suffix in (".md", ".jsonl"):
            text = path.read_text().replace("PLANTED", SECRET)
            path.write_text(re.sub(r', "crc": "[0-9a-f]{8}"', "", text))  # as who edits a line of the facts does
    return project


def test_commands__all_of_them__are_asked_here_or_say_nothing_stored():
    assert set(COMMANDS) - SILENT == set(ASKED)


@pytest.mark.parametrize("writes", [False, True])
def test_command__secret_written_by_hand__is_in_no_output(run, planted, writes):
    fact = next(word for word in run("facts", "export").out.split('"') if word.startswith("fact_"))
    for command in sorted(name for name in ASKED if (name in WRITING) is writes):
        for words in ASKED[command]:
            result = run(command, *(word.format(secret=SECRET, fact=fact) for word in words))
            assert SECRET not in result.out + result.err, (command, words)


def test_error__quotes_a_secret_of_the_command_line_or_a_variable__shows_it_masked(run, project, monkeypatch):
    for words in ((SECRET,), ("status", f"--tokn={SECRET}"), ("facts", "show", SECRET), ("import", SECRET)):
        result = run(*words, "--json", "--debug")
        assert SECRET not in result.out + result.err, words
        assert MARK in result.err, words
    monkeypatch.setenv("HOLDFAST_FLUSH__POLICY", SECRET)
    assert MARK in run("status").err


def test_command__secret_written_by_hand__is_masked_and_the_rest_is_there(run, planted):
    for words in (("load",), ("show", "MEMORY.md"), ("facts",), ("workflow", "start", "build"), ("report",)):
        assert MARK in run(*words).out, words


def test_tools__secret_written_by_hand__is_in_no_answer(planted, monkeypatch):
    with Holdfast.open(planted) as memory:
        tool = MemoryTool(memory)
        assert MARK in tool.answer({"command": "view", "path": "/memories/tips.md"}).text
        assert SECRET not in tool.answer({"command": "view", "path": "/memories/tips.md"}).text
        created = tool.answer({"command": "create", "path": f"/memories/{SECRET}.md", "file_text": "x"})
        assert created.failed
        assert SECRET not in str(memory.load())
        assert SECRET not in str(memory.workflow("build").start())
        assert SECRET not in memory.prompt()
        assert SECRET not in str(list(memory.facts.export()))
    caller = tools.Caller(client="test", session="", started=datetime.now(UTC))
    given: dict[str, dict[str, Any]] = {
        "search_facts": {"query": "g"},
        "remember": {"content": f"It is {SECRET}"},
        "flush": {"session": f"s-{SECRET}", "objective": SECRET},
        "forget": {"fact_id": "fact_00000000"},
    }
    for name in tools.TOOLS:
        try:
            answer = tools.call(str(planted), name, given.get(name, {}), caller)
        except Exception as error:
            answer = str(error)
        assert SECRET not in answer, name
    for name in searching.document_names(str(planted)):
        assert SECRET not in searching.read_document(str(planted), searching.PREFIX + name)


def test_session__secret_as_its_id__is_in_no_file_and_no_name(run, project):
    session = f"s-{SECRET}"
    assert run("add", "user", "Hello", "--session", session, "--id", SECRET).code == 0
    assert run("flush", "--session", session, "--curated", "none").code == 0
    assert run("end", "--session", session).code == 0
    with Holdfast.open(project) as memory:
        assert memory.session(session).id == memory.sessions()[0]
        assert len(memory.sessions()) == 1
    is_nowhere(project)


def is_nowhere(project: Path) -> None:
    for folder, _, names in os.walk(project):
        for name in names:
            assert SECRET.lower() not in name.lower()
            assert SECRET not in Path(folder, name).read_text(errors="replace"), name


def test_hook__secret_as_the_session_of_an_event__is_in_no_file_and_no_name(project):
    payload = {"session_id": SECRET, "sessionID": SECRET, "prompt": "Hello", "cwd": str(project), "text": "Hello"}
    for client, name in (("claude-code", "UserPromptSubmit"), ("codex", "SessionStart"), ("opencode", "chat.message")):
        data = json.dumps({**payload, "hook_event_name": name, "event": name})
        processes.run("hook", client, cwd=project, data=data)
    is_nowhere(project)
