"""``holdfast search`` as a user sees it: the lines around a match, marked words, and nothing else on the way."""

import json
from pathlib import Path

import pytest
from tests.support import processes

from holdfast import Holdfast
from holdfast_cli import main


@pytest.fixture
def search(opened, project, monkeypatch, capsys):
    """``search(WORDS)`` after a talk of four turns and a memory document: the output."""
    memory = opened()
    for number, (role, text) in enumerate(
        [
            ("user", "Which database do we take?"),
            ("assistant", "SQLite, because it needs no server"),
            ("user", "Then the certificate: who renews it?"),
            ("assistant", "Ana renews it in March"),
        ]
    ):
        memory.session("talk").add(role, text, message_id=f"m{number}")
    (project / ".holdfast/MEMORY.md").write_text("# Memory\n\n- The osprey is the server\n- The kestrel is the proxy\n")
    memory.facts.create("The heron is the queue", "knowledge", 0.9)
    memory.facts.create("The stork is the cache", "knowledge", 0.9)
    memory.close()
    monkeypatch.chdir(project)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)

    def run(*words: str) -> str:
        capsys.readouterr()
        assert main(("search", *words)) == 0
        return capsys.readouterr().out

    return run


def test_search__turn_found__shown_with_the_line_before_and_after_it(search):
    lines = search("sqlite").splitlines()
    assert lines[0].startswith("session talk, turn m1 assistant 2026-11-21")
    assert lines[1:4] == [
        "  user: Which database do we take?",
        "> SQLite, because it needs no server",
        "  user: Then the certificate: who renews it?",
    ]


def test_search__short__grouped_and_at_most_1500_characters(search, opened):
    with opened() as memory:
        for number in range(40):
            memory.session("long").add("user", f"The heron {number} is {'very ' * 60}busy")
    said = search("--short", "the", "heron")
    assert "Holds now:\n- [fact knowledge 2026-11-21 14:30] name='' place='fact_" in said
    assert "Where it was said:\n- [turn user" in said
    assert "more: add words, a kind or a day." in said
    assert len(said.strip()) <= 1_500


def test_search__everywhere__trusted_projects_each_hit_with_its_own(search, project):
    for name in ("other", "untrusted"):
        project.with_name(name).mkdir()
        with Holdfast.open(project.with_name(name)) as memory:
            memory.facts.create(f"The heron of {name} is grey", "knowledge", 0.9)
    (project.with_name("untrusted") / "holdfast.toml").write_text('[plugins.openai]\nbase_url = "https://x.example"\n')
    found = json.loads(search("--everywhere", "--json", "heron"))
    assert {Path(hit["project"]).name: hit["excerpt"] for hit in found["hits"]} == {
        "project": "The heron is the queue",
        "other": "The heron of other is grey",
    }
    assert "untrusted (its settings are not trusted)" in found["warning"]
    assert "/other: fact_" in search("--everywhere", "heron")


def test_search__damaged_journal__named_once(project):
    with Holdfast.open(project) as memory:
        for number in range(3):
            memory.session("talk").add("user", f"an apple {number}", message_id=f"m{number}")
    path = project / ".holdfast/state/sessions/talk.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], b"no record at all\n", *lines[2:]]))
    said = processes.run("--root", str(project), "search", "apple")
    assert said.stderr.count("talk.jsonl") == 1
    silent = processes.run("--root", str(project), "search", "apple", "--json")
    assert json.loads(silent.stdout)["unread"] == ["talk.jsonl"]
    assert silent.stderr == ""
