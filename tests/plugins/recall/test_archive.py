"""``[retention] turns = "forever"``: turns past retention stay searchable, and purge and scrub reach into them."""

from __future__ import annotations

import gzip
import json
from datetime import date
from pathlib import Path

import pytest
from tests.support.forget import holding

from holdfast.errors import Corrupt
from holdfast_app.config import RetentionConfig
from holdfast_app.sessions import archive

FOREVER = RetentionConfig(turns="forever")


def in_archives(project: Path, text: str) -> list[str]:
    """Archive files that hold ``text`` when decompressed."""
    found = (project / ".holdfast/state/archive").rglob("*.gz")
    return [path.name for path in found if text.encode() in gzip.decompress(path.read_bytes())]


@pytest.fixture
def memory(opened, payload, clock):
    """A session of 2026-11 that ended and is past retention, archived; and one that goes on."""
    made = opened(retention=FOREVER)
    old = made.session("old")
    old.add("user", "Which lock do we take?", message_id="o1")
    old.add("assistant", "Zookeeper, as Xanthippe said", message_id="o2")
    old.add("user", "Fine, and the herons?", message_id="o3")
    old.end(payload())
    clock.tick(days=40)
    made.session("new").add("user", "Something else", message_id="n1")
    report = made.retention()
    assert [one.kind for one in report.removed if "journals" in one.kind] == ["archived journals"]
    return made


def test_retention__turns_forever__journal_becomes_a_documented_archive_file(memory, project: Path) -> None:
    state = project / ".holdfast/state"
    assert not (state / "sessions/old.jsonl").exists()
    lines = gzip.decompress((state / "archive/2026-11/old.jsonl.gz").read_bytes()).decode().splitlines()
    rows = [json.loads(line) for line in lines]
    assert [(row["session"], row["id"], row["role"]) for row in rows] == [
        ("old", "o1", "user"), ("old", "o2", "assistant"), ("old", "o3", "user"),
    ]  # fmt: skip
    assert rows[1]["text"] == "Zookeeper, as Xanthippe said"
    assert rows[1]["at"].startswith("2026-11-21T14:30")


def test_retention__killed_between_archive_and_removal__nothing_twice(memory, payload, clock, project: Path) -> None:
    session = memory.session("new")
    session.end(payload())
    said = [entry.record for entry in session.journal.of_kinds("message")]
    archive.add(memory.services.state, "new", said, clock())
    clock.tick(days=40)
    memory.retention()
    assert [one["id"] for one in archive.messages(memory.services.state, "new")] == ["n1"]


@pytest.mark.parametrize("what", [{"subject": "Xanthippe"}, {"session": "old"}, {"before": date(2026, 12, 1)}])
def test_purge__archived_turns__no_byte_left_even_decompressed(memory, project: Path, what) -> None:
    assert memory.search("zookeeper", kinds=["turn"])
    assert in_archives(project, "Xanthippe")
    assert not memory.purge(**what, dry_run=True).clean or in_archives(project, "Xanthippe")
    report = memory.purge(**what)
    assert report.clean, report.left
    assert in_archives(project, "Xanthippe") == holding(project, "Xanthippe") == []
    assert bool(in_archives(project, "herons")) == ("subject" in what)
    assert not memory.search("zookeeper", kinds=["turn"])


@pytest.mark.parametrize("damage", ["cut", "text", "line"])
def test_archive__damaged__named_by_purge_and_search_and_removed_by_purge_all(
    memory, project: Path, damage: str
) -> None:
    path = project / ".holdfast/state/archive/2026-11/old.jsonl.gz"
    data = path.read_bytes()
    path.write_bytes({"cut": data[:-20], "text": b"no archive", "line": gzip.compress(b"no json\n")}[damage])
    assert memory.search("something zookeeper").unread == ("archive/2026-11/old.jsonl.gz",)
    with pytest.raises(Corrupt):
        archive.messages(memory.services.state, "old")
    report = memory.purge(subject="Xanthippe")
    if damage != "line":  # a line that is not JSON is searched as bytes
        assert [one.name for one in report.left] == [".holdfast/state/archive/2026-11/old.jsonl.gz"]
    assert memory.purge(everything=True).clean
    assert not path.exists()
