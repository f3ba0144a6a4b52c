"""``holdfast install`` and ``holdfast uninstall``: what they put into a client's files, and that nothing else moves."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.support import processes
from tests.support.processes import finished

from holdfast_agents.setup import codex as codex_files
from holdfast_agents.setup import program
from holdfast_agents.setup.client import AGREED, Where, hooks
from holdfast_agents.setup.clients import CLIENTS, where
from holdfast_cli import table
from holdfast_cli.usage import parser_for

#: The file that guards compaction, by client, and one of each kind of the others.
FILES = {
    "claude-code": (
        ".claude/settings.json",
        ".mcp.json",
        ".claude/commands/memory-update.md",
        ".claude/rules/holdfast.md",
    ),
    "codex": (".codex/hooks.json", ".codex/config.toml", "AGENTS.md", ".agents/skills/memory-update/SKILL.md"),
    "opencode": ("opencode.json", ".opencode/plugins/holdfast.js", ".opencode/commands/memory-update.md"),
    "pi": (".pi/extensions/holdfast.js", ".pi/skills/holdfast/SKILL.md", ".pi/prompts/memory-update.md"),
    "kilo": ("kilo.json", ".kilo/plugins/holdfast.js", ".kilo/commands/memory-update.md"),
    "deepagents": (".deepagents/hooks.json", ".deepagents/AGENTS.md", ".deepagents/skills/holdfast/SKILL.md"),
    "qwen": (".qwen/settings.json", "QWEN.md", ".qwen/skills/holdfast/SKILL.md"),
    "gemini": (".gemini/settings.json", "GEMINI.md", ".gemini/skills/holdfast/SKILL.md"),
    "copilot": (".github/hooks/holdfast.json", "AGENTS.md", ".github/skills/holdfast/SKILL.md"),
    "cursor": (".cursor/mcp.json", ".cursor/rules/holdfast.mdc"),
    "windsurf": (".windsurf/rules/holdfast.md",),
    "vscode": (".vscode/mcp.json", ".github/instructions/holdfast.instructions.md"),
    "droid": (".factory/settings.json", ".factory/mcp.json", "AGENTS.md"),
    "kimi": (".kimi-code/skills/holdfast/SKILL.md", ".kimi-code/mcp.json", "AGENTS.md"),
    "kiro": (".kiro/settings/mcp.json", ".kiro/steering/holdfast.md"),
    "zed": (".zed/settings.json", "AGENTS.md"),
}
OURS = "holdfast-memory"
GUARD = '"$CLAUDE_PROJECT_DIR"/.claude/hooks/holdfast-guard.sh'
GATE = f"sh {GUARD} holdfast-memory hook claude-code PreCompact || exit 2"
#: Settings that somebody wrote by hand, with hooks of their own.
ODD = """{ "env" : {"TOKEN":"x"},

      "hooks":  {"PreCompact": [{"matcher":"auto","hooks":[{"type":"command","command":"./mine.sh"}]} ],
     "Notification": [ ]},
\t"model": "opus"   ,
  "permissions": {"allow": ["Bash(ls:*)"]} }

"""


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below, but for the memory and git."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.relative_to(folder).parts[0] not in (".holdfast", ".git", "holdfast.toml")
    }


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def sh(
    text: str, path: str = "/usr/bin:/bin", stdin: str = "{}", project: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a hook's command as a client does."""
    return finished(["/bin/sh", "-c", text], input=stdin, env={"PATH": path, "CLAUDE_PROJECT_DIR": str(project)})


@pytest.mark.req("R184")
def test_install__claude_code__every_event_has_its_hook_and_compaction_a_guard(command, project):
    assert command("install", "claude-code").code == 0
    hooks = json.loads((project / ".claude/settings.json").read_text())["hooks"]
    assert {event: [h for g in groups for h in g["hooks"]] for event, groups in hooks.items()} == {
        "PreCompact": [{"type": "command", "command": GATE, "timeout": 60, "onFailure": "block"}],
        **{
            event: [{"type": "command", "command": "holdfast-memory hook claude-code", "timeout": timeout}]
            for event, timeout in {
                "UserPromptSubmit": 10, "SessionStart": 20, "PostToolUse": 10, "PostToolUseFailure": 10, "Stop": 10,
                "PostCompact": 20, "SessionEnd": 30, "ConfigChange": 10,
            }.items()
        },
    }  # fmt: skip
    assert json.loads((project / ".mcp.json").read_text())["mcpServers"]["holdfast"]["args"] == ["mcp"]
    assert "\n@" not in (project / ".claude/rules/holdfast.md").read_text(), "nothing recalled becomes an instruction"


