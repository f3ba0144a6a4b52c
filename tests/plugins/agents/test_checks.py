"""What ``holdfast doctor`` says of the clients: installed, trusted, running, and what goes around the hooks."""

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.plugins.agents.conftest import Said

from holdfast_agents.records import heartbeat
from holdfast_agents.setup import claude_code
from holdfast_agents.setup.client import AGREED
from holdfast_agents.setup.clients import CLIENTS, where

Command = Callable[..., Said]
HOUR_S = 3600.0
CLAUDE, CODEX = ".claude/settings.json", ".codex/hooks.json"


def lines(command: Command, client: str) -> list[tuple[str, str]]:
    """Outcome and message of each line about a client."""
    return [(c["outcome"], c["message"]) for c in command("doctor", "--json").json["checks"] if c["name"] == client]


def outcome(told: list[tuple[str, str]], words: str) -> str:
    """Of the one line with these words."""
    found = [result for result, message in told if words in message]
    assert len(found) == 1, told
    return found[0]


def trust(home: Path, project: Path, key: str = "pre_compact:0:0") -> None:
    """What Codex writes when its user trusts a folder and its hooks."""
    path = home / ".codex/config.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(
        f'[projects."{project}"]\ntrust_level = "trusted"\n'
        f'[hooks.state."{project}/.codex/hooks.json:{key}"]\ntrusted_hash = "sha256:aa"\n'
    )


@pytest.fixture
def guarded(command, project, home) -> Command:
    """All three clients, installed, trusted and seen to run."""
    for client in CLIENTS:
        assert command("install", client).code == 0
        heartbeat.beat(str(project / ".holdfast/state"), client, "Stop", "s1")
    trust(home, project)
    return command


@pytest.mark.req("R184")
@pytest.mark.parametrize("client", CLIENTS)
def test_checks__guarded_and_running__all_is_well_and_the_ways_around_are_named(guarded, client):
    told = lines(guarded, client)
    assert {result for result, _ in told} == {"ok"}, told
    assert outcome(told, "installed") == "ok"
    if CLIENTS[client].holds != AGREED:
        assert outcome(told, "its hooks run: Stop, just now") == "ok"
    around = next(message for _, message in told if "; not covered: " in message)
    wanted = {
        "claude-code": ("/clear", "--bare", "--safe-mode", "disableAllHooks", "not trusted", "DISABLE_COMPACT=1"),
        "codex": ("does not trust", "cannot be switched off", "`codex exec` says only `turn interrupted`"),
        "pi": ("does not trust", "--no-extensions", "subfolder"),
        "opencode": ("git worktree", "--pure"),
        "kilo": ("git worktree", "--pure"),
        "qwen": ("disableAllHooks", "between two tool calls"),
        "kimi": ("a tool's long result",),
    }
    assert [word for word in wanted.get(client, ("git worktree",)) if word not in around] == []
    assert guarded("doctor").code == 0


@pytest.mark.parametrize(
    ("client", "old", "new", "told"),
    [("kimi", '"PreCompact"', '"Stop"', "differs"), ("droid", "false", "true", "CheckEnabled to false")],
)
def test_checks__what_holds_the_client_was_changed__fails(client, old, new, told, guarded, project):
    place = CLIENTS[client].needed(where(str(project), "project")).places[0]
    Path(place.path).write_text(Path(place.path).read_text().replace(old, new))
    assert outcome(lines(guarded, client), told) == "fail"


@pytest.mark.parametrize(
    ("key", "managed"), [("disableAllHooks", False), ("disableAllHooks", True), ("allowManagedHooksOnly", True)]
)
def test_checks__settings_switch_all_hooks_off__fails(key, managed, guarded, project, tmp_path, monkeypatch):
    file = tmp_path / "managed.json" if managed else project / ".claude/settings.local.json"
    monkeypatch.setattr(claude_code, "MANAGED", (str(tmp_path / "managed.json"),))
    file.write_text(json.dumps({key: True}))
    assert outcome(lines(guarded, "claude-code"), f"`{key}` in ") == "fail"


