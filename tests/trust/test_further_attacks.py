"""Attacks beyond the ones that were reported: other ways into the same rooms."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.processes import finished
from tests.trust.clones import ELSEWHERE
from tests.trust.test_known_attacks import another_projects_transcript, state

from holdfast.journal import journal
from holdfast_agents import events
from holdfast_app.trust import passages

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the attacks are links, pipes and owners of POSIX systems")

STATE_FILES = (
    "outbox.jsonl",
    "extract.jsonl",
    "facts.log.jsonl",
    "usage.jsonl",
    "hook.log",
    "dream.jsonl",
    "agents/claude-code-x.json",
    "unsafe/x.json",
    "sessions/x.jsonl",
    "heartbeats/claude-code.json",
    "store.lock",
    "owner",
)


CLIENT_SETTINGS = (
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".codex/hooks.json",
    ".codex/config.toml",
    ".mcp.json",
    "opencode.json",
    ".holdfast/.gitattributes",
)


def pipes(project: Path) -> None:
    for name in STATE_FILES:
        os.mkfifo(state(project, name))
    documents = (".holdfast/MEMORY.md", ".holdfast/USER.md", ".holdfast/facts.jsonl", ".holdfast/PROFILE.md")
    for name in (*CLIENT_SETTINGS, *documents):
        (project / name).parent.mkdir(exist_ok=True)
        os.mkfifo(project / name)


def links(project: Path) -> None:
    for number, name in enumerate(name for name in STATE_FILES if "/" not in name):
        if number % 2:
            os.link(project.parents[1] / ".bashrc", state(project, name))
        else:
            state(project, name).symlink_to("/dev/zero")
    for name in ("sessions", "unsafe", "agents", "heartbeats", "backups"):
        state(project, name).symlink_to("../../../../.ssh")
    for name in CLIENT_SETTINGS:
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).symlink_to("/dev/zero")


def nested(project: Path) -> None:
    deep = "[" * 200_000 + "]" * 200_000
    for name in STATE_FILES[:10]:
        state(project, name).write_text(deep)
    (project / ".holdfast" / "facts.jsonl").write_text(f'{{"id": {deep}}}\n')
    path = project / ".holdfast" / "continuity" / "active.md"
    path.parent.mkdir(parents=True)
    path.write_text("# Handoff\n\n```toml\nx = " + "{a=" * 50_000 + "1" + "}" * 50_000 + "\n```\n")


ARCHIVES: list[Callable[[Path], Any]] = [pipes, links, nested]


@pytest.mark.parametrize("build", ARCHIVES, ids=lambda b: b.__name__)
def test_an_unpacked_project__is_worked_in__neither_hangs_nor_writes_outside(build, victim):
    """tests/core/test_project_settings.py has such settings files."""
    victim.unpack(build)
    before = victim.outside()
    victim.work()
    victim.run("remember", "a newer fact", "--category", "goal")
    victim.look_around()
    for words in (["trust"], ["trust", "--yes"], ["load"], ["facts", "list"], ["init", "--git"]):
        assert victim.run(*words).code in (0, 1, 2, 3)
    assert victim.outside() == before


def test_a_pull__that_brings_state_into_an_own_state_folder__is_put_aside(victim, recorder):
    victim.clone(lambda project: None)
    assert victim.run("init").code == 0
    victim.work("Remember: mine.")

    def build(project: Path) -> None:
        another_projects_transcript(project, "")
        session = events.session_of("claude-code", "pulled")
        made = journal.Journal(str(project / ".holdfast" / "state"), session)
        made.append({"kind": "message", "id": "1", "at": "2026-11-20T00:00:00+00:00", "role": "user", "text": "FORGED"})
        marker = project / ".holdfast" / "state" / "unsafe" / f"{journal.file_stem('pulled')}.json"
        marker.parent.mkdir(exist_ok=True)
        marker.write_text(json.dumps({"session": "pulled", "at": "", "reason": "manual", "error": "FORGED"}))

    victim.pull(build)
    victim.told.clear()
    victim.work("Remember: mine as well.")
    told = victim.look_around()
    notes = "".join(p.read_text() for p in victim.project.glob(".holdfast/memory/*.md"))
    assert ELSEWHERE not in notes
    assert "FORGED" not in notes
    assert "FORGED" not in told
    assert "mine as well" in notes
    assert "state" in told


def test_modules_in_a_clone__are_not_imported_by_the_installed_program(victim):
    evil = "open('pwned', 'w').close()\n"

    def build(project: Path) -> None:
        for name in ("json", "tomllib", "holdfast_redaction", "attrs", "sitecustomize", "usercustomize"):
            (project / f"{name}.py").write_text(evil)
        meta = project / "evil-1.0.dist-info"
        meta.mkdir()
        (meta / "METADATA").write_text("Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n")
        (meta / "entry_points.txt").write_text("[holdfast.plugins]\nredaction = json\n[holdfast.commands]\nx = json\n")

    victim.clone(build)
    os.mkfifo(victim.project / ".env")  # whoever reads it waits
    program = Path(sys.executable).with_name("holdfast")
    env = victim.environment()
    for words in (["status"], ["remember", "a fact", "--category", "goal"], ["doctor"], ["plugins"]):
        subprocess.run(
            [str(program), *words], cwd=victim.project, env=env, check=False, capture_output=True, timeout=60
        )
    assert not (victim.project / "pwned").exists()


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("holdfast.toml", "[layout.x]\n" + "k1234567 = 1234567\n" * 55_000, "larger than 131,072 bytes"),
        (".holdfast/facts.jsonl", "\n" * 7_000_000, "larger than 8,388,608 bytes"),
        (".holdfast/facts.jsonl", '{"op": "gone"}\n' * 100_000, "larger than 8,388,608 bytes"),
        (".holdfast/facts.jsonl", '{"id": "fact_1"}\n' * 500_000, "larger than 8,388,608 bytes"),
        (".holdfast/facts.jsonl", f'{{"id": "{"x" * 5_000_000}"}}\n', "more than 4,194,304 bytes"),
        (".holdfast/MEMORY.md", f"# Memory\n\n- {'x ' * 11_000_000}\n", "larger than 20,000,000 bytes"),
        (".holdfast/MEMORY.md", "- x\n" * 2_000_000, "1 passage of 1 document"),
        (".holdfast/memory/{}.md", "- x\n" * 9_000, "27,002 passages of 5 documents"),
    ],
)
def test_a_file_that_costs_seconds__is_refused_at_once(name, text, told, victim):
    def build(project: Path) -> None:
        for number in range(5):
            path = project / name.format(number)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    victim.clone(build)
    ran = victim.run("doctor")
    assert told in " ".join(ran.text.split())
    if "passage" in told:
        shown = victim.run("trust", "--yes")
        assert shown.code == 0
        assert len(shown.out) < 2_000_000
        assert "Withheld" not in victim.run("doctor").text


def test_a_thousand_nested_items__cost_no_more_than_their_length():
    """Each item's key held all items above it, together 500 MB for a file of 1 MB."""
    text = "".join(f"{' ' * at}- {'x' * (1000 - at)}\n" for at in range(1000))
    assert sum(len(one.key) for one in passages.split(text)) < 20 * len(text)


