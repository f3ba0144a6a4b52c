"""What the tests of purge, scrub and retention share: a project full of one subject, and a look at every byte of it."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from holdfast.api import Fact, StorageConfig
from holdfast.journal.safety import Marker, begin

#: In the forms in which people and programs write it.
SUBJECT = "Zoë Müller-Ångström"
FORMS = (
    SUBJECT,
    SUBJECT.upper(),
    "Zoe\u0308 Mu\u0308ller-A\u030angstro\u0308m",
    json.dumps(SUBJECT)[1:-1],
    "ZOË\u00a0 MÜLLER-ÅNGSTRÖM",
)
BACKENDS = ("file", "sqlite")


def storage(backend: str) -> StorageConfig:
    """The settings of a local store."""
    return StorageConfig(backend=backend)


def holding(folder: Path, *texts: str) -> list[str]:
    """Files below ``folder`` whose bytes hold one of ``texts``, as UTF-8, UTF-16 or JSON, in any case."""
    forms = {form for t in texts for form in (t, t.upper(), t.lower(), json.dumps(t)[1:-1])}
    raw = [f.encode(codec) for f in forms for codec in ("utf-8", "utf-16-le", "utf-16-be")]
    return sorted(
        p.relative_to(folder).as_posix()
        for p in folder.rglob("*")
        if p.is_file() and any(r in p.read_bytes() or r in p.name.encode() for r in raw)
    )


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file with its bytes, but for the one that SQLite's readers share."""
    found = (p for p in folder.rglob("*") if p.is_file() and not p.name.endswith("-shm"))
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in found}


def fill(memory: Any, payload: Any, project: Path) -> None:
    """Put the subject into every place there is, beside what has to stay."""
    said = memory.session("talk")
    said.add("user", f"Write to {SUBJECT} about the release", message_id="m1")
    said.add("assistant", "The release is on Friday", message_id="m2")
    said.flush(
        payload(
            objective=f"Write to {FORMS[1]}",
            facts=[f"{SUBJECT} is on leave", "The token expires after 60 s"],
            decisions=["Use a lock"],
            follow_ups=[f"Call {FORMS[2]}", "Tell Ana"],
            state_mutations=[{"kind": "status", "target": "owner/repo#12", "summary": f"asked {SUBJECT}"}],
            curated={"memory": [f"{SUBJECT} signs releases", "Python 3.11 is the minimum"], "user": ["Likes tabs"]},
        )
    )
    said.compact(1)
    said.add("user", f"and {FORMS[4]} again", message_id="m3")
    other = memory.session("other")
    other.add("user", "Nothing about people here", message_id="o1")
    other.flush(payload(objective="Clean up"))
    facts = memory.facts
    facts.create(f"{SUBJECT} prefers mail", "preference", 0.9)
    facts.create("Prefers tabs", "preference", 0.9, source=SUBJECT)
    facts.create("The CI runs on Debian", "knowledge", 0.9)
    gone = facts.create(f"Ask {SUBJECT} first", "behavior", 0.9)
    facts.delete(gone.fact.id)
    store = memory.store.backend
    for name in ("memory/dreams/2026-11-20.md", "memory/reports/2026-11-20.md", "briefings/b.md", "profile.md"):
        store.write(name, f"# Title\n\n- about {SUBJECT}\n- about work\n\nZoë\nMüller-Ångström spread over lines\n")
    private = Path(memory.services.state)
    begin(str(private), Marker(session="gone", at="2026-11-21T10:00:00Z", reason="end", pending={"summary": SUBJECT}))
    row = {"at": "2026-11-20T10:00:00Z", "event": "evicted", "id": "fact_0", "why": "x"}
    trail = private / "facts.log.jsonl"
    rows = [*trail.read_text(encoding="utf-8").splitlines(), json.dumps({**row, "content": SUBJECT}), json.dumps(row)]
    trail.write_text("".join(line + "\n" for line in rows), encoding="utf-8")
    (private / "dreams").mkdir()
    (private / "dreams" / "MEMORY.2026-11-20.md").write_text(f"- {FORMS[2]}\n- stays\n", encoding="utf-8")
    status = {"error": f"no {SUBJECT}", "hash": "abc", "seen": {"zoë müller ångström again": 1, "tabs": 2}}
    (private / "status.json").write_text(json.dumps(status))
    (private / "sessions" / "talk.jsonl.damaged-00000000").write_bytes(b"\xff" + SUBJECT.encode() + b"\nwhole\n")
    (private / "append.intent").write_bytes(b'{"document": "x"}\n' + SUBJECT.encode())
    (private / "utf16.txt").write_bytes(SUBJECT.encode("utf-16"))
    (project / ".holdfast" / ".holdfast-1-abc.tmp").write_text(SUBJECT)


def fact(number: int, content: str, created: datetime | None = None, source: str = "") -> Fact:
    """A fact to store directly."""
    return Fact(
        id=f"fact_{number:08x}",
        content=content,
        category="knowledge",
        confidence=0.9,
        created_at=created or datetime(2026, 11, 21, tzinfo=UTC),
        source=source,
    )
