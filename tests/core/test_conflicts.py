"""What a git merge left in two versions is named, loaded as far as it can be, and put together on request."""

from difflib import SequenceMatcher
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.models import Outcome
from holdfast_app.checkup import examine as doctor
from holdfast_app.records.blocks import blocks
from holdfast_file import conflicts


def merged(ours: str, theirs: str, base: str | None = None) -> str:
    middle = f"||||||| base\n{base}" if base is not None else ""
    return f"<<<<<<< HEAD\n{ours}{middle}=======\n{theirs}>>>>>>> other\n"


_LINES = st.lists(st.sampled_from(["a\n", "b\n", "## c\n", "\n", "====\n", "\r\n"]), max_size=5).map("".join)


@given(_LINES, _LINES, _LINES, _LINES)
def test_sides__any_text__are_what_went_in(before, ours, theirs, after):
    text = before + merged(ours, theirs) + merged(theirs, ours, "base\n") + after
    assert len(conflicts.find(text)) == 2
    assert conflicts.sides(text) == (before + ours + theirs + after, before + theirs + ours + after)


@pytest.fixture
def conflicted(opened, payload, project) -> Path:
    """Two branches with a session and a fact each, merged as git leaves them."""
    home = project / ".holdfast"
    opened().session("base").flush(payload(objective="Base"))
    opened().facts.create(content="The base", category="knowledge", confidence=0.9)
    base = {p: p.read_text() for p in (*home.glob("memory/*.md"), home / "facts.jsonl")}
    sides = []
    for name in ("ours", "theirs"):
        for path, text in base.items():
            path.write_text(text)
        opened().session(name).flush(payload(objective=f"Objective of {name}", state_mutations=[]))
        opened().facts.create(content=f"A fact of {name}", category="knowledge", confidence=0.9)
        sides.append({p: p.read_text() for p in (*base, home / "continuity/active.md")})
    for path in base:
        ours, theirs = (side[path].removeprefix(base[path]).splitlines(keepends=True) for side in sides)
        text = base[path]
        for kind, a, b, c, d in SequenceMatcher(None, ours, theirs).get_opcodes():  # as git: by line, not by block
            text += "".join(ours[a:b]) if kind == "equal" else merged("".join(ours[a:b]), "".join(theirs[c:d]))
        path.write_text(text)
    handoff = home / "continuity/active.md"
    handoff.write_text(merged(sides[0][handoff], sides[1][handoff]))
    (home / "MEMORY.md").write_text("# Memory\n" + merged("- a\n", "- b\n"))
    return home


def test_validate__conflicts__named_with_file_and_line(conflicted, opened):
    found = [f for f in opened().validate().errors if f.rule == "document/conflict"]
    assert {f.name.rpartition("/")[2] for f in found} >= {"MEMORY.md", "active.md"}
    assert all(f.line for f in found)


def test_load__conflicts__goes_on_with_both_sides_and_names_them(conflicted, opened):
    brief = opened().load()
    assert {"ours", "theirs"} <= {w.session for w in brief.work}
    assert "**CONFLICT:** MEMORY.md has git conflict markers in lines 2-6." in str(brief)
    assert "- b" in str(brief)


def test_doctor__conflicts__named_and_fix_keeps_both_sides_once_and_a_copy(conflicted, opened, project):
    found = [c for c in doctor.examine(str(project)) if c.name == "conflicts"]
    assert {c.outcome for c in found} == {Outcome.FAIL}
    assert len(found) == 4
    before = {
        p: p.read_bytes() for p in conflicted.rglob("*") if p.is_file() and "<<<<<<<" in p.read_text("utf-8", "replace")
    }
    doctor.examine(str(project), repair=True)
    [left] = [c for c in doctor.examine(str(project)) if c.name == "conflicts"]
    assert left.message.startswith("MEMORY.md has"), "curated lines are a person's to choose"
    assert sorted(f.content for f in opened().facts.list()) == [
        "A fact of ours",
        "A fact of theirs",
        "The base",
        "The token expires after 60 s",
    ]
    [note] = conflicted.glob("memory/*.md")
    found = [(block.session, block.objective) for block in blocks(note.read_text())]
    assert found == [("base", "Base"), ("ours", "Objective of ours"), ("theirs", "Objective of theirs")]
    assert "<<<<<<<" not in note.read_text()
    copies = [p.read_bytes() for p in (conflicted / "state/conflicts").iterdir()]
    assert sorted(copies) == sorted(data for path, data in before.items() if path.name != "MEMORY.md")