def test_export__to_a_link_of_the_clone__replaces_the_link_alone(victim):
    victim.clone(lambda project: (project / "memory.zip").symlink_to("../../.bashrc"))
    assert victim.run("init").code == 0
    before = victim.outside()
    victim.run("export", "memory.zip", "--force")
    assert victim.outside() == before


def test_more_notes_than_anyone_writes__are_refused_at_once(victim):
    def build(project: Path) -> None:
        folder = project / ".holdfast" / "memory"
        folder.mkdir(parents=True)
        for number in range(10_001):
            (folder / f"{number}.md").touch()

    victim.unpack(build)
    assert "holds more than 10,000 documents" in " ".join(victim.run("load").text.split())


def test_an_installed_distribution__that_no_one_enabled__is_not_imported(victim, tmp_path):
    text = '[storage]\nbackend = "evil"\nx = 1\n[plugins.evil]\nx = 1\n'
    victim.clone(lambda project: (project / "holdfast.toml").write_text(text))
    assert victim.run("init").code == 0
    groups = {"commands": "aaa evil", "checks": "evil redaction offline", "defaults": "evil", "plugins": "evil"}
    groups |= {"application": "Holdfast Config", "backends": "evil", "methods": "evil"}
    entries = "".join(
        f"[holdfast.{group}]\n" + "".join(f"{name} = evil_module:x\n" for name in names.split())
        for group, names in groups.items()
    )
    site = tmp_path / "site"
    (site / "evil-1.0.dist-info").mkdir(parents=True)
    (site / "evil-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n")
    (site / "evil-1.0.dist-info" / "entry_points.txt").write_text(entries)
    (site / "evil_module.py").write_text(f"open({str(tmp_path / 'pwned')!r}, 'w').close()\ndef x(*_): ...\n")
    offered = "completion words aa"
    changes = ("config", "completion words config ", "config storage.x 2", "config plugins.evil.x 2")
    for words in ("--help", offered, "completion words aaa --x", "doctor", "plugins", "lod", *changes):
        done = finished(
            [sys.executable, "-P", "-m", "holdfast_memory", *words.split()],
            cwd=victim.project,
            env=victim.environment() | {"PYTHONPATH": str(site)},
        )
        assert not (tmp_path / "pwned").exists(), words
        if words in ("--help", offered):
            assert "aaa" in done.stdout


