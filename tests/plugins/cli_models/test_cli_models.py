"""Models without a key, with executable stand-ins for the programs. docs/models.md has the runs of the real ones."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.plugins.agents.hooking import NOTHING, Client
from tests.plugins.agents.test_asking import answered
from tests.plugins.cli_models import standin
from tests.plugins.models.test_background import until
from tests.support import processes

from holdfast.api import Holdfast, Message, ModelFailed, Outcome, Payload, Turn
from holdfast.fs import userdir
from holdfast_app.checkup.examine import examine
from holdfast_memory import nested
from holdfast_models.base import ModelPlugin
from holdfast_models.cli.claude import ClaudeCli
from holdfast_models.cli.codex import CodexCli
from holdfast_models.cli.gemini import GeminiCli
from holdfast_models.cli.model import CliModel
from holdfast_models.cli.opencode import OpencodeCli

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the stand-ins are scripts with a first line")

MODELS: dict[str, type[CliModel]] = {
    "claude": ClaudeCli,
    "codex": CodexCli,
    "opencode": OpencodeCli,
    "gemini": GeminiCli,
}
SAID = "Remember: we always use pytest -q"


@pytest.fixture(params=MODELS)
def program(request) -> str:
    return str(request.param)


@pytest.fixture
def bin_folder(tmp_path, monkeypatch) -> Path:
    """A folder that is on PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin")
    return folder


def model(name: str, project: Path, /, **settings: Any) -> ModelPlugin:
    context = SimpleNamespace(
        name=f"{name}_cli", settings=settings, root=str(project), state=str(project / ".holdfast" / "state")
    )
    return MODELS[name](context=context)


def turns(text: str = SAID) -> list[Turn]:
    at = datetime(2026, 11, 21, 14, 30, tzinfo=UTC)
    return [Turn(messages=[Message(role="user", text=text, at=at, id="m1")])]


def test_extract__program_runs__gets_the_words_on_stdin_in_a_private_folder_of_its_own(
    program, bin_folder, project, monkeypatch
):
    standin.make(bin_folder, program)
    for name in ("CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID", "HOLDFAST_ROOT"):
        monkeypatch.setenv(name, "of the session outside")
    monkeypatch.setenv("CLAUDE_CODE_OAUTH_TOKEN", "login")
    model(program, project, model="small").on_extract(turns(), (), Payload())
    (run,) = standin.seen(bin_folder)
    assert SAID in run["stdin"]
    assert not any(SAID in word for word in run["argv"])
    assert "--model=small" in run["argv"]
    assert run["mode"] == "0o700"
    assert not run["cwd"].startswith(str(project))
    assert not Path(run["cwd"]).exists(), "the folder is removed after the call"
    assert run["env"][nested.MARK]
    assert run["env"]["TMPDIR"] == run["cwd"]
    assert run["env"]["CLAUDE_CODE_OAUTH_TOKEN"] == "login"
    session = {"claude": "CLAUDE_CODE_SESSION_ID", "codex": "CODEX_THREAD_ID"}.get(program, "CLAUDECODE")
    assert not {"CLAUDECODE", "HOLDFAST_ROOT", session} & run["env"].keys()
    instructions = [*run["files"].values(), *run["env"].values()]
    assert any("worth remembering" in text for text in instructions)


def test_extract__claude__has_no_tools_no_hooks_no_servers_and_keeps_no_session(bin_folder, project):
    standin.make(bin_folder, "claude")
    model("claude", project).on_extract(turns(), (), Payload())
    words = standin.seen(bin_folder)[0]["argv"]
    assert {"-p", "--safe-mode", "--strict-mcp-config", "--no-session-persistence"} <= set(words)
    assert words[words.index("--tools") + 1] == ""


def test_extract__codex_with_servers_of_the_user__each_is_switched_off_by_name(
    bin_folder, project, monkeypatch, tmp_path
):
    (tmp_path / "config.toml").write_text('[mcp_servers.notes]\ncommand = "x"\n[mcp_servers."a b"]\ncommand = "y"\n')
    monkeypatch.setenv("CODEX_HOME", str(tmp_path))
    standin.make(bin_folder, "codex")
    model("codex", project).on_extract(turns(), (), Payload())
    (run,) = standin.seen(bin_folder)
    assert {"mcp_servers.notes.enabled=false", 'mcp_servers."a b".enabled=false', "features.hooks=false"} <= set(
        run["argv"]
    )
    assert {"features.shell_tool=false", "--ephemeral"} <= set(run["argv"])
    assert run["env"]["CODEX_HOME"] == str(tmp_path), "logins are there"


