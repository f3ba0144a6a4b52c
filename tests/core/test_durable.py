"""The durable primitives that the journal and the file backend share."""

import errno
import os
import subprocess
import sys
import threading
import time

import pytest
from tests.plugins.models.test_background import until

from holdfast.errors import Unavailable
from holdfast.fs import durable


def test_lock__held_elsewhere__waits_no_longer_than_told(tmp_path):
    path = tmp_path / "store.lock"
    before = len(os.listdir("/dev/fd"))
    with durable.lock(path):
        start = time.monotonic()
        with (
            pytest.raises(Unavailable, match=r"'store\.lock' was still held after 0\.05 s"),
            durable.lock(path, timeout_s=0.05),
        ):
            pass
        assert 0.05 <= time.monotonic() - start < 20
    with durable.lock(path, timeout_s=0):
        pass
    assert len(os.listdir("/dev/fd")) == before


def test_line__several_wait__enter_in_the_order_of_arrival_past_a_killed_one(tmp_path):
    line, entered, known = str(tmp_path / "line"), list[int](), set[str]()
    code = "import sys; from holdfast.fs import durable; durable.Line(sys.argv[1]).__enter__()"

    def arrive(number: int) -> None:
        with durable.Line(line):
            entered.append(number)

    threads = [threading.Thread(target=arrive, args=(number,)) for number in range(5)]
    with durable.Line(line):
        dead = subprocess.Popen([sys.executable, "-c", code, line])
        until(lambda: os.path.isdir(line) and len(os.listdir(line)) == 1)
        known.update(os.listdir(line))
        dead.kill()
        dead.wait()
        for number, thread in enumerate(threads):
            thread.start()
            until(lambda number=number: len(set(os.listdir(line)) - known) > number)
    for thread in threads:
        thread.join()
    assert entered == [0, 1, 2, 3, 4]
    assert os.listdir(line) == []


def test_lock__file_removed_while_held__the_new_file_counts(tmp_path):
    path = tmp_path / "lock"
    entered = threading.Event()

    def wait() -> None:
        with durable.lock(path, timeout_s=5):
            entered.set()

    with durable.lock(path):
        path.unlink()
        with durable.lock(path):  # another process may hold the new file while the old one is held, too
            thread = threading.Thread(target=wait)
            thread.start()
            assert not entered.wait(0.03)
        assert entered.wait(5)
    thread.join()


@pytest.mark.req("R167")
@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda p: durable.append(p / "dir", b"x"), "append to 'dir': Is a directory. A folder is where"),
        (lambda p: durable.replace(p / "dir", b"x"), "write 'dir': Is a directory. A folder is where"),
        (lambda p: durable.append(p / "link", b"x"), f"append to 'link': {os.strerror(errno.ELOOP)}. Replace"),
        (lambda p: durable.append(p / "no" / "x", b"x"), "append to 'x': No such file or directory. Check"),
        (lambda p: durable.remove(p / "dir"), "remove 'dir': Is a directory."),
        (lambda p: durable.truncate(p / "x", 0), "cut 'x': No such file or directory."),
        (lambda p: durable.replace(p / ("x" * 300), b""), f"{os.strerror(errno.ENAMETOOLONG)}. Use a shorter name."),
        (lambda p: durable.lock(p / "dir").__enter__(), "take the lock 'dir': Is a directory."),
        (
            lambda p: durable.make_private_dir(p / "file" / "deep"),
            "make the folder 'file': File exists. A file is where a folder should be",
        ),
    ],
)
def test_call__hopeless__unavailable_with_reason_and_next_step(tmp_path, act, said):
    (tmp_path / "dir").mkdir()
    for name in ("target", "file"):
        (tmp_path / name).write_text("kept")
    (tmp_path / "link").symlink_to("target")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(Unavailable) as caught:
        act(tmp_path)
    assert said in str(caught.value)
    assert str(tmp_path) not in str(caught.value)
    assert caught.value.next_step
    assert sorted(tmp_path.iterdir()) == before
    assert (tmp_path / "target").read_text() == "kept"
