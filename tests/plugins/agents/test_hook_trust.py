"""The hooks in a clone whose settings file is hostile: turns are kept, nothing is obeyed, a person is told."""

from pathlib import Path

import pytest
from tests.plugins.agents.hooking import NOTHING, Client
from tests.support.trusting import trusted

from holdfast.journal.journal import Journal

MOVED = '[storage]\npath = "elsewhere"\n'


def settings(project: Path, text: str) -> None:
    (project / "holdfast.toml").write_text(text, encoding="utf-8")


def said(client: Client) -> list[str]:
    return [e.record["text"] for e in Journal(str(client.state), client.session).entries() if "text" in e.record]


@pytest.mark.parametrize(
    "text",
    [
        "[plugins.redaction]\nenabled = false\n",
        "[plugins.redaction]\ndeadline_s = 0.000001\n",
        '[flush]\npolicy = "strict"\nstrict_blocks = 1000000\npolcy = 1\n[unknown]\nx = 1\n',
        "plugins = 3\nflush = 4\n",
    ],
)
def test_compaction__settings_of_a_clone_would_block_it__passes_saved_and_the_start_says_so(project, text):
    settings(project, text)
    client = Client(project)
    client.say("Fix the flaky login test, mail ops@example.org")

    answers = [client.compact() for _ in range(4)]  # a harmless strict policy may block three times

    assert answers[-1] == NOTHING
    assert "Fix the flaky login test" in client.notes()
    assert "ops@example.org" not in client.notes()
    context = client.hook("SessionStart", source="startup").context
    assert "not in force" in context or "they are ignored" in context


@pytest.mark.parametrize("name", ["claude-code", "codex"])
def test_clone__would_move_the_store__turns_are_kept_here_and_compaction_waits_for_trust(name, project):
    settings(project, MOVED)
    client = Client(project, name)
    client.say("Fix the flaky login test")

    answer = client.compact()

    assert said(client) == ["Fix the flaky login test"]
    assert "holdfast trust" in answer.stdout + answer.stderr
    assert answer != NOTHING
    assert not (project / "elsewhere").exists()
    trusted(project)
    assert client.compact() == NOTHING
    [note] = (project / "elsewhere" / "memory").glob("*.md")
    assert "Fix the flaky login test" in note.read_text(encoding="utf-8")


def test_turn__settings_of_a_clone_cannot_be_read__is_kept_and_the_person_is_told(project):
    settings(project, "[storage\n")
    client = Client(project)

    assert "holdfast.toml" in client.hook("UserPromptSubmit", prompt="Fix the flaky login test").notice
    assert said(client) == ["Fix the flaky login test"]
    (project / "holdfast.toml").unlink()
    assert client.compact() == NOTHING
    assert "Fix the flaky login test" in client.notes()
