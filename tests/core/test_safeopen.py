"""No path leads out of its folder: links, races, hard links, pipes and devices, and other users' files."""

import errno
import os
import socket
import stat
import subprocess
import sys
import threading

import pytest

from holdfast.errors import Unavailable
from holdfast.fs import durable, safeopen

ROOT_ONLY = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")


@pytest.mark.parametrize("part", ["a", "a/b", "a/b/file"])
def test_open__link_at_any_part_of_the_way__refused(tmp_path, part):
    (tmp_path / "real" / "b").mkdir(parents=True)
    (tmp_path / "real" / "b" / "file").write_text("kept")
    if part == "a":
        (tmp_path / "a").symlink_to("real")
    elif part == "a/b":
        (tmp_path / "a").mkdir()
        (tmp_path / "a" / "b").symlink_to(tmp_path / "real" / "b")
    else:
        (tmp_path / "a" / "b").mkdir(parents=True)
        (tmp_path / "a" / "b" / "file").symlink_to(tmp_path / "real" / "b" / "file")
    path = tmp_path / "a" / "b" / "file"
    for act in (lambda: safeopen.read(path), lambda: safeopen.open_fd(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)):
        with pytest.raises(OSError) as caught:
            act()
        assert caught.value.errno == errno.ELOOP
    for write in (durable.append, durable.replace) if part != "a/b/file" else (durable.append,):
        with pytest.raises(Unavailable, match="Replace the symbolic link"):
            write(path, b"x")
    assert (tmp_path / "real" / "b" / "file").read_text() == "kept"


@pytest.mark.parametrize("kind", ["fifo", "device", "socket", "folder"])
def test_open__not_a_regular_file__refused_at_once(tmp_path, kind):
    path = tmp_path / "file"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(path))
    else:
        try:
            os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))  # /dev/zero, which has no end
        except PermissionError:
            pytest.skip("only root makes devices")
    for flags in (os.O_RDONLY, os.O_WRONLY | os.O_APPEND, os.O_RDWR | os.O_CREAT, os.O_WRONLY | os.O_TRUNC):
        done = threading.Event()

        def attempt(flags: int = flags, done: threading.Event = done) -> None:
            try:
                os.close(safeopen.open_fd(path, flags))
            except OSError:
                done.set()

        thread = threading.Thread(target=attempt, daemon=True)
        thread.start()
        assert done.wait(20), f"{kind} was opened, or blocks, with {flags}"


def test_open__file_with_several_names__not_private(tmp_path):
    (tmp_path / "victim").write_text("kept")
    os.link(tmp_path / "victim", tmp_path / "file")
    for flags in (os.O_RDONLY, os.O_WRONLY | os.O_TRUNC):
        with pytest.raises(safeopen.UnsafeFile, match="several names") as caught:
            safeopen.open_fd(tmp_path / "file", flags)
        assert caught.value.next_step
    assert (tmp_path / "victim").read_text() == "kept"
    with pytest.raises(Unavailable, match=r"several names.*copy"):
        durable.append(tmp_path / "file", b"x")
    durable.replace(tmp_path / "file", b"new")
    assert (tmp_path / "victim").read_text() == "kept"


@ROOT_ONLY
def test_open__file_of_another_user__not_private(tmp_path):
    (tmp_path / "file").write_text("theirs")
    os.chown(tmp_path / "file", 12345, 12345)
    with pytest.raises(safeopen.UnsafeFile, match="another user"):
        safeopen.read(tmp_path / "file")
    assert safeopen.read(tmp_path / "file", private=False) == b"theirs"


def test_read__more_than_allowed__refused(tmp_path):
    (tmp_path / "file").write_bytes(b"x" * 101)
    with pytest.raises(safeopen.UnsafeFile, match="larger than 100"):
        safeopen.read(tmp_path / "file", 100)
    assert len(safeopen.read(tmp_path / "file", 101)) == 101


@pytest.mark.skipif(sys.platform == "win32", reason="there is no umask here")
@pytest.mark.parametrize("umask", [0o022, 0o777])
def test_make__any_umask__closed_to_others_and_open_to_the_user(tmp_path, umask):
    code = (
        "import os, sys; os.umask(int(sys.argv[2])); from holdfast.fs import durable;"
        "durable.make_private_dir(sys.argv[1] + '/a/b'); durable.append(sys.argv[1] + '/a/b/c', b'1');"
        "durable.replace(sys.argv[1] + '/a/b/d', b'1')"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path), str(umask)], check=True)
    modes = {str(p.relative_to(tmp_path)): stat.S_IMODE(p.stat().st_mode) for p in tmp_path.rglob("*")}
    assert modes == {"a": 0o700, "a/b": 0o700, "a/b/c": 0o600, "a/b/d": 0o600}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="no other system swaps two names in one call")
def test_write__folder_swapped_for_a_link_again_and_again__nothing_gets_out(tmp_path):
    """Another process swaps the folder for a link outside while this one writes and reads in it."""
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    (outside / "sub").mkdir(parents=True)
    (inside / "state" / "sub").mkdir(parents=True)
    (outside / "sub" / "victim").write_text("kept")
    code = """if 1:
        import ctypes, os, sys
        inside, outside = sys.argv[1:]
        os.symlink(outside, inside + "/link")
        swap = ctypes.CDLL(None).renameat2
        state, link = (inside + "/state").encode(), (inside + "/link").encode()
        assert swap(-100, state, -100, link, 2) == 0
        print(flush=True)
        while swap(-100, state, -100, link, 2) == 0:
            pass
    """
    with subprocess.Popen([sys.executable, "-c", code, inside, outside], stdout=subprocess.PIPE) as swapping:
        try:
            swapping.stdout.readline()
            folder = inside / "state" / "sub"
            written = refused = 0
            for number in range(900):
                name = ("victim", "new", f"new{number}")[number % 3]
                try:
                    if number % 2:
                        durable.append(folder / name, b"x", flush=False)
                    else:
                        durable.replace(folder / name, b"x", flush=False)
                    written += 1
                    assert safeopen.read(folder / name) != b"kept"
                except (Unavailable, OSError):
                    refused += 1
                try:
                    durable.remove(folder / "victim")
                    durable.make_private_dir(folder / "deep" / str(number))
                except Unavailable:
                    refused += 1
            assert swapping.poll() is None
        finally:
            swapping.kill()
    assert written
    assert refused
    assert {p.name: p.read_text() for p in outside.rglob("*") if p.name != "sub"} == {"victim": "kept"}