@pytest.mark.parametrize("client", CLIENTS)
def test_install__new_project__is_set_up_and_the_steps_by_hand_are_numbered(command, project, client):
    answer = command("install", client, "--json").json
    assert answer["root"] == str(project)
    assert {"path": FILES[client][0], "fate": "made", "backup": ""} in answer["files"]
    assert {"path": "holdfast.toml", "fate": "made", "backup": ""} in answer["files"]
    assert (project / ".holdfast/state/.gitignore").exists()
    said, _, by_hand = command("install", client).out.partition("remaining manual steps:\n")
    assert CLIENTS[client].label in said
    assert ("guarded" in said) is (CLIENTS[client].holds == "guarded")
    numbers = re.findall(r"^  (\d)\. ", by_hand, re.MULTILINE)
    has_hooks = CLIENTS[client].holds != AGREED
    assert numbers == [str(number) for number in range(1, len(numbers) + 1)]
    assert ("holdfast doctor" in by_hand) is has_hooks
    assert all(
        step in " ".join(by_hand.split()) for step in CLIENTS[client].needed(where(str(project), "project")).by_hand
    )
    assert (project / FILES[client][-1]).exists()


def test_uninstall__a_file_is_another_clients_too__it_stays_until_the_last_one_goes(command, project):
    write(project / "AGENTS.md", "# Ours\n")
    for client in ("codex", "copilot", "zed"):
        command("install", client)
    for client in ("copilot", "codex"):
        assert f"{CLIENTS[client].shown} is no longer" in command("uninstall", client).out
        assert "## Memory: holdfast" in (project / "AGENTS.md").read_text()
    assert command("uninstall", "zed").code == 0
    assert tree(project) == {"AGENTS.md": b"# Ours\n"}


@pytest.mark.parametrize("words", [["--all"], []])
def test_install__without_a_name__guards_the_clients_found_here(command, project, home, tmp_path, monkeypatch, words):
    folder = Path(fake(tmp_path, "exit 10").split(":")[0])
    (folder / "codex").symlink_to("/bin/true")
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    (home / ".pi/agent").mkdir(parents=True)
    if not words:
        monkeypatch.setattr("holdfast_agents.setup.install.can_ask", lambda: True)
        assert command("install", stdin=b"emacs\n").code == 2
    said = command("install", *words, stdin=b"pi, codex\n")
    assert said.code == 0
    assert said.out.index("Codex is guarded") != said.out.index("pi is guarded")
    assert said.out.count("No model reads") == (1 if words else 2)  # no client after one with a login asks again
    assert [(project / FILES[client][0]).exists() for client in CLIENTS] == [
        client in ("codex", "pi") for client in CLIENTS
    ]
    assert [one["client"] for one in command("install", "--all", "--json").json["clients"]] == ["codex", "pi"]


