"""The morning report, and that no summary is ever the only place of a fact or stands in for what it tells of."""

import json
import os
import re
import time
from datetime import datetime
from pathlib import Path

import pytest
from tests.plugins.facts.test_facts import Masker
from tests.plugins.outbox.test_outbox import Board
from tests.support import processes
from tests.support.git import git
from tests.support.trusting import trusted

from holdfast.api import Holdfast, Severity, Unavailable
from holdfast_app.outbox.forge import Activity
from holdfast_app.report.report import SECTIONS, entries, summary

SUMMARY = ".holdfast/memory/summaries/2026-11-21.md"
NOTE = ".holdfast/memory/2026-11-21.md"


@pytest.fixture
def board(project):
    return Board(project)


@pytest.fixture
def flushed(opened, payload):
    """A project with one flush of yesterday that changed state; it is opened anew at half past six in the morning."""
    session = opened().session("s")
    session.add("user", "a secret of the transcript")
    session.flush(payload())
    return opened


@pytest.mark.req("R094", "R163", "R164", "R170", "R183")
def test_morning__yesterday_and_the_night__each_line_has_a_pointer_and_a_second_one_is_the_same(
    flushed, board, clock, payload, project
):
    clock.tick(hours=14)  # half past four in the night
    night = flushed(board).session("night")
    night.add("user", "still a secret")
    changes = [{"kind": "merge", "target": "o/r#2", "summary": "merged"}]
    night.flush(payload(objective="Merge it", decisions=["Merge at night"], state_mutations=changes))
    heartbeat = project / ".holdfast/heartbeat/2026-11-22.md"
    heartbeat.parent.mkdir()
    heartbeat.write_text("# All well at 04:00\n")
    clock.tick(hours=2)
    morning = flushed(board).morning()
    text = str(morning)
    assert morning.since.isoformat() == "2026-11-21T00:00:00+00:00"
    assert list(morning.sections) == [*SECTIONS, "On the forge", "What does not fit together"]
    for told in ("Fix the login test", "Merge it", "Use a lock", "Merge at night", "CI is red", "Promised: Tell Ana"):
        assert told in text
    assert "heartbeat: All well at 04:00  (.holdfast/heartbeat/2026-11-22.md)" in text
    assert "2026-11-21 00:00 o/r#2 comment: merged  (board.jsonl)" in text
    assert all(line.pointer for lines in morning.sections.values() for line in lines)
    assert "secret" not in text
    for path in (project / ".holdfast/state/sessions").iterdir():
        path.unlink()
    clock.tick(minutes=3)
    assert str(flushed(Board(project)).morning()) == text


@pytest.mark.parametrize(
    ("hours", "lost"), [(0.1, ""), (23.9, ""), (6.5, "2026-11-20"), (6.5, "2026-11-21"), (6.5, "HANDOFF")]
)
def test_morning__at_any_hour_and_with_notes_deleted__covers_its_title_and_names_files_that_exist(
    opened, payload, clock, project, hours, lost
):
    for name, day, at in (("before", 20, "23:57"), ("since", 21, "00:03"), ("today", 22, "00:01")):
        clock.now = datetime.fromisoformat(f"2026-11-{day}T{at}:00+00:00")
        session = opened().session(name)
        session.add("user", "Do it")
        session.flush(payload(objective=f"Objective {name}", decisions=[f"Decision of {name}"]))
    clock.tick(hours=hours)
    folder = project / ".holdfast"
    gone = folder / ("continuity/active.md" if lost == "HANDOFF" else f"memory/{lost}.md")
    if lost:
        gone.unlink()
    morning = opened().morning()
    text = str(morning)
    assert f"everything since {morning.since:%Y-%m-%d} 00:00" in text
    assert f"{morning.since:%Y-%m-%d}" == "2026-11-21"
    assert "Decision of before" not in text
    assert ("Decision of since" in text) is (lost != "2026-11-21")
    assert "Decision of today" in text
    named = {word for one in morning.sections.values() for line in one
             for word in re.findall(r"[^\s,]+\.md", line.pointer)}  # fmt: skip
    assert len(named) >= 1
    assert [name for name in named if not (project / name).is_file()] == []


