"""What is special to files: hostile surroundings, hand edits, torn tails, and what a call may cost."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.processes import finished

from holdfast.errors import Corrupt, Refused
from holdfast.storage import Add, delete_fact, get_fact, update_fact
from holdfast.testing.base import make_block, make_fact
from holdfast_file import intent
from holdfast_file.backend import FileBackend

DAY, HEADER = "memory/2026-03-01.md", "# Daily Memory: 2026-03-01\n"


@pytest.fixture
def store(project) -> FileBackend:
    return FileBackend(project, lock_timeout_s=0.2)


@pytest.fixture
def home(project) -> Path:
    """The store's folder."""
    return project / ".holdfast"


@pytest.mark.parametrize("path", ["..", "/etc", "a/../../b"])
def test_store__folder_outside_of_project__refused(project, path):
    with pytest.raises(Refused):
        FileBackend(project, path=path)


@pytest.mark.req("R013")
def test_store__first_write__private_files_and_folders_ignored_by_git(store, home):
    store.append(DAY, make_block("one"), HEADER, "one")
    store.add_fact(make_fact(1), 5)
    for path in [home, *home.rglob("*")]:
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path
    assert (home / "state" / ".gitignore").read_text() == "*\n"


@pytest.mark.req("R142")
@pytest.mark.parametrize("content", [b"\xff\xfe", b"a\0b", b"caf\xc3"])
def test_document__invalid_bytes__corrupt_and_left_alone(store, home, content):
    store.append(DAY, make_block("one"), HEADER, "one")
    (home / DAY).write_bytes(content)
    for touch in (lambda: store.read(DAY), lambda: store.append(DAY, make_block("two"), HEADER, "two")):
        with pytest.raises(Corrupt, match="byte"):
            touch()
    assert (home / DAY).read_bytes() == content


@pytest.mark.req("R142", "R167")
def test_document__folder_or_pipe_in_its_place__corrupt(store, home):
    (home / DAY).mkdir(parents=True)
    os.mkfifo(home / "pipe.md")
    (home / "file").write_text("x")
    for name in (DAY, "pipe.md", "file/x.md"):
        for touch in (store.read, lambda name: store.write(name, "x"), store.delete):
            with pytest.raises(Corrupt) as caught:
                touch(name)
            assert caught.value.next_step
    assert store.names() == ["file"]


