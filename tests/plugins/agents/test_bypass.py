"""Compactions that do not ask holdfast first: saved at once, marked and named. Those that asked are never marked."""

import json
from collections.abc import Callable

import pytest
from tests.plugins.agents import golden
from tests.plugins.agents.conftest import Said
from tests.plugins.agents.hooking import NOTHING, Client, row, shrink

from holdfast_app.sessions import pastgate
from holdfast_app.sessions.pastgate import PastGate

Command = Callable[..., Said]
MARK = "compacted past the gate"


def marks(client: Client) -> list[PastGate]:
    return list(pastgate.all_of(str(client.state)))


def compacted(client: Client, summary: str = "") -> None:
    assert client.hook("PostCompact", trigger="manual", compact_summary=summary) == NOTHING


def restarted(client: Client) -> str:
    """The notice at the start after a compaction."""
    return client.hook("SessionStart", source="compact").notice


@pytest.mark.req("R083", "R166", "R184")
def test_compaction__a_module_answers_with_messages__is_saved_at_once_and_named_everywhere(
    tmp_path, monkeypatch, command
):
    """A run recorded with Claude Code 2.1.332 and a plugin whose module hooks session.compact."""
    folder = tmp_path / "run"
    folder.mkdir()
    for event, answer, run in golden.replay("claude-code-module.manual", folder):
        if event == "PostCompact":
            assert "Use SQLite for the cache" in run.notes()
        if "past the gate" in answer.notice:
            assert run.session in answer.notice
            assert event == "SessionStart"
        client = run

    assert [(one.session, one.unsaved) for one in marks(client)] == [(client.session, 4)]
    assert "X was the mod text" not in "".join(text for role, text in client.said() if role != "system")
    monkeypatch.chdir(client.project)
    assert MARK in " ".join(command("status").out.split())
    now = command("status", "--json").json
    assert now["sessions"][0]["past_gate_at"]
    assert MARK in now["notices"][0]
    assert MARK in command("report").out
    assert MARK in command("doctor", "--json").out


@pytest.mark.parametrize("reports", [("start", "post"), ("post", "start"), ("post", "post")])
def test_compaction__past_the_gate__is_saved_and_marked_once(reports, project):
    client = Client(project)
    client.say("Fix the flaky login test", "Decision: the clock is injected.")
    told = ""
    for report in reports:
        if report == "post":
            compacted(client)
        else:
            told = restarted(client)

    assert "the clock is injected" in client.notes()
    assert [one.unsaved for one in marks(client)] == [2]
    assert (MARK in told) is ("start" in reports)


def test_compaction__that_asked__is_not_marked(project):
    client = Client(project)
    client.say("Fix the flaky login test", "Done.")
    for start_first in (True, False):
        assert client.compact() == NOTHING
        if start_first:
            assert MARK not in restarted(client)
        client.write(row("assistant", f"A row that came late, {start_first}.", f"late-{start_first}"))
        compacted(client, "## Goal")
        compacted(client, "## Goal")  # both scopes are installed
        if not start_first:
            assert MARK not in restarted(client)
    client.say("Next", "Done too.")
    assert client.compact() == NOTHING
    compacted(client, "")  # a module changed the client's own result

    assert marks(client) == []


def named(command: Command) -> list[tuple[str, str]]:
    told = command("doctor", "--json").json["checks"]
    return [(one["outcome"], one["message"]) for one in told if "session.compact" in one["message"]]


@pytest.mark.parametrize("place", ["cache", "directory", "project", "config"])
def test_doctor__plugin_whose_module_hooks_compaction__is_named(place, command, project, home, tmp_path, monkeypatch):
    config = home / ".claude"
    if place == "config":
        config = tmp_path / "elsewhere"
        monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(config))
    command("install", "claude-code")
    settings = project / ".claude/settings.json"
    table = json.loads(settings.read_text())
    table["enabledPlugins"] = {"shrink@mk": True}
    at = config / "plugins/cache/mk/shrink/0.1.0"
    if place == "directory":
        at = tmp_path / "market/plugins/shrink"
        source = {"source": "directory", "path": str(tmp_path / "market")}
        table["extraKnownMarketplaces"] = {"mk": {"source": source}}
    if place == "project":
        at = project / ".claude/plugins/shrink"
    settings.write_text(json.dumps(table))
    shrink(at, "({messages: []})")

    assert [(outcome, "shrink" in message) for outcome, message in named(command)] == [("warn", True)]

    table["enabledPlugins"] = {"shrink@mk": False}
    settings.write_text(json.dumps(table))
    assert [outcome for outcome, _ in named(command)] == ["ok"]