def test_install__without_a_name_or_a_terminal__names_what_is_here_and_what_it_can_hold(command, home, monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert "No client was found" in command("install").err
    (home / ".claude").mkdir()
    said = command("install")
    assert (said.code, "Found here: claude-code (guarded)" in said.err) == (2, True)
    assert "holdfast install --all" in said.err
    (home / ".claude").rmdir()
    (home / ".factory").mkdir()
    assert command("install", "--all", "--model").code == 0  # in Droid, which has no login


@pytest.mark.parametrize(
    ("client", "name", "text"),
    [
        ("claude-code", ".claude/settings.json", ODD),
        ("claude-code", ".claude/settings.json", ODD.replace("\n", "\r\n")),
        ("claude-code", ".claude/settings.json", "\ufeff" + ODD),
        ("claude-code", ".claude/settings.json", '{"hooks": {"Stop": []}, "hooks": {"PreCompact": []}}'),
        ("claude-code", ".claude/settings.json", ""),
        ("claude-code", ".mcp.json", '{\n\t"mcpServers": {"other": {"command": "x"}}\n}'),
        ("opencode", "opencode.json", '{"agent":{"build":{"model":"a/b"}},"instructions":["CONTRIBUTING.md"]}'),
        ("codex", ".codex/config.toml", '# mine\nmodel = "x"  # kept\n[mcp_servers.other]\ncommand = "y"\n'),
        ("codex", ".codex/config.toml", 'model = "x"\r\n\r\n'),
        ("codex", "AGENTS.md", "# Ours\n\nBe kind."),
        ("codex", "AGENTS.md", "# Ours\n\n\n"),
    ],
)
def test_uninstall__settings_of_others__are_byte_for_byte_what_they_were(command, project, client, name, text):
    path = write(project / name, text)
    assert command("install", client).code == 0
    assert path.read_bytes() != text.encode()
    assert (project / f"{name}.holdfast-backup").read_bytes() == text.encode()
    once = path.read_bytes()
    assert command("install", client).code == 0
    assert path.read_bytes() == once
    assert command("uninstall", client).code == 0
    assert tree(project) == {name: text.encode()}


@pytest.mark.parametrize(
    ("client", "name", "text", "told"),
    [
        ("claude-code", ".claude/settings.json", '{\n  // mine\n  "model": "x"\n}', "line 2, column 3"),
        ("claude-code", ".mcp.json", '{"mcpServers": {},}', "without comments and trailing commas"),
        ("claude-code", ".claude/settings.json", '{"hooks": {"PreCompact": {}}}', "hooks.PreCompact is not a list"),
        ("claude-code", ".claude/settings.json", b'{"model": "\xff"}', "not UTF-8 (byte 11)"),
        ("opencode", "opencode.json", '{"agent": {"compaction": true}}', "agent.compaction is not an object"),
        ("opencode", "opencode.jsonc", '{"model": "x" /* mine */}', "line 1, column 15"),
        ("codex", ".codex/config.toml", "model = \n", "line 1"),
        ("codex", ".codex/config.toml", "mcp_servers = {}\n", "cannot take the table [mcp_servers.holdfast]"),
        ("codex", "AGENTS.md", "<!-- holdfast: begin -->\nhalf\n", "once each, in this order"),
        ("claude-code", ".claude/hooks/holdfast-guard.sh", "echo of a clone\n", "the hooks would run it"),
        ("opencode", ".opencode/plugins/holdfast.js", "echo of a clone\n", "the hooks would run it"),
    ],
)
def test_install__settings_that_cannot_be_merged__are_left_alone_and_nothing_else_is_written(
    command, project, client, name, text, told
):
    write(project / name, text)
    before = tree(project)
    said = command("install", client)
    assert said.code == 2
    assert name in said.err
    assert told in said.err
    assert "next:" in said.err
    assert tree(project) == before
    assert not (project / "holdfast.toml").exists()


@pytest.mark.parametrize(
    ("client", "name", "key", "text"),
    [
        ("claude-code", ".mcp.json", "mcpServers", '{"mcpServers": {"holdfast": {"command": "uvx", "args": ["x"]}}}'),
        ("opencode", "opencode.json", "mcp", '{"mcp": {"holdfast": {"type": "remote", "url": "http://localhost:1"}}}'),
        ("codex", ".codex/config.toml", "mcp_servers", '[mcp_servers.holdfast]\ncommand = "other"\n'),
        ("codex", ".codex/config.toml", "mcp_servers", 'mcp_servers = { holdfast = { url = "http://localhost:1" } }\n'),
        # As `codex mcp add` writes it: nothing is reported.
        ("codex", ".codex/config.toml", "mcp_servers", f'[mcp_servers.holdfast]\ncommand = "{OURS}"\nargs = ["mcp"]\n'),
    ],
)
def test_install__a_server_of_the_users_own_called_holdfast__is_left_alone_and_reported(
    command, project, client, name, key, text
):
    path, loads = write(project / name, text), tomllib.loads if name.endswith(".toml") else json.loads
    for _ in range(2):
        said = command("install", client)
        assert said.code == 0
        sentence = f"`{key}.holdfast` in {name} is not holdfast's, so it was left alone"
        assert (sentence in " ".join(said.out.split())) is (OURS not in text)
        assert loads(path.read_text())[key] == loads(text)[key]
        assert all((project / file).exists() for file in FILES[client])
    path.write_text(path.read_text() + "\n")  # so that the copy from before does not decide
    assert command("uninstall", client).code == 0
    assert loads(path.read_text())[key] == loads(text)[key]
    assert client == "opencode" or not (project / FILES[client][0]).exists()


@pytest.mark.parametrize("more", ["", ', "mcp": {"holdfast": {"type": "local", "command": ["mine"]}}'])
def test_install__compaction_was_off_by_the_users_wish__stays_off_until_the_user_removes_it(command, project, more):
    wish = f'{{"agent": {{"compaction": {{"disable": true}}}}{more}}}'
    path = write(project / "opencode.json", wish)
    plugin = project / ".opencode/plugins/holdfast.js"
    for _ in range(2):
        said = command("install", "opencode")
        assert "so it stays off" in " ".join(said.out.split())
        assert "const LIFTS = false" in plugin.read_text()
    path.write_text(path.read_text() + "\n")
    command("uninstall", "opencode")
    assert json.loads(path.read_text()) == json.loads(wish)
    command("install", "opencode")
    path.write_text(path.read_text().replace('"disable": true', ""))
    said = command("install", "opencode")
    assert "stays off" not in said.out
    assert json.loads(path.read_text())["agent"] == {"compaction": {"disable": True}}
    assert "const LIFTS = true" in plugin.read_text()


@pytest.mark.parametrize("client", ["claude-code", "codex", "kilo", "cursor"])
def test_install__the_mcp_extra_is_missing__no_server_is_written_and_the_way_to_it_is_named(
    command, project, monkeypatch, client
):
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "mcp", None)
        said = command("install", client)
    assert not [name for name, data in tree(project).items() if b'"mcp"' in data and name != "kilo.json"]
    assert "mcp" not in json.loads((project / "kilo.json").read_text() if client == "kilo" else "{}")
    assert "[mcp]" in said.out
    command("install", client)
    command("uninstall", client)
    assert [name for name in tree(project) if not name.endswith(".holdfast-backup")] == []