def test_extract__opencode__runs_an_agent_without_tools_and_servers_in_memory(bin_folder, project):
    standin.make(bin_folder, "opencode")
    model("opencode", project).on_extract(turns(), (), Payload())
    (run,) = standin.seen(bin_folder)
    settings = json.loads(run["env"]["OPENCODE_CONFIG_CONTENT"])
    (agent,) = settings["agent"].values()
    assert (agent["tools"], agent["permission"]) == ({"*": False}, {"*": "deny"})
    assert settings["mcp"] == {"notes": {"enabled": False}}
    assert run["env"]["OPENCODE_DB"] == ":memory:"
    assert "--pure" in run["argv"]


def test_extract__gemini__settings_of_its_folder_leave_nothing_and_its_record_is_removed(
    bin_folder, project, monkeypatch
):
    path = standin.make(bin_folder, "gemini")
    keep = 'mkdir -p "$HOME/.gemini/tmp/$(basename "$PWD")/chats" "$HOME/.gemini/tmp/other"'
    (bin_folder / "real").mkdir()
    path.rename(bin_folder / "real" / "gemini")
    standin.set_mode(bin_folder / "real", "good")
    path.write_text(f'#!/bin/sh\n{keep}\nexec "{bin_folder}/real/gemini" "$@"\n')
    path.chmod(0o755)
    model("gemini", project).on_extract(turns(), (), Payload())
    (run,) = standin.seen(bin_folder / "real")
    settings = json.loads(run["files"][".gemini/settings.json"])
    assert settings["hooksConfig"] == {"enabled": False}
    assert settings["tools"] == {"core": []}
    assert 'decision = "deny"' in run["files"]["policy.toml"]
    assert os.listdir(Path(os.environ["HOME"], ".gemini", "tmp")) == ["other"]


@pytest.mark.parametrize(
    ("mode", "status", "retryable", "words"),
    [
        ("logged out", 401, False, "log in"),
        ("over quota", 429, True, "quota"),
        ("unknown model", 404, False, ".model MODEL"),
        ("busy", None, True, "retried"),
        ("exit 1", None, False, "exit status 1"),
    ],
)
def test_extract__program_fails__says_why_with_the_next_step_and_records_it(
    program, mode, status, retryable, words, bin_folder, project
):
    standin.make(bin_folder, program, mode)
    with pytest.raises(ModelFailed) as caught:
        model(program, project).on_extract(turns(), (), Payload())
    error = caught.value
    assert error.retryable is retryable
    assert status in (None, error.status)
    assert words in str(error)
    assert error.next_step
    assert "pytest" not in str(error), "the program's own words may quote the conversation"
    rows = (project / ".holdfast" / "state" / "usage.jsonl").read_text().splitlines()
    assert json.loads(rows[-1])["failed"] == error.message


@pytest.mark.parametrize("program", ["claude"])
def test_extract__program_hangs__it_and_its_children_are_killed(program, bin_folder, project):
    standin.make(bin_folder, program, "hang")
    with pytest.raises(ModelFailed, match="did not answer") as caught:
        model(program, project, timeout_s=2.0).on_extract(turns(), (), Payload())
    assert caught.value.retryable
    status = Path("/proc", (bin_folder / "child").read_text(), "status")
    until(lambda: not status.exists() or "State:\tZ" in status.read_text())


