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
def guard(command, project, home) -> Callable[..., Command]:
    """``guard("codex", ...)``: the clients, installed, trusted and seen to run."""

    def install(*clients: str) -> Command:
        for client in clients:
            assert command("install", client).code == 0
            heartbeat.beat(str(project / ".holdfast/state"), client, "Stop", "s1")
        trust(home, project)
        return command

    return install


@pytest.mark.req("R184")
def test_checks__guarded_and_running__all_is_well_and_the_ways_around_are_named(guard):
    checks = guard(*CLIENTS)("doctor", "--json").json["checks"]
    wanted = {
        "claude-code": ("/clear", "--bare", "--safe-mode", "disableAllHooks", "not trusted", "DISABLE_COMPACT=1"),
        "codex": ("does not trust", "cannot be switched off", "`codex exec` says only `turn interrupted`"),
        "pi": ("does not trust", "--no-extensions", "subfolder"),
        "opencode": ("git worktree", "--pure"),
        "kilo": ("git worktree", "--pure"),
        "qwen": ("disableAllHooks", "between two tool calls"),
        "kimi": ("a tool's long result",),
    }
    for client in CLIENTS:
        told = [(one["outcome"], one["message"]) for one in checks if one["name"] == client]
        assert {result for result, _ in told} == {"ok"}, told
        assert outcome(told, "installed") == "ok"
        if CLIENTS[client].holds != AGREED:
            assert outcome(told, "its hooks run: Stop, just now") == "ok"
        around = next(message for _, message in told if "; not covered: " in message)
        assert [word for word in wanted.get(client, ("git worktree",)) if word not in around] == []


@pytest.mark.parametrize(
    ("client", "old", "new", "told"),
    [("kimi", '"PreCompact"', '"Stop"', "differs"), ("droid", "false", "true", "CheckEnabled to false")],
)
def test_checks__what_holds_the_client_was_changed__fails(client, old, new, told, guard, project):
    command = guard(client)
    place = CLIENTS[client].needed(where(str(project), "project")).places[0]
    Path(place.path).write_text(Path(place.path).read_text().replace(old, new))
    assert outcome(lines(command, client), told) == "fail"


@pytest.mark.parametrize(
    ("key", "managed"), [("disableAllHooks", False), ("disableAllHooks", True), ("allowManagedHooksOnly", True)]
)
def test_checks__settings_switch_all_hooks_off__fails(key, managed, guard, project, tmp_path, monkeypatch):
    command = guard("claude-code")
    file = tmp_path / "managed.json" if managed else project / ".claude/settings.local.json"
    monkeypatch.setattr(claude_code, "MANAGED", (str(tmp_path / "managed.json"),))
    file.write_text(json.dumps({key: True}))
    assert outcome(lines(command, "claude-code"), f"`{key}` in ") == "fail"


@pytest.mark.req("R184")
@pytest.mark.parametrize(("script", "told"), [("exit 0\n", "differs from what"), (None, "is missing")])
@pytest.mark.parametrize(
    ("name", "result"), [("hooks/holdfast-guard.sh", "fail"), ("skills/holdfast-gate/hooks/compact.js", "warn")]
)
def test_checks__guard_script_or_module_was_changed_or_removed__told_until_it_is_installed_again(
    guard, project, script, told, name, result
):
    """Only the settings were compared, so a script that allows everything was reported as installed."""
    command = guard("claude-code")
    path = project / ".claude" / name
    path.unlink() if script is None else path.write_text(script)
    assert outcome(lines(command, "claude-code"), f"{path.name} {told}") == result
    path.unlink(missing_ok=True)
    assert command("install", "claude-code").code == 0
    assert {result for result, _ in lines(command, "claude-code")} == {"ok"}


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
def test_checks__the_client_went_on_without_its_hooks__fails(guard, home, project, client):
    command = guard(client)
    later = (time.time() + HOUR_S, time.time() + HOUR_S)
    elsewhere = transcript(client, home, project.parent / f"{project.name}-2")
    os.utime(elsewhere, later)
    assert outcome(lines(command, client), "its hooks run") == "ok", "another project's conversation"
    shutil.rmtree(elsewhere.parent)
    path = transcript(client, home, project / "below")
    assert outcome(lines(command, client), "its hooks run") == "ok"
    os.utime(path, later)
    assert outcome(lines(command, client), "its hooks last ran") == "fail"
    assert command("doctor").code == 1


@pytest.mark.req("R184")
def test_checks__in_a_subfolder__claude_code_started_there_is_unguarded_and_the_others_are_not(
    guard, project, monkeypatch
):
    command, folder = guard("claude-code", "codex", "opencode"), project / "packages/a"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    told = lines(command, "claude-code")
    assert outcome(told, f"started in this folder ({folder}) runs none of this project's hooks") == "fail"
    said = command("doctor")
    assert (said.code, "holdfast install claude-code --scope user" in said.out) == (1, True)
    for client in ("codex", "opencode"):
        assert {result for result, _ in lines(command, client)} == {"ok"}
    assert any("a start in a subfolder" in message for _, message in told)
    command("install", "claude-code", "--scope", "user")
    assert not any("a start in a subfolder" in message for _, message in lines(command, "claude-code"))


def test_checks__in_a_git_worktree_without_the_settings__fails_for_each_client(guard, project, tmp_path, monkeypatch):
    clients = [one for one in CLIENTS if CLIENTS[one].holds != AGREED and one != "kimi"]
    command, worktree = guard(*clients), tmp_path / "worktree"
    git = ["git", "-C", str(project), "-c", "user.name=n", "-c", "user.email=n@example.org"]
    for words in ("init -q", "commit -q --allow-empty -m x", f"worktree add -q {worktree}"):
        subprocess.run([*git, *words.split()], check=True, capture_output=True)

    def failed() -> set[str]:
        return {one["name"] for one in command("doctor", "--json").json["checks"] if one["outcome"] == "fail"}

    monkeypatch.chdir(worktree)
    assert failed() == {*clients}
    (worktree / "deep").mkdir()
    for name in (CLIENTS[one].needed(where(str(project), "project")).places[0].shown for one in clients):
        (worktree / name).parent.mkdir(parents=True, exist_ok=True)
        (worktree / name).write_bytes((project / name).read_bytes())
    assert failed() == set()
    monkeypatch.chdir(worktree / "deep")
    assert failed() == {one for one in clients if not CLIENTS[one].reads_parents}


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
def test_checks__settings_were_changed__told(guard, project, name, change, told, result):
    client = {CLAUDE: "claude-code", CODEX: "codex"}.get(name, "opencode")
    command = guard(client)
    settings = json.loads((project / name).read_text())
    change(settings)
    (project / name).write_text(json.dumps(settings))
    assert outcome(lines(command, client), told) == result


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
