"""The commands of the three-file memory and ``holdfast validate``, as a person, a hook or a client runs them."""

import json
from pathlib import Path

import pytest

from holdfast_app.workflow.three import FILES

FOLDER = ".opencode/context/01_memory"
NO_CHANGE = ("--no-change", "patterns", "--no-change", "progress.md")


@pytest.fixture
def three(run):
    """A project with the opencode layout, set up."""
    assert run("init", "--layout", "opencode").code == 0
    return run


def files(project):
    return {p.relative_to(project).as_posix(): p.read_bytes() for p in sorted(project.rglob("*.md"))}


@pytest.mark.req("R186", "R193", "R204", "R233", "R236")
def test_init__opencode__makes_the_three_files_and_validate_passes(run, project):
    result = run("init", "--layout", "opencode", "--json")
    assert result.code == 0
    assert [p.name for p in project.iterdir()] == [".opencode"]
    assert {f"{FOLDER}/{surface}.md" for surface in FILES} <= set(result.json["made"])
    before = files(project)
    assert run("init").code == 0
    assert run("init", "--json").json["made"] == []
    assert files(project) == before
    assert run("validate", "--strict", "--json").json["findings"] == []


#: Written out as document 004 gives them; the order is that of the file.
STRUCTURE = {
    "active_context.md": ["# Active Context", "## Current Focus", "## Decisions", "## Open Questions", "## Next Steps"],
    "patterns.md": ["# Patterns", "## Conventions", "## Gotchas", "## Approved Practices"],
    "progress.md": ["# Progress", "## Verified Deliverables", "## Evidence Links", "## Deferred Items"],
}


@pytest.mark.req("R190", "R194", "R195", "R196", "R197", "R198", "R199", "R200", "R201", "R202", "R203", "R204")
def test_init_and_validate__each_anchor__is_there_and_missed_by_name_and_fix_adds_it(three, project):
    for name, lines in STRUCTURE.items():
        path = project / FOLDER / name
        text = path.read_text(encoding="utf-8")
        assert [line for line in text.splitlines() if line.startswith("#")] == lines
        for anchor in lines[1:]:
            path.write_text(text.replace(f"{anchor}\n", ""), encoding="utf-8")
            result = three("validate", "--json")
            [error] = [f for f in result.json["findings"] if f["severity"] == "error"]
            assert (result.code, error["file"]) == (1, f"{FOLDER}/{name}")
            assert anchor in error["message"]
            fixed = three("validate", "--fix", "--json")
            assert (fixed.code, len(fixed.json["fixed"])) == (0, 1)
            assert f"\n{anchor}\n" in path.read_text(encoding="utf-8")


@pytest.mark.req("R188", "R205", "R234")
def test_workflow__from_start_to_end__prints_what_to_read_and_reports_per_file(three, project):
    started = three("workflow", "start", "build")
    places = [started.out.index(f"<!-- context/01_memory/{surface}.md -->") for surface in FILES]
    assert places == sorted(places)
    assert three("workflow", "status", "--json").json["workflows"][0]["state"] == "open"
    ended = three("workflow", "end", "build", "--tests-passed", "--decision", "use a lock", *NO_CHANGE, "--json")
    assert ended.code == 0
    assert [f["added"] for f in ended.json["files"]] == [
        [["## Decisions", "use a lock"], ["## Decisions", ended.json["files"][0]["added"][1][1]]],
        [],
        [],
    ]
    assert "- use a lock\n" in (project / FOLDER / "active_context.md").read_text()


@pytest.mark.req("R189", "R225", "R235", "R247")
def test_update__flags_json_and_nothing__updates_and_tells(three, project):
    assert "  update  " in three("--help").out
    done = three("update", "--gotcha", "a", "--deliverable", "d", "--evidence", "https://example.org/1")
    assert (done.code, "+ ## Gotchas: a" in done.out) == (0, True)
    text = json.dumps({"decisions": ["b"], "verified_deliverables": ["e"]})
    piped = three("update", "--from", "-", "--json", stdin=text)
    assert piped.json["deferred"] == ["e: no evidence"]
    assert "nothing was changed" in three("update").out
    assert "nothing was changed" in three("update", "--gotcha", "A ").out
    assert "- e (not verified: no evidence)" in (project / FOLDER / "progress.md").read_text()