@pytest.mark.parametrize("way", ["absolute", "relative", "linked folder", "link to the file"])
def test_extract__program_inside_the_project__is_never_run(way, bin_folder, project, tmp_path, monkeypatch):
    inside = standin.make(project / "tools", "claude")
    (tmp_path / "linked").symlink_to(project / "tools")
    entry = {"absolute": str(project / "tools"), "relative": "tools", "linked folder": str(tmp_path / "linked")}
    if way == "link to the file":
        (bin_folder / "claude").symlink_to(inside)
    monkeypatch.setenv("PATH", f"{entry.get(way, bin_folder)}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(project)
    with pytest.raises(ModelFailed, match="not found on PATH"):
        model("claude", project).on_extract(turns(), (), Payload())
    assert standin.seen(project / "tools") == []


def test_compaction__a_model_is_on__no_program_runs_within_the_hook_and_turns_wait(bin_folder, project):
    standin.make(bin_folder, "claude")
    settings = Path(userdir.path(userdir.CONFIG_FILE))
    settings.parent.mkdir(parents=True)
    settings.write_text("[plugins.claude_cli]\nenabled = true\n")
    client = Client(project)
    client.say(SAID, "Noted: pytest -q from now on.")
    assert client.compact() == NOTHING
    assert standin.seen(bin_folder) == []
    with Holdfast.open(project) as memory:
        memory.extract_queued()
    (run,) = standin.seen(bin_folder)
    assert SAID in run["stdin"]


@pytest.mark.parametrize(
    ("client", "started", "plugin"),
    [
        ("claude-code", "claude", "claude_cli"),
        ("codex", "codex", "codex_cli"),
        ("opencode", "opencode", "opencode_cli"),
    ],
)
def test_install__with_model__switches_it_on_for_the_user_and_doctor_counts_its_calls(
    client, started, plugin, bin_folder, project
):
    standin.make(bin_folder, started, "over quota")
    shown = processes.run("install", client, "--model", "--print", cwd=project)
    assert f"[plugins.{plugin}]\nenabled = true\n" in shown.stdout
    assert not Path(userdir.path(userdir.CONFIG_FILE)).exists()
    done = processes.run("install", client, "--model", "--json", cwd=project)
    assert json.loads(done.stdout)["model"]["key"] == f"plugins.{plugin}.enabled"
    assert f"[plugins.{plugin}]\nenabled = true" in Path(userdir.path(userdir.CONFIG_FILE)).read_text()
    with Holdfast.open(project) as memory:
        memory.extract(turns())
    lines = [check for check in examine(str(project)) if check.name == "models"]
    assert [check.outcome for check in lines] == [Outcome.OK, Outcome.WARN]
    assert f"{plugin} runs {bin_folder / started}" in lines[0].message
    assert "1 call" in lines[1].message
    assert "over its quota" in lines[1].message


def on_terminal(project: Path, answers: str, *words: str) -> str:
    """What `holdfast install claude-code` shows on a terminal, where a person types ``answers``."""
    import pty

    ours, theirs = pty.openpty()
    os.write(ours, answers.encode())
    command = [sys.executable, "-m", "holdfast_memory", "install", "claude-code", *words]
    done = subprocess.run(
        command, cwd=project, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60
    )
    os.close(ours)
    os.close(theirs)
    assert done.returncode == 0, done.stdout
    return " ".join(done.stdout.split())


def test_install__on_a_terminal_only__asks_once_with_the_price_and_takes_yes_no_or_a_typed_name(bin_folder, project):
    standin.make(bin_folder, "claude")
    settings = Path(userdir.path(userdir.CONFIG_FILE))
    done = processes.run("install", "claude-code", cwd=project)
    assert "`holdfast install claude-code --model`" in " ".join(done.stdout.split())
    assert processes.run("install", "claude-code", "--model", "acme", cwd=project).returncode == 2
    assert "Y/n" not in on_terminal(project, "", "--no-model")
    shown = on_terminal(project, "n\n")
    assert "to the provider that has them already" in shown
    assert "at most 50 a day" in shown
    assert "holdfast install claude-code --model" in shown
    assert not settings.exists()
    standin.make(bin_folder, "codex")
    assert "or type another: codex" in on_terminal(project, "gemini\ncodex\n")  # gemini is not on PATH
    assert "[plugins.codex_cli]\nenabled = true\n" in settings.read_text()
    assert "Y/n" not in on_terminal(project, "")
    settings.unlink()
    assert "Claude Code is the model in all your projects" in on_terminal(project, "\n")
    assert "[plugins.claude_cli]\nenabled = true\n" in settings.read_text()
    settings.unlink()
    assert processes.run("install", "--model", "claude-code", cwd=project).returncode == 0
    assert "[plugins.claude_cli]" in settings.read_text()


def test_session_end__model_accepted_at_install__next_brief_has_what_it_wrote(bin_folder, project):
    standin.make(bin_folder, "claude")
    on_terminal(project, "\n")
    first, second = Client(project), Client(project, native="0f6f7c54-6f0e-4a4b-9f0e-2b8a0d1c7e99")
    first.say("Which test command do we use?", "pytest -q, as always.")
    first.hook("SessionEnd", reason="exit")
    record = project / ".holdfast" / "state" / "upkeep.json"
    until(lambda: record.exists() and json.loads(record.read_text())["ended"])
    brief = second.hook("SessionStart", source="startup").context
    assert "Always uses pytest -q" in brief
    assert "Agreed on pytest." in brief
    assert "- Decision: Tests run with pytest -q" in brief
    assert "- Rejected: nose: it is not maintained" in brief


def test_prompt__context_is_nearly_full__model_reads_the_turns_before_the_compaction(bin_folder, project):
    standin.make(bin_folder, "claude")
    on_terminal(project, "\n")
    client = Client(project)
    client.say("Which test command do we use?", "pytest -q, as always.")
    client.write(answered(150_000))
    client.hook("UserPromptSubmit", prompt="Go on", prompt_id="2")
    with Holdfast.open(project) as memory:
        until(lambda: [fact.content for fact in memory.facts.list()] == ["Always uses pytest -q"])
    record = project / ".holdfast" / "state" / "upkeep.json"
    until(lambda: json.loads(record.read_text())["ended"])
    assert "Agreed on pytest." not in client.notes()
    client.compact()
    assert client.notes().count("Agreed on pytest.") == 1
