"""A damaged side of a git merge is a conflict, with real clones: absence is not deletion, and a killed or full-disk
driver leaves what was there."""

import os
import signal
import subprocess

import pytest
from tests.plugins.doctor.test_merge_driver import _clones, _exchange
from tests.support import processes
from tests.support.git import git
from tests.support.processes import finished

from holdfast import Holdfast
from holdfast.models import Outcome
from holdfast_app.checkup.examine import examine

_FACTS = ".holdfast/facts.jsonl"


def _remember(clone, words):
    with Holdfast.open(clone) as memory:
        memory.facts.create(words, "knowledge", 0.8)
        session = memory.session(words.split()[1])
        session.add("user", words)
        session.flush()


def _commit(clone):
    git(clone, "add", "-A")
    git(clone, "commit", "-qm", "memory")


@pytest.fixture
def pull(scripts):
    """``pull(into, other)``: a git pull that may fail."""

    def run(clone, other):
        words = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "pull", "-q", "--no-rebase", "--no-edit"]
        env = os.environ | {"PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"}
        return finished([*words, str(other), "main"], cwd=clone, env=env)

    return run


def _note(clone):
    [note] = (clone / ".holdfast" / "memory").glob("2*.md")
    return note


def _told(clone):
    with Holdfast.open(clone) as memory:
        return {fact.content for fact in memory.facts.list()}, _note(clone).read_text()


def _cut_in_a_line(data):
    return data[: len(data) * 2 // 3]


def _cut_at_a_line(data):
    return b"".join(data.splitlines(keepends=True)[:-1])


@pytest.mark.parametrize(("damage", "pulls"), [(_cut_in_a_line, "damaged"), (_cut_at_a_line, "intact")])
def test_pull__one_side_is_damaged__conflict_that_keeps_the_memory(tmp_path, pull, damage, pulls):
    one, two = _clones(tmp_path)
    _remember(one, "The port is 8080")
    _remember(two, "The owner is Ana")
    _exchange(one, two)
    for path in (one / _FACTS, _note(one)):
        path.write_bytes(damage(path.read_bytes()))
    _commit(one)
    _remember(two, "The queue is Redis")
    _commit(two)
    into, other = (two, one) if pulls == "intact" else (one, two)
    done = pull(into, other)
    assert done.returncode != 0
    said = " ".join((done.stdout + done.stderr).split())
    assert "on one side of the merge" in said
    assert "git add .holdfast/facts.jsonl" in said
    assert "CONFLICT" in said
    git(into, "commit", "-qam", "as git left it")
    facts, note = _told(into)
    assert facts == {"The port is 8080", "The owner is Ana", "The queue is Redis"}
    assert note.count("holdfast:block") == 3
    assert pull(other, into).returncode == 0
    assert _told(other) == (facts, note)


def test_pull__a_teammate_emptied_files_that_only_they_changed__doctor_and_status_say_so(tmp_path, pull):
    one, two = _clones(tmp_path)
    _remember(one, "The port is 8080")
    _exchange(one, two)
    (two / "code.txt").write_text("x")
    _commit(two)
    for path in (one / _FACTS, _note(one)):
        path.write_bytes(b"")
    _commit(one)
    assert pull(two, one).returncode == 0  # git asks no driver here
    bad = [check for check in examine(str(two)) if check.outcome is Outcome.FAIL]
    assert any("facts.jsonl' is empty" in check.message for check in bad)
    assert any(f"{_note(two).name} is empty" in check.message for check in bad)
    assert processes.run("status", cwd=two).returncode == 1


@pytest.mark.parametrize(("compacted", "changed"), [(False, True), (True, False)])
def test_pull__a_removed_fact_and_a_purged_session__stay_removed(tmp_path, *, compacted, changed):
    one, two = _clones(tmp_path)
    _remember(one, "The port is 8080")
    _remember(two, "The owner is Ana")
    _exchange(one, two)
    with Holdfast.open(one) as memory:
        fact = next(fact for fact in memory.facts.list() if "8080" in fact.content)
        memory.facts.delete(fact.id)
        assert memory.purge(session="port").clean
        if compacted:
            memory.store.backend.compact()
    if changed:
        with Holdfast.open(two) as memory:
            memory.facts.update(fact.id, confidence=0.3)
        note = _note(two)
        note.write_text(note.read_text().replace("port is 8080", "port is 8080, as edited"))
    _remember(two, "The queue is Redis")
    _exchange(one, two)
    for clone in (one, two):
        facts, text = _told(clone)
        assert facts == {"The owner is Ana", "The queue is Redis"}
        assert "8080" not in text
        assert text.count("holdfast:block") == 2
        assert [c for c in examine(str(clone)) if c.name == "stored" and c.outcome is not Outcome.OK] == []
    assert _told(one) == _told(two)


def _sides(folder):
    one, two = _clones(folder)
    _remember(one, "The port is 8080")
    _exchange(one, two)
    base = (one / _FACTS).read_bytes()
    _remember(one, "The owner is Ana")
    _remember(two, "The queue is Redis")
    names = []
    for name, data in (("O", base), ("A", (one / _FACTS).read_bytes()), ("B", (two / _FACTS).read_bytes())):
        (folder / name).write_bytes(data)
        names.append(str(folder / name))
    return [*names, _FACTS]


def test_driver__killed_at_each_call_that_changes_files__ours_is_whole(tmp_path):
    words = _sides(tmp_path)
    before = (tmp_path / "A").read_bytes()
    for number in range(1, 30):
        (tmp_path / "A").write_bytes(before)
        code = processes.run("merge-driver", *words, cwd=tmp_path, dies_at=number).returncode
        text = (tmp_path / "A").read_bytes()
        if code == 0:
            break
        assert code == -signal.SIGKILL
        assert text == before or (b"Redis" in text and b"Ana" in text and text.endswith(b"}\n"))
    assert code == 0
    assert number > 3
    assert b"Redis" in text


def test_pull__the_disk_is_full__nothing_is_lost(tmp_path, pull):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(disk)], check=False)
    if mounted.returncode:
        pytest.skip("this machine cannot mount")
    try:
        one, two = _clones(disk)
        _remember(one, "The port is 8080")
        _exchange(one, two)
        _remember(one, "The owner is Ana")
        _commit(one)
        _remember(two, "The queue is Redis")
        _commit(two)
        before = {path: path.read_bytes() for path in (two / _FACTS, _note(two))}
        subprocess.run(["dd", "if=/dev/zero", f"of={disk}/filler"], check=False, capture_output=True)
        done = pull(two, one)
        assert done.returncode != 0
        assert {path: path.read_bytes() for path in before} == before
        (disk / "filler").unlink()
        subprocess.run(["git", "merge", "--abort"], cwd=two, check=False, capture_output=True)
        assert pull(two, one).returncode == 0
        assert _told(two)[0] == {"The port is 8080", "The owner is Ana", "The queue is Redis"}
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)
