"""``[identity]``: who and which machine a flush names, when the user wants it."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.plugins.agents.test_hook_restore import STATED
from tests.support.trusting import trusted

from holdfast.api import Holdfast, Receipt, Remove
from holdfast_app.authorship.origin import origin_of
from holdfast_app.config import IdentityConfig
from holdfast_app.facts.store import origins
from holdfast_cli import main

ON = '[identity]\nrecord = true\nperson = "{}"\nmachine = "laptop"\n'


def settled(folder: Path, text: str) -> Path:
    (folder / "holdfast.toml").write_text(text)
    return trusted(folder)


def flushed(root: Path, fact: str) -> Receipt:
    with Holdfast.open(root) as memory:
        session = memory.session("one")
        session.add("user", "Go on")
        return session.flush(STATED.evolve(facts=(fact,)))


def test_flush__identity_on__is_in_the_receipt_and_once_in_the_block(project):
    root = settled(project, ON.format("Ana"))
    receipt = flushed(root, "The port is 8443")
    assert receipt.by == "Ana@laptop"
    [note] = (root / ".holdfast" / "memory").glob("*.md")
    assert note.read_text().count("<!-- by=Ana@laptop -->") == 1
    with Holdfast.open(root) as memory:
        assert memory.session("one").last_receipt == receipt
        assert memory.session("one").flush().repeated
        assert "by=Ana" not in memory.load().text


def test_flush__two_people_share_an_account__git_tells_them_apart(project, monkeypatch):
    root = settled(project, '[identity]\nrecord = true\nmachine = "desk"\n')
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Ana Lee")
    assert flushed(root, "The port is 8443").by == "Ana Lee@desk"
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Bo")
    assert flushed(root, "The host is db1").by == "Bo@desk"


@pytest.mark.parametrize("person", ["ana@mail.example.org", "Ana --> <!-- by=x", "Ana\nBob"])
def test_described__name_with_an_address_or_a_comments_end__holds_neither(person):
    told = origin_of(IdentityConfig(record=True, person=person, machine="laptop"))
    assert "mail" not in told
    assert "-->" not in told
    assert "\n" not in told


def test_facts__by__lists_those_of_that_person_alone(project, capsys):
    root = settled(project, ON.format("Ana"))
    flushed(root, "The port is 8443")
    settled(root, ON.format("Bob"))
    flushed(root, "The host is alpha")
    capsys.readouterr()
    assert main(["--root", str(root), "facts", "--by", "bob", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["facts"]
    assert [(row["content"], row["by"]) for row in rows] == [("The host is alpha", "Bob@laptop")]
    assert main(["--root", str(root), "facts", "--by", "laptop"]) == 0
    assert "Ana@laptop" in capsys.readouterr().out


@contextlib.contextmanager
def machine(root: Path, person: str) -> Iterator[Holdfast]:
    """The project, opened as ``person`` on that person's machine."""
    settled(root, ON.format(person))
    with Holdfast.open(root) as memory:
        yield memory


def test_remember__two_machines_said_the_old_value__it_stays_for_the_one_that_said_no_other(project):
    for person, port in (("Ana", 1), ("Bob", 1), ("Ana", 2)):
        with machine(project, person) as memory:
            memory.facts.remember(f"The port is {port}")
            found = {fact.content: origins.places(fact.source) for fact in memory.facts.list()}
    assert found == {"The port is 1": {"Bob@laptop"}, "The port is 2": {"Ana@laptop"}}


def test_remember__origin_of_the_older_one_is_unknown__newer_value_replaces(project):
    with Holdfast.open(project) as memory:
        memory.facts.remember("The deploy branch is main")
    with machine(project, "Bob") as memory:
        assert len(memory.facts.remember("The deploy branch is release").replaced) == 1


def test_flush__two_machines_state_different_values__both_stay_and_the_prompt_names_them(project):
    for person, port in (("Ana", 8443), ("Bob", 9443)):
        root = settled(project, ON.format(person))
        flushed(root, f"The port is {port}")
    with Holdfast.open(project) as memory:
        text = memory.prompt()
    assert "The port is 8443 (Ana@laptop says so, " in text
    assert "The port is 9443 (Bob@laptop says so, " in text


def disagree(root: Path) -> None:
    for person, port in (("Ana", 8443), ("Bob", 9443)):
        with machine(root, person) as memory:
            memory.facts.remember(f"The port is {port}")


def test_facts_keep__a_person_decides__the_other_value_is_in_the_log_alone(project, capsys):
    disagree(project)
    run = ["--root", str(project)]
    assert main([*run, "doctor"]) == 0
    assert "different values for one thing" in capsys.readouterr().out
    assert main([*run, "facts", "conflicts", "--json"]) == 0
    (facts,) = json.loads(capsys.readouterr().out)["conflicts"]
    assert [row["by"] for row in facts] == ["Bob@laptop", "Ana@laptop"]
    assert main([*run, "facts", "keep", facts[1]["id"]]) == 0
    with Holdfast.open(project) as memory:
        assert [fact.content for fact in memory.facts.list()] == ["The port is 8443"]
        (event,) = memory.facts.trail.entries()
    assert (event.event, event.content, event.by) == ("replaced", "The port is 9443", facts[1]["id"])


def test_dream__two_machines_disagree__newest_value_stays(project):
    disagree(project)
    with machine(project, "Ana") as memory:
        memory.deep_dream(dry_run=True)
        assert len(memory.facts.list()) == 2
        memory.deep_dream()
        assert [fact.content for fact in memory.facts.list()] == ["The port is 9443"]


def test_export_and_import__facts_with_origin__keep_it(project, tmp_path):
    disagree(project)
    with Holdfast.open(project) as memory:
        rows = list(memory.facts.export())
    other = tmp_path / "other"
    other.mkdir()
    with machine(other, "Cleo") as memory:
        memory.facts.import_(rows)
        assert {origins.of(fact.source) for fact in memory.facts.list()} == {"Ana@laptop", "Bob@laptop"}


def test_purge__of_the_session__takes_its_facts_although_they_name_an_origin(project):
    root = settled(project, ON.format("Ana"))
    flushed(root, "The port is 8443")
    with Holdfast.open(root) as memory:
        assert origins.unsigned(memory.facts.list()[0].source).startswith("flush_")
        memory.purge(session="one")
        assert memory.facts.list() == []


def test_remember__another_machine_states_the_old_value_meanwhile__it_stays_for_that_machine(project, monkeypatch):
    with machine(project, "Ana") as ana, machine(project, "Bob") as bob:
        ana.facts.remember("The port is 8080")
        backend = ana.store.backend
        commit = backend.commit

        def late(changes=(), **named):
            if any(isinstance(one, Remove) for one in changes):
                monkeypatch.setattr(backend, "commit", commit)
                bob.facts.remember("The port is 8080")
            return commit(changes, **named)

        monkeypatch.setattr(backend, "commit", late)
        ana.facts.remember("The port is 8443")
        found = {fact.content: origins.of(fact.source) for fact in bob.facts.list()}
    assert found == {"The port is 8080": "Bob@laptop", "The port is 8443": "Ana@laptop"}