@pytest.mark.parametrize("name", ["\x1b[2Jx\nholdfast: all is well", "../../../.bashrc" + "x" * 300])
def test_a_hostile_name__in_an_event__forges_no_line_and_leaves_no_file_elsewhere(name, victim):
    victim.clone(lambda project: None)
    before = victim.outside()
    for event, more in (
        ("SessionStart", {"source": name}),
        ("UserPromptSubmit", {"prompt": name, "prompt_id": name}),
        ("PostToolUse", {"tool_name": name, "tool_input": {name: name}, "tool_response": {name: [name]}}),
        ("PreCompact", {"trigger": name}),
        ("SessionEnd", {"reason": name}),
    ):
        ran = victim.hook(event, **{**more, "session_id": name, "agent_id": name})
        assert "\x1b" not in ran.text
    told = victim.look_around()
    assert victim.outside() == before
    assert "\x1b" not in told
    assert "\nholdfast: all is well" not in told


def test_an_event__with_a_transcript_that_is_no_conversation__copies_nothing_of_it(victim):
    victim.clone(lambda project: None)
    private = victim.home / ".ssh" / "id_ed25519"
    private.write_text("-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEA\n-----END OPENSSH PRIVATE KEY-----\n")
    for path in (private, victim.home / ".ssh", Path("/dev/zero"), Path("/proc/self/environ")):
        victim.hook("UserPromptSubmit", prompt="hello", prompt_id="p1", transcript_path=str(path))
        victim.hook("PreCompact", trigger="auto", transcript_path=str(path))
    everything = b"".join(victim.inside().values()).decode(errors="replace")
    assert "b3BlbnNzaC1rZXktdjEA" not in everything
    assert "made-up-gitea-token" not in everything


def test_mcp_arguments__of_a_hostile_kind__leave_the_project_alone(victim):
    pytest.importorskip("mcp")
    victim.clone(lambda project: None)
    before = victim.outside()
    calls = [
        {"name": name, "arguments": dict.fromkeys(texts, value)}
        for name, texts in (("flush", ("session", "objective", "next_step")), ("remember", ("content",)),
                            ("search_facts", ("query",)), ("open", ("name", "place")), ("work", ("id", "because")))
        for value in ("../../../.bashrc", "/etc/passwd", "a\n# forged\x00")
    ]  # fmt: skip
    said = victim.mcp(*(("tools/call", call) for call in calls))
    assert victim.outside() == before
    assert "root:x:0" not in said