@pytest.mark.req("R184")
@pytest.mark.parametrize(
    ("script", "told"),
    [("exit 0\n", "differs from what"), ("", "is missing or empty"), (None, "is missing")],
)
@pytest.mark.parametrize(
    ("name", "result"), [("hooks/holdfast-guard.sh", "fail"), ("skills/holdfast-gate/hooks/compact.js", "warn")]
)
def test_checks__guard_script_or_module_was_changed_or_removed__told_until_it_is_installed_again(
    guarded, project, script, told, name, result
):
    """Only the settings were compared, so a script that allows everything was reported as installed."""
    path = project / ".claude" / name
    path.unlink() if script is None else path.write_text(script)
    assert outcome(lines(guarded, "claude-code"), f"{path.name} {told}") == result
    path.unlink(missing_ok=True)
    assert guarded("install", "claude-code").code == 0
    assert {result for result, _ in lines(guarded, "claude-code")} == {"ok"}


def transcript(client: str, home: Path, project: Path) -> Path:
    if client == "claude-code":
        path = home / ".claude/projects" / re.sub(r"[^A-Za-z0-9]", "-", str(project)) / "s1.jsonl"
    else:
        path = home / ".codex/sessions/2026/11/22/rollout-s1.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"type": "session_meta", "payload": {"cwd": str(project)}}) + "\n")
    return path


@pytest.mark.req("R172")
@pytest.mark.parametrize("client", ["claude-code", "codex"])
def test_checks__the_client_went_on_without_its_hooks__fails(guarded, home, project, client):
    later = (time.time() + HOUR_S, time.time() + HOUR_S)
    elsewhere = transcript(client, home, project.parent / f"{project.name}-2")
    os.utime(elsewhere, later)
    assert outcome(lines(guarded, client), "its hooks run") == "ok", "another project's conversation"
    shutil.rmtree(elsewhere.parent)
    path = transcript(client, home, project / "below")
    assert outcome(lines(guarded, client), "its hooks run") == "ok"
    os.utime(path, later)
    assert outcome(lines(guarded, client), "its hooks last ran") == "fail"
    assert guarded("doctor").code == 1


def below(project: Path) -> Path:
    folder = project / "packages/a"
    folder.mkdir(parents=True)
    return folder


@pytest.mark.req("R184")
def test_checks__in_a_subfolder__claude_code_started_there_is_unguarded_and_the_others_are_not(
    guarded, project, monkeypatch
):
    folder = below(project)
    monkeypatch.chdir(folder)
    told = lines(guarded, "claude-code")
    assert outcome(told, f"started in this folder ({folder}) runs none of this project's hooks") == "fail"
    assert guarded("doctor").code == 1
    assert "holdfast install claude-code --scope user" in guarded("doctor").out
    for client in ("codex", "opencode"):
        assert {result for result, _ in lines(guarded, client)} == {"ok"}
    assert any("a start in a subfolder" in message for _, message in lines(guarded, "claude-code"))
    guarded("install", "claude-code", "--scope", "user")
    assert not any("a start in a subfolder" in message for _, message in lines(guarded, "claude-code"))


@pytest.mark.parametrize("client", [one for one in CLIENTS if CLIENTS[one].holds != AGREED and one != "kimi"])
def test_checks__in_a_git_worktree_without_the_settings__fails_for_each_client(
    guarded, project, tmp_path, monkeypatch, client
):
    worktree = git_worktree(project, tmp_path)
    monkeypatch.chdir(worktree)
    assert outcome(lines(guarded, client), "runs none of this project's hooks") == "fail"
    (worktree / "deep").mkdir()
    for name in (CLIENTS[one].needed(where(str(project), "project")).places[0].shown for one in CLIENTS):
        (worktree / name).parent.mkdir(parents=True, exist_ok=True)
        (worktree / name).write_bytes((project / name).read_bytes())
    if CLIENTS[client].reads_parents:
        monkeypatch.chdir(worktree / "deep")
    assert "fail" not in {result for result, _ in lines(guarded, client)}


