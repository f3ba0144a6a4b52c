"""``holdfast dream`` and ``holdfast schedule`` as people run them."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path

import pytest

from holdfast import Holdfast

PAYLOAD = {
    "objective": "Move the queue",
    "facts": ["The queue runs on Postgres 16"],
    "decisions": ["Retries stop after 5 attempts"],
    "blockers": [],
    "next_step": "none",
    "artifacts": [],
    "follow_ups": [],
    "state_mutations": [],
    "work_open": False,
    "curated": {"memory": ["The API lives in services/api"]},
}
ADDED = ["Retries stop after 5 attempts", "The queue runs on Postgres 16"]


@pytest.fixture
def noted(run, project):
    """A project with a flushed session: a note, and a memory of one item."""
    assert run("add", "user", "Move the queue", "--session", "s1").code == 0
    assert run("flush", "--session", "s1", stdin=json.dumps(PAYLOAD)).code == 0
    return run


def memory(project):
    return (project / ".holdfast" / "MEMORY.md").read_text()


# dream


@pytest.mark.req("R017", "R018")
def test_dream__notes_say_something__is_done_told_and_skipped_the_second_time(noted, project):
    result = noted("dream")
    assert result.code == 0
    assert "dream done by offline: 1 kept, 2 added" in result.out
    assert all(f"+ {item}" in result.out for item in ADDED)
    assert all(f"- {item}\n" in memory(project) for item in ADDED)
    again = noted("dream", "--json")
    assert (again.code, again.json["status"]) == (0, "skipped")
    assert noted("dream", "--force", "--lookback-days", "1", "--json").json["status"] == "done"


def test_doctor__dream_has_not_ended__is_running_while_it_holds_the_lock_and_was_killed_otherwise(noted, project):
    from holdfast_app.dream import dreamlog, write

    with Holdfast.open(project) as opened:
        services = opened.services
        begun = dreamlog.DreamResult(id="dream_1", at=services.now(), status=dreamlog.Status.BEGUN)
        dreamlog.record(services.state, begun)
        with write.lock(services):
            assert "a dream is running" in noted("doctor").out
        assert "was killed" in " ".join(noted("doctor").out.split())


def test_rule__closed_by_a_person__leaves_memory_and_no_dream_brings_it_back(run, project):
    run("add", "user", "Always run pytest -q before you commit.", "--session", "s1")
    run("end", "--session", "s1")
    run("dream")
    assert "- Always run pytest -q before you commit." in memory(project)
    (rule,) = [one["id"] for one in run("work", "--json").json["rules"]]
    assert run("work", "close", rule).code == 0
    assert "pytest" not in memory(project)
    run("dream", "--force")
    assert "pytest" not in memory(project)


@pytest.mark.req("R103", "R104")
def test_dream__said_in_three_sessions__is_proposed_and_only_a_person_puts_it_into_memory(run, project):
    asked = "The footer hides the button on small screens"
    for number in range(3):
        run("add", "user", f"{asked}. Add page {number}.", "--session", f"s{number}")
        run("end", "--session", f"s{number}")
        run("dream", "--force")
        assert not (project / ".holdfast" / "MEMORY.md").exists()
        assert ("holdfast dream review" in run("load").out) is (number == 2)
    assert "waits for the user" in " ".join(run("status").out.split())
    assert f"+- {asked}." in run("dream", "review").out
    assert run("dream", "review", "accept").code == 0
    assert f"- {asked}.\n" in memory(project)
    run("dream", "--force")
    assert "dream review" not in run("load").out


@pytest.mark.req("R104")
def test_dream__proposal_of_a_repetition_is_rejected__is_not_proposed_again(run, project):
    for number in range(3):
        run(
            "add",
            "user",
            f"The footer hides the button on small screens. Add page {number}.",
            "--session",
            f"s{number}",
        )
        run("end", "--session", f"s{number}")
    run("dream")
    assert run("dream", "review", "reject").code == 0
    run("dream", "--force")
    assert run("dream", "review").code == 1
    assert not (project / ".holdfast" / "MEMORY.md").exists()


# review


@pytest.fixture
def proposed(noted, project):
    (project / "holdfast.toml").write_text('[dream]\napply = "propose"\n')
    assert noted("dream", "--json").json["status"] == "proposed"
    return noted


def test_review__accepted__is_written_with_diary_and_can_be_undone(proposed, project):
    before = memory(project)
    assert proposed("dream", "review", "accept", "--json").json["status"] == "done"
    assert all(f"- {item}\n" in memory(project) for item in ADDED)
    assert list((project / ".holdfast" / "memory" / "dreams").iterdir())
    assert proposed("dream", "review").code == 1
    assert proposed("dream", "--json").json["status"] == "skipped"
    proposed("dream", "--undo")
    assert memory(project) == before


def test_review__edited__waits_as_edited_and_passes_the_gate(proposed, project, tmp_path):
    text = tmp_path / "edited.md"
    text.write_text("# Memory\n\n- The API lives in services/api\n- Ana owns the queue\n")
    shown = proposed("dream", "review", "edit", "--from", str(text), "--json").json
    assert shown["added"] == ["Ana owns the queue"]
    text.write_text("Just prose.\n")
    assert proposed("dream", "review", "edit", "--from", str(text)).code == 1
    proposed("dream", "review", "accept")
    assert memory(project) == "# Memory\n\n- The API lives in services/api\n- Ana owns the queue\n"


# schedule


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """A PATH with nothing but a crontab and a systemctl that keep what they are told."""
    folder = tmp_path / "bin"
    folder.mkdir()
    table, calls = tmp_path / "table", tmp_path / "calls"
    crontab = f"""import sys
