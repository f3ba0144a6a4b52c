"""One damaged document: the brief shows the rest and names it, `doctor --fix` repairs it, and then a flush works."""

import json

import pytest
from tests.support import processes
from tests.support.stated import goes_on


def run(project, *words, data=""):
    return processes.run(*words, cwd=project, data=data)


def flush(project, session, objective):
    curated = {"memory": [f"{objective} is built with Go"], "user": [f"Prefers short answers on {objective}"]}
    payload = goes_on(objective, f"do {objective}", facts=[f"{objective} needs Go"], curated=curated)
    return run(project, "flush", "--session", session, "--payload", "-", data=json.dumps(payload))


def flushed(project, layout="default"):
    """A project with the open work of two sessions."""
    project.mkdir()
    assert run(project, "init", "--layout", layout).returncode == 0
    for number in (1, 2):
        done = flush(project, f"s{number}", f"task{number}")
        assert done.returncode == 0, done.stderr
    return project


def bad_byte(data):
    half = len(data) // 2
    return data[:half] + b"\xff" + data[half:]


def cut(data):
    return data[: len(data) // 3]


def zeros(data):
    return data[: len(data) // 2] + bytes(len(data) - len(data) // 2)


def note_of(project):
    return next(p for p in project.rglob("20*.md") if b"holdfast:block" in p.read_bytes() and "summ" not in str(p))


FILES = {
    "handoff": lambda project: next(p for p in project.rglob("*.md") if p.read_bytes().startswith(b"+++\n")),
    "note": note_of,
    "USER.md": lambda project: next(project.rglob("USER.md")),
    "facts": lambda project: next(project.rglob("facts.jsonl")),
}


@pytest.mark.parametrize(
    ("layout", "which", "harm"),
    [
        ("default", "USER.md", bad_byte),
        ("default", "facts", bad_byte),
        ("default", "note", zeros),
        ("opencode", "handoff", cut),
    ],
)
def test_damage__of_one_document__the_rest_is_shown_and_doctor_repairs_it(tmp_path, layout, which, harm):
    home = flushed(tmp_path / "project", layout)
    path = FILES[which](home)
    path.write_bytes(damaged := harm(path.read_bytes()))
    told = run(home, "load")
    assert told.returncode == 1, told.stdout + told.stderr
    shown = (path.name, "DAMAGED", "doctor --fix", "do task1", "do task2")
    assert [words for words in shown if words not in told.stdout] == []
    fixed = run(home, "doctor", "--fix")
    assert fixed.returncode == 0, fixed.stdout
    kept = [p.read_bytes() for p in home.rglob("*") if p.is_file() and "state" in p.parts]
    assert damaged in kept
    again = run(home, "load")
    assert again.returncode == 0, again.stdout + again.stderr
    for task in ("task1", "task2"):
        assert f"do {task}" in again.stdout
    done = flush(home, "s3", "task3")
    assert done.returncode == 0, done.stderr
    facts = run(home, "facts", "list", "--json").stdout
    assert all(f"task{number} needs Go" in facts for number in (1, 2, 3))