@pytest.mark.req("R164")
def test_morning__nothing_happened__says_where_it_looked(opened):
    morning = opened().morning()
    assert [*morning.sections.values()] == [()] * 7
    assert str(morning).count("\n- nothing  (no note of these days)") == 3
    assert str(morning).count("\n- nothing  (no handoff yet)") == 2
    opened().session("s").add("user", "Wait")
    opened().session("s").flush()
    assert "What changed\n\n- nothing  (.holdfast/memory/2026-11-21.md)" in str(opened().report())


@pytest.mark.parametrize("error", [Unavailable("The board is down.", next_step="Wait."), ValueError("a fault")])
def test_morning__forge_fails__is_made_all_the_same_and_says_so(flushed, board, error):
    def fails(since, until):
        raise error

    board.activity = fails
    morning = flushed(board).morning()
    assert "Fix the login test" in str(morning)
    [remark] = morning.remarks
    assert remark.startswith("the board could not be re")


def test_morning__secret_in_a_comment__is_masked(flushed, board):
    board.activity = lambda since, until: [Activity("comment", "o/r#1", "x", f"say hunter2 {n}", since) for n in "ab"]
    text = str(flushed(board, Masker()).morning())
    assert "say [SECRET] a" in text
    assert "say [SECRET] b" in text


@pytest.mark.req("R160", "R177")
def test_morning__summaries_are_lost__tells_the_same_happenings_and_that_they_are_lost(flushed, project):
    before = flushed().morning()
    (project / SUMMARY).unlink()
    after = flushed().morning()
    assert after.sections["What happened"] == before.sections["What happened"]
    assert "the change is missing from" in after.sections["What does not fit together"][0].text


@pytest.mark.req("R165")
@pytest.mark.parametrize(
    ("line", "severity"),
    [
        ("- **decision** Roll back on Friday", Severity.ERROR),
        ("- **status** owner/repo#12: merged", Severity.ERROR),
        ("Somebody remarked something.", Severity.WARNING),
    ],
)
def test_validate__fact_in_a_summary_alone__is_a_finding_here_and_in_the_morning(flushed, project, line, severity):
    summary = project / SUMMARY
    number = summary.read_text().count("\n") + 1
    summary.write_text(summary.read_text() + line + "\n")
    [finding] = flushed().validate().findings
    assert (finding.rule, finding.severity, finding.line) == ("summary/only-place", severity, number)
    told = str(flushed().morning())
    assert ("appears in no daily note" in told) is (severity is Severity.ERROR)


@pytest.mark.req("R165")
def test_validate__summary_and_kept_report__decisions_stand_in_a_source_or_on_the_forge(flushed, project):
    summary = project / SUMMARY
    summary.write_text(summary.read_text() + "- **decision** Roll back   on Friday\n")
    (project / ".holdfast/MEMORY.md").write_text("# Memory\n\n- roll back on Friday\n")
    kept = project / ".holdfast/memory/reports/2026-11-21.md"
    kept.parent.mkdir()
    kept.write_text(str(flushed().report()))
    assert flushed().validate().findings == ()
    told = (
        "- Deploy on Monday  (.holdfast/memory/2026-11-21.md)\n- Ask Ben  (https://git.test/o/r/issues/1)\n- nothing\n"
    )
    before = kept.read_text()
    for section in ("What changed", "What happened", "Where the proof lives"):
        kept.write_text(before.replace(f"## {section}\n\n", f"## {section}\n\n{told}"))
        [finding] = flushed().validate().errors
        assert (finding.rule, finding.name) == ("summary/only-place", "memory/reports/2026-11-21.md")
        assert kept.read_text().splitlines()[(finding.line or 0) - 1].startswith("- Deploy on Monday")


@pytest.mark.req("R177")
@pytest.mark.parametrize("lost", ["note", "block"])
def test_validate__summary_without_its_note__is_an_error(flushed, project, lost):
    path = project / NOTE
    text = path.read_text()
    if lost == "note":
        path.unlink()
    else:
        path.write_text(text.replace("holdfast:block id=", "holdfast:gone id="))
    errors = flushed().validate().errors
    assert "summary/source" in [f.rule for f in errors]
    assert {f.name for f in errors} == {"memory/summaries/2026-11-21.md"}


