"""Two clones with real git: what each wrote is in both after a pull and a push, once, and without conflict markers."""

import json
import os
import signal
import subprocess
from collections import Counter
from datetime import UTC, datetime

import attrs
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from tests.support import processes
from tests.support.git import git
from tests.support.processes import finished

from holdfast.api import Holdfast, Outcome
from holdfast.flush import handoff
from holdfast_app.checkup.examine import examine
from holdfast_app.checkup.threeway import damage, merge

_START = datetime(2026, 1, 1, tzinfo=UTC)


def _clones(folder):
    one, two = folder / "one", folder / "two"
    one.mkdir()
    git(one, "init", "-q", "-b", "main", ".")
    assert processes.run("init", "--git", cwd=one).returncode == 0
    _commit(one)
    git(folder, "clone", "-q", "one", "two")
    assert processes.run("init", "--git", cwd=two).returncode == 0
    return one, two


def _commit(clone):
    git(clone, "add", "-A")
    git(clone, "commit", "-qm", "memory", "--allow-empty")


def _exchange(one, two):
    _commit(one)
    _commit(two)
    git(two, "pull", "-q", "--no-rebase", "--no-edit", str(one), "main")
    git(one, "pull", "-q", "--no-rebase", "--no-edit", str(two), "main")


def test_merge_driver__a_side_brings_four_thousand_facts__merges_in_seconds(tmp_path):
    row = {"category": "context", "confidence": 0.9, "createdAt": "2026-01-01T00:00:00Z", "source": ""}
    rows = [json.dumps({"id": f"fact_{n:08x}", "content": f"Server {n} is up", **row}) + "\n" for n in range(4_000)]
    for name, part in (("base", rows[:1]), ("ours", rows[:2]), ("theirs", [rows[0], *rows[2:]])):
        (tmp_path / name).write_text("".join(part))
    words = ("merge-driver", "base", "ours", "theirs", ".holdfast/facts.jsonl")
    assert processes.run(*words, cwd=tmp_path, timeout=20).returncode == 0
    assert len((tmp_path / "ours").read_text().splitlines()) == 4_000


def _doctor(clone, name):
    return [f"{c.message} {c.next_step}" for c in examine(str(clone)) if c.name == name and c.outcome is not Outcome.OK]


def _add(clone, *words):
    with Holdfast.open(clone) as memory:
        for one in words:
            memory.facts.create(one, "knowledge", 0.8)


@pytest.mark.parametrize("merged", [False, True], ids=["fast forward", "merge"])
def test_doctor__a_pull_removes_facts__reports_only_what_git_did_not_remove(tmp_path, *, merged):
    one, two = _clones(tmp_path)
    _add(one, "The port is 8080", "Deploys run on Friday", "The owner is Ana", "Tests use a disk")
    _exchange(one, two)
    if merged:
        _add(two, "The queue is Redis")
    else:
        with Holdfast.open(two) as memory:
            memory.facts.update(next(iter(memory.facts.list())).id, confidence=0.5)
        _exchange(one, two)
    with Holdfast.open(one) as memory:
        first, second, third, _ = memory.facts.list()
        memory.facts.delete(first.id)
        memory.facts.delete(second.id)
        memory.facts.update(third.id, content="The owner is Ben")
        memory.facts.create("Logs are in UTC", "knowledge", 0.8)
        memory.store.backend.compact()
    _exchange(one, two)
    for clone in (one, two):
        assert _doctor(clone, "stored") == []
    _add(two, "A fact after the pull")
    assert _doctor(two, "stored") == []
    facts = two / ".holdfast" / "facts.jsonl"
    facts.write_bytes(b"".join(facts.read_bytes().splitlines(keepends=True)[:-2]))
    (told,) = _doctor(two, "stored")
    assert "missing" in told


@pytest.mark.parametrize("lost", [False, True], ids=["on a branch", "cut"])
def test_doctor__facts_written_while_others_are_missing__reports_those_until_a_merge_brings_them(tmp_path, *, lost):
    one, two = _clones(tmp_path)
    _add(one, "The port is 8080")
    _exchange(one, two)
    git(one, "checkout", "-qb", "exp")
    _add(one, "The flag is EXP")
    _commit(one)
    facts = one / _FACTS_FILE
    facts.write_bytes(facts.read_bytes().splitlines(keepends=True)[0]) if lost else git(one, "checkout", "-q", "main")
    _add(one, "The owner is Ana")
    assert "1 stored fact is missing" in " ".join(_doctor(one, "stored"))
    _add(two, "The queue is Redis")
    _exchange(two, one)
    git(one, "merge", "-q", "--no-edit", "exp")
    assert [told.partition(" is ")[0] for told in _doctor(one, "stored")] == ["1 stored fact"] * lost


