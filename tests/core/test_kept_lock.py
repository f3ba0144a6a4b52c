"""The lock whose file stays open: it has to keep out whom :func:`holdfast.fs.durable.lock` keeps out, and no more."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.support.crowd import most_inside

from holdfast.errors import Unavailable
from holdfast.fs import durable

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.lock"


def is_free(path: Path) -> bool:
    """Whether somebody else could take the lock now."""
    try:
        with durable.lock(path, timeout_s=0):
            return True
    except Unavailable:
        return False


@contextmanager
def running(code: str, path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that runs ``code`` with a lock ``kept`` on the path, until the block ends."""
    head = (
        "import os, sys, threading, time; from holdfast import errors; from holdfast.fs import durable; "
        f"kept = durable.KeptLock({str(path)!r}, 0.05)\n"
    )
    command = [sys.executable, "-c", head + code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT) as process:
        try:
            yield process
        finally:
            process.kill()


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def open_files() -> int:
    return len(os.listdir("/dev/fd"))


def test_kept__block_after_block__one_open_file_and_free_in_between(path: Path) -> None:
    kept = durable.KeptLock(path, 0.05)
    before = open_files()
    for _ in range(3):
        with kept:
            assert not is_free(path)
        assert is_free(path)
        assert open_files() == before + 1
    with pytest.raises(KeyError), kept:
        raise KeyError
    assert is_free(path)


def test_kept__threads_that_share_it__one_at_a_time(path: Path) -> None:
    kept = durable.KeptLock(path, 10)
    assert most_inside(lambda: kept) == 1


def test_kept__held_by_another__waits_no_longer_than_told_and_leaves_no_file_open(path: Path) -> None:
    kept = durable.KeptLock(path, 0.05)
    before = open_files()
    with kept:
        pass
    with durable.lock(path):
        start = time.monotonic()
        with pytest.raises(Unavailable, match=r"'store\.lock' was still held after 0\.05 s"), kept:
            pass
        assert 0.05 <= time.monotonic() - start < 2
    assert open_files() == before
    with kept, pytest.raises(Unavailable, match="still held"), kept:  # not re-entrant
        pass
    assert is_free(path)


def test_kept__file_removed_or_replaced__the_one_of_that_name_counts(path: Path) -> None:
    """`git clean` may remove it while it is open."""
    kept = durable.KeptLock(path, 0.05)
    with kept:
        pass
    path.unlink()
    with kept:
        assert not is_free(path)
    path.rename(path.with_name("old"))
    with durable.lock(path), pytest.raises(Unavailable, match="still held"), kept:
        pass
    path.unlink()
    path.mkdir()
    with pytest.raises(Unavailable, match="Is a directory"), kept:
        pass
    path.rmdir()
    with kept:
        assert not is_free(path)


def test_kept__descriptor_closed_by_somebody_else__opened_anew(path: Path) -> None:
    before = set(os.listdir("/dev/fd"))
    kept = durable.KeptLock(path, 0.05)
    with kept:
        pass
    for name in set(os.listdir("/dev/fd")) - before:
        if os.path.exists(f"/dev/fd/{name}") and os.path.samefile(f"/dev/fd/{name}", path):
            os.close(int(name))
    with kept:
        assert not is_free(path)


def test_kept__closed_or_collected__no_file_open(path: Path) -> None:
    before = open_files()
    kept = durable.KeptLock(path, 0.05)
    with kept:
        kept.close()
        assert not is_free(path)  # not under somebody who is inside
    kept.close()
    kept.close()
    assert open_files() == before
    with kept:
        pass
    assert open_files() == before + 1
    del kept
    assert open_files() == before


def test_kept__holder_killed__free_again(path: Path) -> None:
    with running("with kept: pass\nwith kept: print('held', flush=True); time.sleep(60)", path) as holder:
        assert said(holder) == "held"
        assert not is_free(path)
        holder.kill()
        holder.wait()
        assert is_free(path)


def test_kept__holder_killed_and_its_child_lives__free_again(path: Path) -> None:
    code = """
with kept:
    child = os.fork()
    if child == 0:
        print(os.getpid(), flush=True)
        time.sleep(60)
    time.sleep(60)
"""
    with running(code, path) as holder:
        child = int(said(holder))
        try:
            assert not is_free(path)
            holder.kill()
            holder.wait()
            os.kill(child, 0)
            assert is_free(path)
        finally:
            os.kill(child, signal.SIGKILL)


def test_kept__child_forked_inside_of_the_block__neither_frees_nor_shares_the_lock(path: Path) -> None:
    code = """
def tries():
    try:
        with kept: return "in"
    except errors.Unavailable:
        return "out"

kept.__enter__()
child = os.fork()
if child == 0:
    before = tries()
    kept.__exit__(None, None, None)
    print(before, tries(), flush=True)
    os._exit(0)
os.waitpid(child, 0)
print("left", flush=True)
time.sleep(60)
"""
    with running(code, path) as holder:
        assert said(holder) == "out out"
        assert said(holder) == "left"
        assert not is_free(path)


def test_kept__child_forked_while_a_thread_is_inside__takes_it_once_it_is_free(path: Path) -> None:
    code = """
inside, leave = threading.Event(), threading.Event()
def work():
    with kept:
        inside.set()
        leave.wait()

thread = threading.Thread(target=work)
thread.start()
inside.wait()
reader, writer = os.pipe()
child = os.fork()
if child == 0:
    os.read(reader, 1)
    with kept: print("in", flush=True)
    os._exit(0)
leave.set()
thread.join()
os.write(writer, b".")
os.waitpid(child, 0)
with kept: print("parent, too", flush=True)
"""
    with running("import warnings; warnings.simplefilter('ignore')" + code, path) as process:
        assert said(process) == "in"
        assert said(process) == "parent, too"