# killed on the way


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
@pytest.mark.parametrize(
    ("client", "killed", "after"), [("claude-code", "install", "uninstall"), ("codex", "uninstall", "install")]
)
def test_install__killed_on_the_way__the_next_one_removes_what_it_left(command, project, client, killed, after):
    if killed == "uninstall":
        write(project / FILES[client][1], "{}" if FILES[client][1].endswith("json") else "")
        command("install", client)
    left: set[str] = set()
    for n in range(1, 40):
        child = processes.run(killed, client, cwd=project, dies_at=n)
        found = [path for path in project.rglob(".holdfast-*.tmp") if "state" not in path.parts]
        left.update(str(path.parent.relative_to(project)) for path in found)
        if child.returncode >= 0 or len(left) > 1:
            break
    assert left, "no file was left behind by a kill"
    running = [path for path in project.rglob(".holdfast-*.tmp") if "state" not in path.parts]
    assert command(after, client).code == 0
    assert all(path.exists() for path in running), "it may be another installation's, under way"
    for path in running:
        os.utime(path, (time.time() - 61,) * 2)
    assert command(after, client).code == 0
    assert not [path for path in project.rglob(".holdfast-*.tmp") if "state" not in path.parts]


def test_install__user_scope_without_holdfast_on_path__names_this_installation(command, project, home, monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    for client in CLIENTS:
        assert command("install", client, "--scope", "user").code == 0
    assert tree(project) == {}
    assert not (project / "holdfast.toml").exists()
    hooks = json.loads((home / ".claude/settings.json").read_text())["hooks"]
    assert hooks["Stop"][0]["hooks"][0]["command"] == f"{sys.executable} -P -m holdfast_memory hook claude-code"
    assert (
        f'const PROGRAM = ["{sys.executable}", "-P", "-m", "holdfast_memory"]'
        in (home / ".config/opencode/plugins/holdfast.js").read_text()
    )
    assert (
        tomllib.loads((home / ".codex/config.toml").read_text())["mcp_servers"]["holdfast"]["command"] == sys.executable
    )
    for client in CLIENTS:
        command("uninstall", client, "--scope", "user")
    assert tree(home) == {}
    assert [path.name for path in home.iterdir()] in ([], [".config"])


def test_program__started_in_a_clone_with_modules_of_its_names__imports_none_of_them(tmp_path):
    """With `python -m` alone a clone's `holdfast` or `json.py` ran at each event of a client with the user's hooks."""
    for name in ("holdfast_memory/__init__.py", "holdfast/__init__.py", "holdfast/__main__.py", "json.py"):
        write(tmp_path / name, "open('imported', 'w')\n")
    done = subprocess.run([*program.THIS, "--version"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("holdfast ")
    assert not (tmp_path / "imported").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="runs /bin/sh")
@pytest.mark.parametrize("folder", ["with space", 'o\'brien "hi"', "$HOME `ü`;&|"])
def test_command__program_in_an_odd_folder__is_started_by_the_shell(tmp_path, folder):
    from holdfast_agents.setup import claude_code as claude_code_files

    tool = write(tmp_path / folder / "holdfast", '#!/bin/sh\necho "$@" >&2\n')
    tool.chmod(0o755)
    words = (str(tool), "-m", "holdfast")
    script = write(tmp_path / folder / "guard.sh", claude_code_files.guard("leave").body)
    guard = program.spelled((str(script),))
    of_codex: dict[str, Any] = {"PreCompact": {"command": codex_files.guarded(words)}, "Stop": 10}
    for client, made in (
        ("claude-code", hooks("claude-code", words, claude_code_files.EVENTS, guard=guard)),
        ("codex", hooks("codex", words, of_codex)),
    ):
        for event, told in (("PreCompact", " PreCompact --allow 10"), ("Stop", "")):
            done = sh(made.groups[event]["hooks"][0]["command"])
            assert done.stderr.splitlines()[0] == f"-m holdfast hook {client}{told}", (event, done)


def guard(project: Path, client: str) -> str:
    name, _ = FILES[client][:2]
    command: str = json.loads((project / name).read_text())["hooks"]["PreCompact"][0]["hooks"][0]["command"]
    return command


def fake(folder: Path, script: str) -> str:
    tool = write(folder / "bin/holdfast-memory", f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)
    return f"{tool.parent}:/usr/bin:/bin"


@pytest.mark.skipif(sys.platform == "win32", reason="runs /bin/sh")
def test_guard__environment_was_made_anew__names_the_installation_that_is_still_here(
    command, home, tmp_path, monkeypatch
):
    """It said "Run holdfast doctor", a command that was gone. CLAUDE_CONFIG_DIR moves the settings."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "elsewhere"))
    command("install", "claude-code", "--scope", "user")
    assert not (home / ".claude").exists()
    hooks = json.loads((tmp_path / "elsewhere/settings.json").read_text())["hooks"]
    line = hooks["PreCompact"][0]["hooks"][0]["command"].replace(sys.executable, str(tmp_path / "gone/python"))
    done = sh(line, fake(tmp_path, "exit 10"))
    assert (done.returncode, f"{tmp_path}/bin/holdfast-memory is still here: run `" in done.stderr) == (2, True)
    assert f"Install it with `{program.INSTALL}`" in sh(line).stderr


@pytest.mark.skipif(sys.platform == "win32", reason="runs /bin/sh")
@pytest.mark.parametrize(("client", "limiter"), [("claude-code", "timeout"), ("codex", "perl")])
def test_guard__system_with_another_way_to_limit_time__holdfast_is_asked_and_a_hang_is_ended(
    command, project, tmp_path, client, limiter
):
    command("install", client)
    folder = Path(fake(tmp_path, "exit 10").split(":")[0])
    for name in ("sh", limiter):
        (folder / name).symlink_to(shutil.which(name) or pytest.skip(f"{name} is not installed"))
    done = sh(guard(project, client), str(folder), project=project)
    assert (done.returncode, done.stdout) == (0, "")
    write(folder / "holdfast-memory", "#!/bin/sh\nwhile :; do :; done\n")
    short = guard(project, client).replace("alarm 55", "alarm 1")
    script = project / ".claude/hooks/holdfast-guard.sh"
    if script.exists():
        script.write_text(script.read_text().replace("KILL 55", "KILL 0.2"))
    done = sh(short, str(folder), project=project)
    told = done.stderr if client == "claude-code" else json.loads(done.stdout)["stopReason"]
    assert "gave no answer in 55 seconds" in told


def test_install__plugin_dir__holds_the_same_hooks(command, project):
    """tests/plugins/agents/test_marketplace.py has its other files."""
    command("install", "claude-code")
    for _ in range(2):
        assert command("install", "claude-code", "--plugin-dir", "made/plugin").code == 0
    text = (project / "made/plugin/hooks/hooks.json").read_text()
    hooks = json.loads(text.replace("${CLAUDE_PLUGIN_ROOT}", "$CLAUDE_PROJECT_DIR"))
    settings = json.loads((project / ".claude/settings.json").read_text().replace("/.claude/hooks", "/hooks"))
    assert hooks.pop("modules") == ["./compact.js"]
    # A plugin cannot allow commands.
    assert {**hooks, "permissions": {"allow": ["Bash(holdfast-memory flush:*)"]}} == settings


def every_text() -> dict[str, str]:
    """All that is put into files of ours or into instructions, by client and file."""
    found = {}
    for client in CLIENTS:
        for place in CLIENTS[client].needed(Where(root="/project", scope="project", program=("holdfast",))).places:
            if place.path.endswith(".md"):
                found[f"{client} {place.shown}"] = place.part.show()
    return found


def test_texts__commands_and_options_that_they_name__exist():
    known = table.known()
    named = set()
    for name, text in every_text().items():
        found = re.findall(r"holdfast ([a-z][a-z-]+)(?=[ `|])([^`\n]*)", text)
        in_code = [(c, rest) for c, rest in found if c in known or f"`holdfast {c}" in text]
        assert in_code, name
        named |= {(command, option) for command, rest in in_code for option in ("", *re.findall(r"--[a-z-]+", rest))}
    assert {command for command, _ in named} <= {*known}
    help_texts = {command: parser_for(command).format_help() for command, _ in named}
    assert [one for one in named if one[1] not in help_texts[one[0]]] == []


@pytest.mark.req("R189", "R225", "R235", "R247")
@pytest.mark.parametrize(
    ("client", "name"),
    [("claude-code", ".claude/commands/memory-update.md"), ("codex", ".agents/skills/memory-update/SKILL.md")],
)
def test_memory_update__done_as_its_text_says__session_and_three_files_are_updated(command, project, client, name):
    command("init", "--three-files")
    command("install", client)
    command("add", "user", "Fix the flaky login test", "--session", f"{client}-1")
    text = (project / name).read_text()
    done = re.findall(r"^holdfast (\w+ [^\n]*) <<'(\w+)'\n(.*?)^\2$", text, re.MULTILINE | re.DOTALL)
    assert [words.split()[0] for words, *_ in done] == ["flush", "update"]
    for words, _, stdin in done:
        stdin = stdin.replace("decision: ...", "decision: Keep the lock file").replace(
            '"decisions": []', '"decisions": ["Keep the lock file"]'
        )
        said = command(*words.replace("SESSION", f"{client}-1").split(), stdin=stdin.encode())
        assert said.code == 0, said.err
    note = next((project / ".holdfast/memory").glob("*.md")).read_text()
    assert "Keep the lock file" in note
    assert f"session={client}-1" in note
    assert "Keep the lock file" in (project / ".holdfast/context/active_context.md").read_text()