def git_worktree(project: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "worktree"
    git = ["git", "-C", str(project), "-c", "user.name=n", "-c", "user.email=n@example.org"]
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "x"], ["worktree", "add", "-q", str(folder)]):
        subprocess.run([*git, *words], check=True, capture_output=True)
    return folder


def _hook(event: str) -> Callable[[Any], Any]:
    return lambda settings: settings["hooks"][event][0]["hooks"][0]


@pytest.mark.parametrize(
    ("name", "change", "told", "result"),
    [
        (CLAUDE, lambda s: s["hooks"].pop("PreCompact"), "lacks the hook for PreCompact", "fail"),
        (CODEX, lambda s: s["hooks"].pop("PreCompact"), "lacks the hook for PreCompact", "fail"),
        (CODEX, lambda s: s["hooks"].pop("Stop"), "lacks the hook for Stop", "warn"),
        (CLAUDE, lambda s: _hook("PreCompact")(s).update(command="holdfast hook claude-code"), "a different", "fail"),
        (CLAUDE, lambda s: s["hooks"]["PreCompact"][0].update(matcher="manual"), "a different hook for", "fail"),
        (CLAUDE, lambda s: _hook("PreCompact")(s).update(onFailure="continue"), "a different hook for", "fail"),
        (CLAUDE, lambda s: _hook("PreCompact")(s).pop("onFailure"), "installed in this project's settings", "ok"),
        (CLAUDE, lambda s: _hook("Stop")(s).update(timeout=1), "a different hook for", "warn"),
        ("opencode.json", lambda s: s.pop("agent"), "does not set agent.compaction.disable", "fail"),
    ],
)
def test_checks__settings_were_changed__told(guarded, project, name, change, told, result):
    settings = json.loads((project / name).read_text())
    change(settings)
    (project / name).write_text(json.dumps(settings))
    client = {CLAUDE: "claude-code", CODEX: "codex"}.get(name, "opencode")
    assert outcome(lines(guarded, client), told) == result


@pytest.mark.req("R184")
def test_checks__opencode_2_is_installed__is_reported_as_unguarded(guarded, tmp_path, monkeypatch):
    tool = tmp_path / "two/opencode"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\necho 2.2.7\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tool.parent), prepend=os.pathsep)
    assert outcome(lines(guarded, "opencode"), "so it is unguarded") == "fail"
    assert "opencode was already set up (unguarded)" in guarded("install", "opencode").out


def test_checks__an_opencode_in_the_project__is_not_run(guarded, project, monkeypatch):
    tool = project / "node_modules/.bin/opencode"
    tool.parent.mkdir(parents=True)
    tool.write_text(f"#!/bin/sh\ntouch '{project}/canary'\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tool.parent), prepend=os.pathsep)
    assert lines(guarded, "opencode")
    assert not (project / "canary").exists()


@pytest.mark.parametrize(
    ("config", "told", "result"),
    [
        ('[projects."{project}"]\ntrust_level = "untrusted"\n', "does not trust this folder", "fail"),
        (
            '[hooks.state."{project}/.codex/hooks.json:pre_compact:0:0"]\ntrusted_hash = "x"\nenabled = false\n',
            "not trusted, so",
            "fail",
        ),
        ("nonsense", "cannot be read", "fail"),
        (None, "not trusted, so", "warn"),
    ],
)
def test_checks__codex_hooks_that_are_not_trusted__fail_unless_codex_is_not_used(
    command, project, home, config, told, result
):
    command("install", "codex")
    if config is not None:
        (home / ".codex").mkdir()
        (home / ".codex/config.toml").write_text(config.replace("{project}", str(project)))
    assert outcome(lines(command, "codex"), told) == result