def test_update__two_deliverables__each_with_its_own_proof(three, project):
    command = ("workflow", "end", "build", "--tests-passed", *NO_CHANGE)
    three("workflow", "start", "build")
    proof = ("--command", "pytest a", "--exit-status", "0")
    result = three(*command, "--focus", "x", "--deliverable", "A", *proof, "--deliverable", "B", "--json")
    assert result.json["deferred"] == ["B: no evidence"]
    text = (project / FOLDER / "progress.md").read_text()
    assert "- A (`pytest a` ended with exit status 0)\n" in text
    assert "- B (not verified: no evidence)\n" in text
    assert three("update", *proof, "--deliverable", "C").code == 0, "proof may come before a single deliverable"
    assert "- C (`pytest a` ended" in (project / FOLDER / "progress.md").read_text()


@pytest.mark.req("R219", "R220", "R222", "R223")
def test_capture__counts_then_writes(three, project):
    assert "written to patterns.md at the third" in three("capture", "issue", "the port is taken").out
    three("capture", "issue", "the port is taken")
    assert "(repeated)" in three("capture", "issue", "The port is taken!").out
    assert three("capture", "pattern", "on_EVENT", "--critical", "--json").json["sighting"]["written"] is True
    text = (project / FOLDER / "patterns.md").read_text()
    assert text.count("- the port is taken\n") == 1
    assert "- on_EVENT\n" in text


@pytest.mark.req("R190", "R226", "R227", "R242")
def test_validate__damaged_files__tells_file_line_rule_message_and_fix(three, project):
    (project / FOLDER / "active_context.md").unlink()
    path = project / FOLDER / "patterns.md"
    path.write_text(path.read_text() + "\n## Gotchas\n\n- again\n")
    progress = project / FOLDER / "progress.md"
    progress.unlink()
    progress.mkdir()
    result = three("validate", "--json")
    assert result.code == 1
    found = [(f["file"], f["line"], f["rule"], f["severity"]) for f in result.json["findings"]]
    assert found == [
        (f"{FOLDER}/active_context.md", None, "document/missing", "error"),
        (f"{FOLDER}/patterns.md", 15, "anchors/duplicate", "error"),
        (f"{FOLDER}/progress.md", None, "document/unreadable", "error"),
    ]
    assert all(f["message"] and f["fix"] for f in result.json["findings"])
    assert f"{FOLDER}/patterns.md:15:" in three("validate").out


@pytest.mark.req("R192", "R230")
def test_opencode__every_operation__writes_nothing_outside_of_its_folder(run, project, tmp_path):
    words = [
        ["init", "--layout", "opencode"],
        ["workflow", "start", "build"],
        ["add", "user", "hello", "--session", "s"],
        ["flush", "--session", "s", "--memory", "The build needs Python 3.11", "--objective", "x", "--next-step", "y"],
        ["capture", "issue", "the port is taken", "--critical"],
        ["workflow", "end", "build", "--tests-passed", "--focus", "x", *NO_CHANGE],
        ["update", "--gotcha", "x"],
        ["config", "flush.policy", "strict"],
        ["validate"],
        ["show"],
        ["load"],
        ["status"],
        ["report"],
        ["doctor", "--repair"],
        ["end", "--session", "s"],
        ["init", "--layout", "opencode"],
    ]
    for one in words:
        assert run(*one).code == 0, one
    assert [p.name for p in project.iterdir()] == [".opencode"]
    assert list(tmp_path.iterdir()) == [project]
    assert [p.name for p in Path.home().iterdir()] == [".config"]  # the key of private state
