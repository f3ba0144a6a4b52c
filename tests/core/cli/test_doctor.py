"""``holdfast doctor``."""

import sys

import pytest


def outcomes(result):
    found: dict[str, set[str]] = {}
    for check in result.json["checks"]:
        found.setdefault(check["name"], set()).add(check["outcome"])
    return found


def test_doctor__damaged_journal__told_and_repaired_without_losing_whole_lines(talked, project):
    path = project / ".holdfast/state/sessions/s1.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    damaged = lines[0] + b"garbage\n" + b"".join(lines[1:])
    path.write_bytes(damaged)
    result = talked("doctor")
    assert (result.code, "damaged at byte" in result.out) == (1, True)
    assert "doctor --repair" in result.out
    assert "none is UNSAFE" not in result.out  # `status` calls it UNSAFE
    repaired = talked("doctor", "--repair")
    assert (repaired.code, "8 damaged or missing bytes" in repaired.out) == (0, True)
    assert path.read_bytes().splitlines(keepends=True)[1:] == lines[1:]
    assert damaged in [p.read_bytes() for p in path.parent.iterdir()]
    assert talked("doctor").code == 0


@pytest.mark.skipif(sys.platform == "win32", reason="modes are a POSIX matter")
def test_doctor__private_file_open_to_others__closed_by_repair(talked, project):
    talked("init")
    path = project / ".holdfast/state/sessions/s1.jsonl"
    path.chmod(0o644)
    assert outcomes(talked("doctor", "--json"))["privacy"] == {"warn"}
    assert talked("doctor", "--repair").code == 0
    assert path.stat().st_mode & 0o777 == 0o600
    assert outcomes(talked("doctor", "--json"))["privacy"] == {"ok"}


def test_doctor__first_line_of_a_journal_is_damaged__repaired_where_name_or_receipt_tells_the_session(talked, project):
    folder = project / ".holdfast/state/sessions"
    for words in ("add user Fix --session größe", "flush --session größe"):
        talked(*words.split())
    for name in ("s1", "gr-e~d353a2671b67", "none~d353a2671b67"):
        lines = (folder / f"{name.replace('none', 'gr-e')}.jsonl").read_bytes().splitlines(keepends=True)
        (folder / f"{name}.jsonl").write_bytes(b"x" + lines[0] + b"".join(lines[1:]))
    result = talked("doctor", "--repair")
    assert result.code == 1
    assert result.out.count("continues without") == 2
    assert "none~d353a2671b67.jsonl has a damaged first line" in result.out
    found = {s["id"]: s["context_messages"] for s in talked("sessions", "--json").json["sessions"]}
    assert (found["s1"], found["größe"]) == (2, 1)


@pytest.mark.req("R045")
def test_doctor__damaged_fact_or_date_in_the_future__says_where(run, project):
    for text in ("one", "two"):
        assert run("remember", text).code == 0
    assert outcomes(run("doctor", "--json"))["facts"] == {"ok"}
    path = project / ".holdfast/facts.jsonl"
    (project / ".holdfast/memory").mkdir()
    (project / ".holdfast/memory/2999-01-01.md").write_text("# Daily Memory: 2999-01-01\n")
    assert "because a clock was wrong: memory/2999-01-01.md." in " ".join(run("doctor").out.split())
    path.write_bytes(path.read_bytes().replace(b"one", b"0ne"))
    result = run("doctor")
    assert (result.code, result.out.count("Line 1 of 'facts.jsonl' cannot be read")) == (1, 1)  # not by each check