def test_merge__a_side_is_dated_in_the_far_future__open_work_stays_open():
    work = handoff.Work(session="s", flush="flush_1", next_action="run the suite", at=_START.isoformat())
    forged = attrs.evolve(work, state="closed", next_action="none", at="2099-01-01T00:00:00+00:00")
    base, ours, theirs = (handoff.render([one]) for one in (work, work, forged))
    for texts in ((base, ours, theirs), (base, theirs, ours)):
        changed = attrs.evolve(work, next_action="ship it")
        sides = [handoff.render([changed]) if text == ours else text for text in texts[1:]]
        (kept,) = handoff.parse(merge(texts[0], *sides, "HANDOFF.md"))
        assert (kept.state, kept.next_action) == ("open", "ship it")


_end = st.sampled_from(["\n", "\r\n"])
_repeated = st.lists(st.sampled_from(["# A", "- one", "- two", "- three", "", "text"]), max_size=8)


@given(_repeated, _repeated, _repeated, _end, st.tuples(st.booleans(), st.booleans(), st.booleans()))
@example([], ["# A", "# A"], ["# A", "- one", "# A", "# A"], "\n", (False, False, False))
@example(["- one", "x", "- one"], ["- one", "x"], ["- one", "x", "- one", "- one"], "\n", (True, True, True))
def test_merge__lines_that_repeat__are_there_as_often_as_a_side_added_them(base, a, b, end, ended):
    texts = [
        end.join(lines) + (end if lines and whole else "") for lines, whole in zip((base, a, b), ended, strict=True)
    ]
    assume(not damage(texts[0], texts[1], "MEMORY.md") and not damage(texts[0], texts[2], "MEMORY.md"))
    merged = merge(*texts, "MEMORY.md")
    assert merged == merge(texts[0], texts[2], texts[1], "MEMORY.md")
    if end in "".join(texts):
        assert merged.count("\n") == merged.count(end)
    there, was, one, two = (Counter(text.splitlines()) for text in (merged, *texts))
    for line in there | was | one | two:
        if line:
            assert there[line] >= max(one[line], two[line]) - was[line]
            assert there[line] or not (was[line] == 1 and one[line] and two[line])
            assert there[line] <= one[line] + two[line]


_REMOVED = '{"op": "delete", "id": "fact_0000000%d"}\n'


def _facts(text):
    return [record for record in map(json.loads, text.splitlines()) if "op" not in record]


_BY = '{"id": "fact_0000000%d", "content": "The port is 1", "category": "context", "confidence": 0.9, "createdAt": '
_BY += '"2026-01-31T12:00:00Z", "source": "%s"}\n'


@pytest.mark.parametrize(
    ("base", "one", "two", "merged"),
    [
        ("", (1, "by a@x"), (2, "by b@y"), ["by a@x, b@y"]),
        ("by a@x", "", (1, "by a@x, b@y"), ["by b@y"]),
        ("by a@x", "", (1, "by a@x"), []),
        ("by a@x, b@y", (1, "by a@x"), (1, "by b@y"), []),
        ("flush_1 by a@x, b@y", (1, "flush_1 by a@x"), (1, "flush_1 by a@x, b@y, c@z"), ["flush_1 by a@x, c@z"]),
        ("by a@x", (1, "by a@x, b@y"), (1, "by a@x, c@z"), ["by a@x, b@y, c@z"]),
        ("by a@x", (2, "by a@x"), (1, "by a@x, b@y"), ["by b@y, a@x"]),
        ("flush_1", "", (1, "flush_2"), []),
        ("flush_1", "", (1, "flush_1 by b@y"), ["flush_1 by b@y"]),
    ],
)
def test_merge__equal_facts_of_two_machines__is_one_fact_of_those_who_state_it_now(base, one, two, merged):
    was = _BY % (1, base) if base else ""
    a, b = (_BY % side if isinstance(side, tuple) else "" for side in (one, two))
    a, b = (side if "00001" in side or not base else side + _REMOVED % 1 for side in (a, b))
    text = merge(was, a, b, "facts.jsonl")
    assert text == merge(was, b, a, "facts.jsonl")
    assert [fact["source"] for fact in _facts(text)] == merged


