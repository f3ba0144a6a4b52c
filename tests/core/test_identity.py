"""``[identity]``: who and which machine a flush names, when the user wants it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.plugins.agents.test_hook_restore import STATED
from tests.support.trusting import trusted

from holdfast import Holdfast, Receipt
from holdfast.cli import main
from holdfast.config import identity
from holdfast.config.values import IdentityConfig

ON = '[identity]\nrecord = true\nperson = "{}"\nmachine = "laptop"\n'


def project(folder: Path, text: str) -> Path:
    (folder / "holdfast.toml").write_text(text)
    return trusted(folder)


def flushed(root: Path, fact: str) -> Receipt:
    with Holdfast.open(root) as memory:
        session = memory.session("one")
        session.add("user", "Go on")
        return session.flush(STATED.evolve(facts=(fact,)))


def note(root: Path) -> str:
    return "".join(path.read_text() for path in (root / ".holdfast" / "memory").glob("*.md"))


def test_flush__identity_on__is_in_the_receipt_and_once_in_the_block(project_folder: Path) -> None:
    root = project(project_folder, ON.format("Ana"))
    receipt = flushed(root, "The port is 8443")
    assert receipt.by == "Ana@laptop"
    assert note(root).count("<!-- by=Ana@laptop -->") == 1
    with Holdfast.open(root) as memory:
        assert memory.session("one").last_receipt == receipt
        assert memory.session("one").flush().repeated
        assert "by=Ana" not in memory.load().text


def test_flush__identity_not_set__names_nobody(project_folder: Path) -> None:
    receipt = flushed(project_folder, "The port is 8443")
    assert receipt.by == ""
    assert "<!-- by=" not in note(project_folder)


def test_flush__block_is_lost__is_written_again_with_its_origin(project_folder: Path) -> None:
    root = project(project_folder, ON.format("Ana"))
    flushed(root, "The port is 8443")
    for path in (root / ".holdfast" / "memory").glob("*.md"):
        path.unlink()
    with Holdfast.open(root) as memory:
        memory.session("one").flush()
    assert note(root).count("<!-- by=Ana@laptop -->") == 1


def test_cloned_project__sets_a_person__it_is_not_in_force(project_folder: Path) -> None:
    (project_folder / "holdfast.toml").write_text(ON.format("Mallory"))
    assert flushed(project_folder, "The port is 8443").by == ""


@pytest.mark.parametrize("person", ["ana@mail.example.org", "Ana --> <!-- by=x", "Ana\nBob"])
def test_described__name_with_an_address_or_a_comments_end__holds_neither(person: str) -> None:
    told = identity.described(IdentityConfig(record=True, person=person, machine="laptop"))
    assert "mail" not in told
    assert "-->" not in told
    assert "\n" not in told


def test_facts__by__lists_those_of_that_person_alone(project_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = project(project_folder, ON.format("Ana"))
    flushed(root, "The port is 8443")
    project(root, ON.format("Bob"))
    flushed(root, "The host is alpha")
    capsys.readouterr()
    assert main(["--root", str(root), "facts", "--by", "bob", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["facts"]
    assert [(row["content"], row["by"]) for row in rows] == [("The host is alpha", "Bob@laptop")]
    assert main(["--root", str(root), "facts", "--by", "laptop"]) == 0
    assert "Ana@laptop" in capsys.readouterr().out


@pytest.fixture
def project_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder
