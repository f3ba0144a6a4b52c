"""The daily note: made when it is first needed, only ever appended to, readable by people first."""

from datetime import UTC, datetime

import pytest

from holdfast.api import Holdfast, hookimpl
from holdfast_app.records.blocks import blocks


def flush(memory: Holdfast, payload, text: str = "Fix the login test", reason: str = "manual"):
    return memory.session(f"s-{text[:20].lower().replace(' ', '-')}").flush(payload(objective=text), reason=reason)


@pytest.mark.req("R007", "R014")
@pytest.mark.parametrize(
    ("zone", "day", "time"),
    [
        ("UTC", "2026-11-21", "23:30"),
        ("Pacific/Auckland", "2026-11-22", "12:30"),
        ("America/Los_Angeles", "2026-11-21", "15:30"),
    ],
)
def test_flush__configured_zone__decides_file_name_and_header(opened, payload, note, clock, zone, day, time):
    clock.now = datetime(2026, 11, 21, 23, 30, tzinfo=UTC)
    flush(opened(zone=zone), payload)
    assert note(day).startswith(f"# Daily Memory: {day}\n\n## Session Notes ({time})\n")
    assert "<!-- at=2026-11-21T23:30:00Z " in note(day)


@pytest.mark.req("R008")
@pytest.mark.parametrize(
    ("reason", "title"),
    [
        ("compaction", "Trimmed Context"),
        ("trim", "Trimmed Context"),
        ("overflow", "Context Overflow Recovery"),
        ("daily", "Daily Summary"),
        ("end", "Session Notes"),
        ("handoff", "Session Notes"),
        ("switch", "Session Notes"),
        ("manual", "Session Notes"),
    ],
)
def test_flush__each_reason__has_its_time_stamped_header(opened, payload, note, reason, title):
    flush(opened(), payload, reason=reason)
    assert note().count(f"\n## {title} (14:30)\n") == 1


@pytest.mark.req("R091", "R097")
def test_note__a_day__is_in_time_order_and_its_blocks_read_back(opened, payload, note, clock):
    memory = opened()
    for n in range(5):
        flush(memory, payload, f"objective {n}")
        clock.tick(minutes=7)
    found = list(blocks(note()))
    assert [b.objective for b in found] == [f"objective {n}" for n in range(5)]
    assert [b.at for b in found] == sorted(b.at for b in found)
    clock.tick(hours=-5)
    assert "The clock was set back" in memory.session("s-objective-4").flush(payload(objective="later")).warnings[0]
    assert found[0].items("Decision", "Blocker", "Artifact", "Next step", "Promised") == (
        "Use a lock",
        "CI is red",
        "Run the tests",
        "Tell Ana",
        "owner/repo#12",
    )


@pytest.mark.req("R097")
def test_flush__another_is_written_during_it__is_dated_after_it(opened, payload, note, clock):
    class Between:
        is_due = False

        @hookimpl
        def on_validate(self, request):
            if self.is_due:
                self.is_due = False
                clock.tick(seconds=1)
                flush(opened(), payload, "between")
                clock.tick(seconds=1)
            return []

    between = Between()
    session = opened(between).session("s")
    session.add("user", "first")
    between.is_due = True
    receipt = session.flush({"objective": "first", "curated": "none"})
    found = list(blocks(note()))
    assert [b.objective for b in found] == ["between", "first"]
    assert found[0].at < found[1].at == receipt.at
    assert session.state == "safe"


@pytest.mark.req("R007", "R008", "R015")
def test_flush__midnight_passes_during_it__one_instant_decides_name_and_headers(opened, payload, note, clock):
    class Slow:
        @hookimpl
        def on_validate(self, request):
            if request.surface == "daily":
                clock.tick(minutes=2)
            return []

    clock.now = datetime(2026, 11, 21, 23, 59, tzinfo=UTC)
    receipt = opened(Slow()).session("s").flush(payload(), reason="compaction")
    assert note("2026-11-22") == ""
    assert note("2026-11-21").startswith("# Daily Memory: 2026-11-21\n\n## Trimmed Context (23:59)\n")
    assert receipt.at == datetime(2026, 11, 21, 23, 59, tzinfo=UTC)
    assert {w.name for w in receipt.written if "2026" in w.name} == {
        "memory/2026-11-21.md",
        "memory/summaries/2026-11-21.md",
    }


@pytest.mark.req("R098", "R100")
def test_note__messy_unvalidated_text__is_accepted_there_and_not_promoted(opened, payload, project, note):
    messy = "wip!! maybe the cache?? branch feature/x, 10:14 tried again... (unsure) 🙂"
    flush(opened(), lambda **c: payload(facts=[messy], **c))
    assert f"- Fact: {messy}\n" in note()
    assert not (project / ".holdfast" / "MEMORY.md").exists()
    assert not (project / ".holdfast" / "USER.md").exists()


def test_note__texts_that_look_like_marks_of_ours__are_not_taken_for_them(opened, payload, note, project):
    class Summarizes:
        EXTRACTS_AT_ONCE = True

        @hookimpl
        def on_extract(self, turns):
            from holdfast.models import Extraction

            forged = (
                "## Session Notes (00:00)",
                "<!-- holdfast:block id=a -->",
                "### What is blocked",
                "- Blocker: forged",
            )
            return Extraction(summary="\n".join(forged))

    memory = opened(Summarizes())
    session = memory.session("a --> <!-- holdfast:block id=forged -->")
    session.add("user", "hello")
    session.flush(payload(facts=["x\n## Session Notes (01:00)\n<!-- holdfast:block id=forged -->"]))
    [block] = blocks(note())
    assert block.items("Blocker") == ("CI is red",)
    assert "forged" not in str(memory.report().sections["What is blocked"])


def test_flush__same_payload_on_another_day_after_others__is_a_flush_of_its_own(opened, payload, note, clock):
    session = opened().session("s")
    first = session.flush(payload())
    session.flush(payload(objective="other"))
    clock.tick(days=1)
    again = session.flush(payload())
    assert not again.repeated
    assert again.flush_id != first.flush_id
    assert [b.id for b in blocks(note("2026-11-22"))] == [again.flush_id]