@pytest.mark.req("R174", "R141")
@pytest.mark.parametrize("lost", ["summary", "block"])
def test_validate__change_of_state_in_the_note_alone__is_an_error(flushed, project, lost):
    path = project / SUMMARY
    if lost == "summary":
        path.unlink()
    else:
        path.write_text("# Daily Summary: 2026-11-21\n")
    [error] = flushed().validate().errors
    assert (error.rule, error.name) == ("trail/missing", "memory/2026-11-21.md")
    assert "holdfast:block" in (project / NOTE).read_text().splitlines()[(error.line or 0) - 1]


@pytest.fixture
def repo(project) -> Path:
    git(project, "init", "-q", "-b", "main", ".")
    git(project, "commit", "-q", "--allow-empty", "-m", "Fix the login")
    return project


def test_morning__two_forges__each_line_names_its_forge(repo):
    board = Board(repo)
    board.activity = lambda since, until: [Activity("comment", "o/r#1", "x", "well done", until)]  # type: ignore[method-assign]
    git(repo, "commit", "-q", "--allow-empty", "-m", "fix: the logout")
    with Holdfast.open(repo, plugins=[("test0", board)]) as memory:
        morning = memory.morning()
    told = [line.text[17:] for line in morning.sections["On the forge"]]
    commits = [f"git main commit by t: {text}" for text in ("Fix the login", "fix: the logout")]
    assert sorted(told) == [*commits, "the board o/r#1 comment: well done"]
    assert "- commits: main" in morning.screen


def start(repo: Path, session: str) -> None:
    """A session start, as a client's hook runs it."""
    event = {"hook_event_name": "SessionStart", "session_id": session, "cwd": str(repo), "source": "startup"}
    done = processes.run("hook", "claude-code", cwd=repo, data=json.dumps(event))
    assert done.returncode == 0, done.stderr


def stored(repo: Path) -> list[Path]:
    return sorted((repo / ".holdfast" / "memory" / "reports").glob("*.md"))


def test_start__reports_are_daily__the_first_of_a_day_stores_it_once(repo):
    trusted(repo, '[report]\nwhen = "daily"\n[dream]\nwhen = "manual"\n')
    start(repo, "one")
    until = time.monotonic() + 90
    while not stored(repo) and time.monotonic() < until:
        time.sleep(0.1)
    [path] = stored(repo)
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# Morning report: everything since ")
    assert "main commit by t: Fix the login" in text
    at = os.stat(path).st_mtime_ns
    start(repo, "two")
    time.sleep(1)
    assert [os.stat(one).st_mtime_ns for one in stored(repo)] == [at]
    with Holdfast.open(repo) as memory:
        assert memory.validate().errors == ()


OK, FAILED = '{"at": "2026-11-21T01:00:00Z", "status": "ok"}', '{"at": "2026-11-21T09:00:00Z", "status": "FAILED"}'


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("d.jsonl", f"{OK}\n\n{FAILED}"),
        ("d.json", f'{{"host": "a", "checks": [{OK}, {FAILED}]}}'),
        ("d.md", "# Heartbeat\n\n- 01:00 ok\n- 09:00 FAILED: disk full\n"),
        ("d.md", "| time | status |\n|---|---|\n| 01:00 | ok |\n| 09:00 | failed |\n"),
        ("d.txt", "01:00 all well, no errors\n9:00 timeout\n"),
        ("d.json", '[{"ts": 1763700000, "ok": true}, {"ts": 1763730000, "ok": false}]'),
        ("d.jsonl", '{"ts": 1, "exit_code": 0}\n{"ts": 2, "exit_code": 1}\n'),
    ],
)
def test_entries__good_first_and_bad_later__the_last_is_the_bad_one(name, text):
    found = entries(name, text)
    assert found[-1].is_bad
    assert summary(found) == [found[-1].text]


def test_summary__bad_and_then_good__tells_both():
    text = "- 01:00 ok\n- 03:00 FAILED: no network\n- 04:00 slow\n- 09:00 ok\n"
    assert summary(entries("d.md", text)) == ["03:00 FAILED: no network (the worst of 4)", "09:00 ok (the last of 4)"]


@pytest.mark.parametrize(
    "text",
    [
        "All well, 0 errors",
        "errors: 0, warnings: none",
        "ran without errors",
        "no failed jobs",
        "Disk at 40 %",
        '{"failed": 0}',
    ],
)
def test_entries__good_ones_in_any_words__are_good(text):
    name = "d.json" if text.startswith("{") else "d.md"
    assert [entry.is_bad for entry in entries(name, text)] == [False]