def test_link__out_of_the_project__refused(project, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x.md").write_text("secret")
    (outside / "facts.jsonl").write_text("")
    store = FileBackend(project)
    store.write("a.md", "a")
    home = project / ".holdfast"
    (home / "dir").symlink_to(outside)
    (home / "x.md").symlink_to(outside / "x.md")
    (home / "facts.jsonl").symlink_to(outside / "facts.jsonl")
    for name in ("dir/x.md", "dir/new.md", "x.md"):
        for touch in (store.read, lambda name: store.write(name, "x"), store.delete):
            with pytest.raises(Refused):
                touch(name)
    with pytest.raises(Refused):
        store.add_fact(make_fact(1), 5)
    assert store.names() == ["a.md"]
    assert store.names("dir/") == []
    shutil.rmtree(home)
    home.symlink_to(outside)
    with pytest.raises(Refused):
        FileBackend(project).write("new.md", "x")
    assert sorted(p.name for p in outside.iterdir()) == ["facts.jsonl", "x.md"]
    assert (outside / "x.md").read_text() == "secret"


@pytest.mark.parametrize("part", [".holdfast", ".holdfast/a", ".holdfast/a/b", "."])
def test_link__put_on_the_way_while_the_store_is_open__refused(project, tmp_path, store, part):
    """The same folder as before, and yet no longer in the project."""
    store.write("a/b/c.md", "here")
    assert store.read("a/b/c.md") is not None
    (project / part).rename(tmp_path / "elsewhere")
    Path(os.path.normpath(project / part)).symlink_to(tmp_path / "elsewhere")
    for touch in (store.read, lambda name: store.write(name, "x"), store.delete):
        with pytest.raises(Refused):
            touch("a/b/c.md")


@pytest.mark.req("R167", "R143")
def test_disk__file_size_limit__unavailable_and_nothing_half_written(project):
    """A true short write: the kernel stops the write in the middle of the block."""
    store = FileBackend(project)
    store.append(DAY, make_block("one"), HEADER, "one")
    store.add_fact(make_fact(1), 500)
    before = {path: path.read_bytes() for path in (project / ".holdfast").rglob("*") if path.is_file()}
    script = """if 1:
        import resource, sys
        from holdfast.errors import Unavailable
        from holdfast.testing.base import make_block, make_fact
        from holdfast_file.backend import FileBackend
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, resource.RLIM_INFINITY))
        store = FileBackend(sys.argv[1])
        for act in (
            lambda: store.append("memory/2026-03-01.md", make_block("two", "x" * 3000), "", "two"),
            lambda: store.write("new.md", "x" * 3000),
            lambda: store.add_fact(make_fact(2, "x" * 3000), 500),
        ):
            try:
                act()
            except Unavailable as error:
                print(error)
    """
    paths = os.pathsep.join(p for p in sys.path if p)
    env = {**os.environ, "PYTHONPATH": paths}
    ran = subprocess.run([sys.executable, "-c", script, project], capture_output=True, text=True, check=True, env=env)
    assert ran.stdout.count("File too large. Raise the file size limit") == 3, ran.stdout + ran.stderr
    after = {path: path.read_bytes() for path in (project / ".holdfast").rglob("*") if path.is_file()}
    after = {path: content for path, content in after.items() if path.name != "append.intent"}
    assert after == {path: content for path, content in before.items() if path.name != "append.intent"}
    store.append(DAY, make_block("two"), HEADER, "two")
    assert store.read(DAY).text == HEADER + make_block("one") + make_block("two")


BLOCK = make_block("two", "- caf\u00e9").encode()


@pytest.mark.req("R096", "R016")
@pytest.mark.parametrize("tail", [b"typed by hand", b"\n## 14:3 typed by hand", BLOCK + b"typed by hand", b"\n\n"])
def test_append__intent_but_hand_written_tail__kept(store, home, tail):
    """As if a process had been killed while it appended block two, having written ``tail`` of it."""
    store.append(DAY, make_block("one"), HEADER, "one")
    noted = intent.Intent(DAY, (home / DAY).stat().st_size, BLOCK)
    intent.note(str(home / "state" / "append.intent"), noted)
    with (home / DAY).open("ab") as file:
        file.write(tail)
    before = (home / DAY).read_bytes().decode()
    assert store.read(DAY).text == before
    store.append(DAY, make_block("three"), HEADER, "three")
    end = "" if before.endswith("\n") else "\n"
    assert store.read(DAY).text == before + end + make_block("three")


@pytest.mark.req("R096")
def test_append__hand_written_last_line_like_a_block__kept(store, home):
    """Without an intent nothing is cut, however much it looks like half a block."""
    store.append(DAY, make_block("one"), HEADER, "one")
    with (home / DAY).open("ab") as file:
        file.write(BLOCK[:20])
    store.append(DAY, make_block("two"), HEADER, "two")
    assert store.read(DAY).text == HEADER + make_block("one") + BLOCK[:20].decode() + "\n" + make_block("two")


@pytest.mark.req("R044")
def test_facts__line__readable_keys_in_order(store, home):
    store.add_fact(make_fact(1, "Stra\u00dfe \u2028 x", source="s"), 5)
    raw = (home / "facts.jsonl").read_bytes()
    assert raw.count(b"\n") == 1
    assert "Stra\u00dfe" in raw.decode()
    (line,) = [json.loads(raw)]
    assert list(line) == ["id", "content", "category", "confidence", "createdAt", "source", "crc"]
    assert line["createdAt"] == "2026-03-01T09:30:16.123456Z"
    (home / "facts.jsonl").write_bytes(b"\xef\xbb\xbf" + raw.replace(b"\n", b"\r\n"))  # as an editor may
    assert get_fact(store, make_fact(1).id) == make_fact(1, "Stra\u00dfe \u2028 x", source="s")


@pytest.mark.req("R058")
@pytest.mark.parametrize("change", ["delete", "update"])
def test_facts__added_and_then_deleted_or_changed__file_stays_small(store, home, change):
    store.add_fact(make_fact(0), 500)
    for number in range(1, 200):
        store.add_fact(make_fact(number), 500)
        if change == "delete":
            delete_fact(store, make_fact(number).id)
        else:
            update_fact(store, "fact_00000000", content=f"Said for the {number}. time")
            delete_fact(store, make_fact(number).id)
    assert (home / "facts.jsonl").read_bytes().count(b"\n") < 280
    assert [fact.id for fact in FileBackend(home.parent).facts()] == ["fact_00000000"]


@pytest.fixture
def calls(monkeypatch) -> Counter[str]:
    """Counts the calls that write and flush."""
    found: Counter[str] = Counter()

    def counting(name: str) -> Callable[..., Any]:
        real = getattr(os, name)

        def call(*args: Any) -> Any:
            found[name] += 1
            return real(*args)

        return call

    for name in ("write", "fsync"):
        monkeypatch.setattr(os, name, counting(name))
    return found


@pytest.mark.req("R053", "R060", "R045", "R058")
def test_facts__one_flush_an_addition_or_a_thousand__none_for_a_duplicate(store, home, calls):
    for number in range(5):
        store.add_fact(make_fact(number), 5)
    calls.clear()
    store.add_fact(make_fact(5), 50)
    assert calls == {"fsync": 1, "write": 2}, "the line, and the mark that is not flushed"
    store.add_fact(make_fact(6), 5)  # evicts
    assert calls == {"fsync": 2, "write": 4}
    store.add_fact(make_fact(7, make_fact(6).content.upper()), 5)
    assert calls == {"fsync": 2, "write": 4}
    before = (home / "facts.jsonl").read_bytes()
    calls.clear()
    store.commit([Add(make_fact(number), 2000) for number in range(10, 1010)])
    assert calls == {"fsync": 1, "write": 2}
    assert (home / "facts.jsonl").read_bytes().startswith(before)
    store.commit([Add(make_fact(number), 5) for number in range(2000, 3000)])
    assert (home / "facts.jsonl").read_bytes().count(b"\n") == 6  # one of tombstones
    wanted = [make_fact(number) for number in range(2995, 3000)]
    assert list(FileBackend(home.parent).facts()) == list(store.facts()) == wanted


HAND = (
    '{"id": "mine", "content": "By hand", "category": "goal", "confidence": 1,'
    ' "createdAt": "2026-01-01T00:00:00+01:00"}'
)


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ("not json", "not JSON"),
        ('{"id": "x"}', "is missing"),
        (HAND.replace("1,", "true,"), "confidence"),
        (HAND.replace("1,", "NaN,"), "confidence"),
        (HAND.replace("1,", "1" + "0" * 400 + ","), "from 0 to 1"),
        (HAND.replace('"goal"', '"junk"'), "category is not one of"),
        (HAND.replace("2026-01-01T", "yesterday "), "Invalid isoformat"),
        (HAND.replace('"goal"', '"goal", "colour": "red"'), "colour is missing or not known"),
        (HAND.replace('"mine"', '"fact_00000000"'), "is taken"),
        ('{"op": "frobnicate", "id": "x"}', "not known"),
        ('{"op": "delete", "id": 5}', "id is not a string"),
        (HAND[:-1] + ', "evicts": [1]}', "evicts is not a list of ids"),
        (HAND[:-1] + ', "crc": "00000000"}', 'remove "crc"'),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_facts__bad_line_in_the_middle__corrupt_naming_it(store, home, bad, why):
    for number in range(3):
        store.add_fact(make_fact(number), 5)
    path = home / "facts.jsonl"
    good = path.read_text().splitlines(keepends=True)
    path.write_text("".join([good[0], bad + "\n", good[1], good[2]]))
    before = path.read_bytes()
    for view in (store, FileBackend(home.parent)):
        for touch in (view.facts, lambda view=view: view.add_fact(make_fact(9), 5)):
            with pytest.raises(Corrupt, match=r"^Line 2 of 'facts.jsonl'") as caught:
                touch()
            assert why in str(caught.value)
    assert path.read_bytes() == before
    path.write_text("".join(good))
    assert len(list(store.facts())) == 3


@pytest.mark.parametrize("tail", ["todo: add more", '{"i": 1', "\0\n\0x", '{"id": "\0\0todo', '\0\0todo"}\n'])
def test_facts__text_that_is_no_torn_line_at_the_end__corrupt_not_cut(store, home, tail):
    store.add_fact(make_fact(1), 5)
    with (home / "facts.jsonl").open("a", newline="") as file:
        file.write(tail)
    before = (home / "facts.jsonl").read_bytes()
    with pytest.raises(Corrupt, match="Line 2"):
        store.add_fact(make_fact(2), 5)
    assert (home / "facts.jsonl").read_bytes() == before


DAMAGES: dict[str, Callable[[bytes, list[int]], bytes | None]] = {
    "zeroed": lambda data, ends: bytes(len(data)),
    "all but 60 bytes": lambda data, ends: data[:60],
    "all but a line and a half": lambda data, ends: data[: ends[0] + 40],
    "tail zeroed": lambda data, ends: data[: ends[1] + 9] + bytes(len(data) - ends[1] - 9),
    "last line gone": lambda data, ends: data[: ends[1]],
    "first line gone": lambda data, ends: data[ends[0] :],
    "all but one line gone": lambda data, ends: data[: ends[0]],
    "middle zeroed": lambda data, ends: data[: ends[0]] + bytes(ends[1] - ends[0]) + data[ends[1] :],
    "gone": lambda data, ends: None,
    "empty": lambda data, ends: b"",
}


@pytest.mark.req("R045")
@pytest.mark.parametrize("damage", DAMAGES)
def test_facts__stored_ones_damaged_or_gone__never_passed_over(store, home, damage):
    path = home / "facts.jsonl"
    ends = []
    for number in range(3):
        store.add_fact(make_fact(number), 5)
        ends.append(path.stat().st_size)
    assert FileBackend(home.parent).check().lost == 0
    left = DAMAGES[damage](path.read_bytes(), ends)
    path.unlink() if left is None else path.write_bytes(left)
    for view in (FileBackend(home.parent), store):
        try:
            assert view.check().lost == 3 - len(list(view.facts())) > 0
            view.add_fact(make_fact(9), 5)  # what is new does not hide what is missing
            assert view.check().lost == 4 - len(list(view.facts())) > 0
            delete_fact(view, make_fact(9).id)
            view.compact()
        except Corrupt:
            for touch in (view.check, lambda view=view: view.add_fact(make_fact(9), 5)):
                with pytest.raises(Corrupt):
                    touch()
            assert path.read_bytes() == left
    if left is not None and b"\0" not in left:
        store.repair()
        assert store.check().lost == FileBackend(home.parent).check().lost == 0
        store.add_fact(make_fact(9), 5)
        assert get_fact(FileBackend(home.parent), make_fact(9).id) == make_fact(9)


@given(st.data())
def test_facts__any_range_cut_or_overwritten__is_noticed_or_changes_no_fact(tmp_path, data):
    root = tmp_path / os.urandom(6).hex()
    root.mkdir()
    stored = [make_fact(number, data.draw(st.text("abé🙂\0\n", max_size=9)) + str(number)) for number in range(3)]
    for fact in stored:
        FileBackend(root).add_fact(fact, 5)
    path = root / ".holdfast" / "facts.jsonl"
    whole = path.read_bytes()
    start = data.draw(st.integers(0, len(whole) - 1))
    end = data.draw(st.integers(start + 1, len(whole)))
    size = end - start
    filling = data.draw(st.sampled_from([b"", bytes(size), b"x" * size, b"\n" * size, b" " * size]))
    path.write_bytes(whole[:start] + filling + whole[end:])
    view = FileBackend(root)
    with contextlib.suppress(Corrupt):
        # A whole line without a checksum is what a person may write.
        by_hand = any(b'"crc"' not in line for line in path.read_bytes().splitlines())
        assert list(view.facts()) == stored or by_hand or view.check().lost


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_fork__while_another_thread_is_in_a_call__child_reads_and_adds(project):
    script = textwrap.dedent(
        """
        import os, sys, threading
        from holdfast.testing.base import make_fact
        from holdfast_file.backend import FileBackend

        store, ended = FileBackend(sys.argv[1]), threading.Event()

        def add() -> None:
            number = 100
            while not ended.is_set():
                store.add_fact(make_fact(number), 10**6)
                number += 1

        adding = threading.Thread(target=add)
        adding.start()
        for number in range(8):
            child = os.fork()
            if child == 0:
                store.add_fact(make_fact(number), 10**6)
                os._exit(len(list(store.facts())) == 0)
            assert os.waitpid(child, 0)[1] == 0
        ended.set()
        adding.join()
        print(sorted(f.id for f in FileBackend(sys.argv[1]).facts())[:8])
        """
    )
    done = finished([sys.executable, "-W", "ignore::DeprecationWarning", "-c", script, str(project)], check=True)
    assert done.stdout.strip() == str([make_fact(n).id for n in range(8)])