#: Up to three facts by id, each with its text and the machines that state it.
_FACTS = st.dictionaries(
    st.integers(1, 3),
    st.tuples(st.integers(0, 3), st.sampled_from(["", "by a@x", "by b@y", "by a@x, b@y", "by c@z"])),
    max_size=3,
)


@given(_FACTS, _FACTS, _FACTS)
def test_merge__any_facts__a_text_new_on_both_sides_stays_and_each_text_and_id_is_there_once(base, one, two):
    was, a, b = (
        "".join((_BY % (fact, by)).replace("is 1", f"is {port}") for fact, (port, by) in side.items())
        + "".join(_REMOVED % fact for fact in base.keys() - side.keys())
        for side in (base, one, two)
    )
    merged = merge(was, a, b, "facts.jsonl")
    assert merged == merge(was, b, a, "facts.jsonl")
    if a in (b, was) or b == was:
        return  # the merged file is one of the sides, whose own facts are not judged
    facts = _facts(merged)
    ports = {int(fact["content"].removeprefix("The port is ")) for fact in facts}
    assert len(ports) == len({fact["id"] for fact in facts}) == len(facts)
    old, mine, theirs = ({port for port, _ in side.values()} for side in (base, one, two))
    # A removal wins over a new text for the same id.
    pairs = ((one, two), (two, one))
    stays = {port for side, other in pairs for fact, (port, _) in side.items() if fact in other or fact not in base}
    assert (mine & theirs & stays) - old <= ports <= mine | theirs


def test_merge_driver__a_pulled_attribute_names_it_for_code__leaves_git_s_conflict(tmp_path):
    one, two = _clones(tmp_path)
    (one / ".gitattributes").write_text("* merge=holdfast\n")
    (one / "app.py").write_text("def check():\n    return False\n")
    _commit(one)
    git(two, "pull", "-q", str(one), "main")
    for clone, text in ((one, "return True"), (two, "return is_valid()")):
        (clone / "app.py").write_text(f"def check():\n    {text}\n")
        git(clone, "commit", "-qam", text)
    with pytest.raises(AssertionError, match="CONFLICT"):
        git(two, "pull", "-q", "--no-rebase", "--no-edit", str(one), "main")
    merged = (two / "app.py").read_text()
    assert merged.index("<<<<<<<") < merged.index("is_valid()") < merged.index("return True") < merged.index(">>>>>>>")


_FACTS_FILE = ".holdfast/facts.jsonl"


def _remember(clone, words):
    with Holdfast.open(clone) as memory:
        memory.facts.create(words, "knowledge", 0.8)
        session = memory.session(words.split()[1])
        session.add("user", words)
        session.flush()


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


@pytest.mark.parametrize(
    ("damage", "pulls"),
    [(lambda data: data[: len(data) * 2 // 3], "damaged"), (lambda data: data[: data[:-1].rfind(b"\n") + 1], "intact")],
)
def test_pull__one_side_is_damaged__conflict_that_keeps_the_memory(tmp_path, pull, damage, pulls):
    one, two = _clones(tmp_path)
    _remember(one, "The port is 8080")
    _remember(two, "The owner is Ana")
    _exchange(one, two)
    for path in (one / _FACTS_FILE, _note(one)):
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
    for path in (one / _FACTS_FILE, _note(one)):
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


def test_pull__a_fact_that_a_teammate_removed__is_not_in_a_dream_of_the_note_that_has_it(tmp_path):
    one, two = _clones(tmp_path)
    with Holdfast.open(one) as memory, memory.session("s") as session:
        session.add("user", "Remember: the port is 8080. Remember: the owner is Ana.")
    _exchange(one, two)
    with Holdfast.open(two) as memory:
        memory.facts.delete(next(fact.id for fact in memory.facts.list() if "8080" in fact.content))
    _exchange(two, one)
    with Holdfast.open(one) as memory:
        assert [line.text for line in memory.deep_dream().lines] == ["the owner is Ana"]


def _sides(folder):
    one, two = _clones(folder)
    _remember(one, "The port is 8080")
    _exchange(one, two)
    base = (one / _FACTS_FILE).read_bytes()
    _remember(one, "The owner is Ana")
    _remember(two, "The queue is Redis")
    names = []
    for name, data in (("O", base), ("A", (one / _FACTS_FILE).read_bytes()), ("B", (two / _FACTS_FILE).read_bytes())):
        (folder / name).write_bytes(data)
        names.append(str(folder / name))
    return [*names, _FACTS_FILE]


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
        before = {path: path.read_bytes() for path in (two / _FACTS_FILE, _note(two))}
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