if sys.argv[1] == "-l":
    try: sys.stdout.write(open({str(table)!r}).read())
    except FileNotFoundError: sys.exit("no crontab for you")
else:
    open({str(table)!r}, "w").write(sys.stdin.read())
"""
    systemctl = f"import sys; open({str(calls)!r}, 'a').write(' '.join(sys.argv[1:]) + chr(10))"
    for name, text in (("crontab", crontab), ("systemctl", systemctl)):
        path = folder / name
        path.write_text(f"#!{sys.executable}\n{text}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return table, calls


posix = pytest.mark.skipif(sys.platform == "win32", reason="there is neither cron nor systemd")


@posix
@pytest.mark.req("R017")
def test_schedule__cron__adds_one_line_and_takes_only_that_away(run, project, programs):
    table, _ = programs
    table.write_text("# mine\n5 4 * * * backup\n")
    (project / "holdfast.toml").write_text('[dream]\nat = "01:05"\n')
    assert "daily at 01:05 (cron" in run("schedule", "install").out
    lines = table.read_text().splitlines()
    assert lines[:2] == ["# mine", "5 4 * * * backup"]
    assert lines[2].startswith(f"5 1 * * * {sys.executable} -P -m holdfast_memory --root {project} dream --if-due")
    assert " # holdfast-dream-project-" in lines[2]
    name = lines[2].partition(" # ")[2]
    table.write_text(f"# mine\n# {name}\n1 1 * * * as an earlier build wrote it\n5 4 * * * backup\n")
    assert run("schedule", "status", "--json").json["installed"] is True
    run("schedule", "install")
    assert table.read_text().splitlines() == lines
    assert run("schedule", "remove").code == 0
    assert table.read_text() == "# mine\n5 4 * * * backup\n"
    assert "there was no nightly dream" in run("schedule", "remove").out
    assert run("schedule", "status", "--json").json["installed"] is False


@posix
def test_schedule__systemd__writes_a_timer_into_the_users_folder(run, project, programs, tmp_path, monkeypatch):
    _, calls = programs
    runtime = tmp_path / "runtime"
    (runtime / "systemd").mkdir(parents=True)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    made = run("schedule", "install", "--json").json
    assert made["kind"] == "systemd"
    units = Path(os.environ["HOME"]) / ".config" / "systemd" / "user"
    timer = (units / f"{made['name']}.timer").read_text()
    service = (units / f"{made['name']}.service").read_text()
    assert "OnCalendar=*-*-* 03:30:00\nPersistent=true" in timer
    assert f'"--root" "{project}" "dream" "--if-due"' in service
    assert calls.read_text().splitlines() == ["--user daemon-reload", f"--user enable --now {made['name']}.timer"]
    run("schedule", "remove")
    assert list(units.iterdir()) == []


def test_schedule__odd_paths__are_quoted_or_refused():
    from holdfast.errors import Refused
    from holdfast_app.settings import schedulers

    cron = schedulers.plan(schedulers.Kind.CRON, "/tmp/50% of $it", at="03:07")
    assert cron.line.startswith(
        f"7 3 * * * {sys.executable} -P -m holdfast_memory --root '/tmp/50\\% of $it' dream --if-due >/dev/null 2>&1 # "
    )
    unit = next(iter(schedulers.plan(schedulers.Kind.SYSTEMD, "/tmp/50% of $it", at="03:07").files.values()))
    assert '"/tmp/50%% of $$it"' in unit
    with pytest.raises(Refused):
        schedulers.plan(schedulers.Kind.CRON, "/tmp/a\n* * * * * rm", at="03:07")


# reports


def test_report__write__is_where_layers_says_and_holds_only_what_is_elsewhere(noted, project):
    written = noted("report", "--write", "--json").json["written"]
    [layer] = [one for one in noted("layers", "--json").json["layers"] if one["surface"] == "report"]
    assert written.rpartition("/")[0] == layer["name"].rpartition("/")[0]
    path = project / ".holdfast" / written
    assert path.read_text() == noted("report").out
    assert noted("report", "--write").code == 0
    assert noted("validate").code == 0
    assert noted("report", "--write", "--days", "7").code == noted("report", "--write", "--morning").code == 2
    assert noted("purge", "--session", "s1", "--yes").code == 0
    assert not path.exists()
