"""A machine for one history: processes in turns, their clocks, ids and locks, faults of the disk, and crashes."""

import atexit
import errno
import fcntl
import functools
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from tests.simulation.disk import FIRST_FD, Disk

from holdfast import project
from holdfast.fs import locks, ownership_mark, private, records, safeopen, userdir
from holdfast.journal import emergency_log, journal
from holdfast.plugin import calls
from holdfast_app import base
from holdfast_app.authorship import hostile, strangers, witness
from holdfast_app.trust import provenance
from holdfast_file import facts

ROOT = "/simulated"
_MINE = (ROOT, "/.git")  # the project is in a repository, if any
#: What depends on the arguments only, so that all histories share the answers, for speed.
_PURE = [
    (module, name, functools.lru_cache(10_000)(getattr(module, name)))
    for module, names in (
        (os.path, "join relpath dirname normpath split basename"), (userdir, "folder path"),
        (hostile, "fold squeezed instructs is_marked body_of"),
        (strangers, "Sentence longest"), (emergency_log, "parsed"), (ownership_mark, "away_path digest"),
    )
    for name in names.split()
]  # fmt: skip
_decoded = functools.lru_cache(10_000)(records.decode)
_passages = functools.lru_cache(10_000)(lambda text, split=provenance._passages: (*split(text),))
START = datetime(2026, 11, 21, 14, 30, tzinfo=UTC)
#: Calls with a path first, calls with a descriptor first, and those of one argument that take either.
_BY_PATH = ("open", "mkdir", "unlink", "rmdir", "stat", "access", "listdir", "scandir", "rename")
_BY_FD = ("dup", "close", "fdopen", "read", "write", "ftruncate", "fsync", "fchmod")
_CHANGES = frozenset({"create", "write", "overwrite", "truncate", "fsync", "mkdir", "rename", "unlink", "rmdir"})
_FREE = (_CHANGES - {"create", "write", "overwrite", "mkdir"}, _CHANGES - {"write", "mkdir"})


def _no_links(real: Callable[..., str]) -> Callable[..., str]:
    """There are no links on this disk, so nothing is looked up there."""

    def call(path: Any, **named: Any) -> str:
        if type(path) is str and path.startswith(ROOT):
            return os.path.normpath(path) if "//" in path or "/./" in path or "/.." in path else path
        return real(path, **named)

    return functools.lru_cache(10_000)(call)


_realpath, _abspath = _no_links(os.path.realpath), _no_links(os.path.abspath)


class Dead(BaseException):
    """The calling process is no more."""


class Process:
    """One process, with a number and a clock."""

    def __init__(self, number: int, offset: timedelta) -> None:
        self.number, self.offset = number, offset
        self.dead = False
        self.done = False
        self.turn = threading.Lock()
        self.turn.acquire()
        self.error: BaseException | None = None


class World:
    """The disk and its processes, which have the same ``plugins``. ``chance`` decides."""

    def __init__(self, chance: Random, plugins: base.Plugins) -> None:
        self.chance, self.plugins = chance, plugins
        self.seconds = 0.0
        self.changes = 0
        self.crash_at = self.fault_at = -1
        self.kills = self.lasting = self.lying = self.is_down = False
        self.fault, self.faults = errno.EIO, [errno.EIO, errno.ENOSPC]
        self.fills_up = False  # a full disk still has room for names, and where bytes are
        self.is_cleaned = False  # of lock files, as by `git clean`, while processes wait for them
        self.is_interrupted = False  # so that many writes are short
        self.is_small = False  # so that the facts are soon rewritten
        self.walks = False  # to a file through each folder on the way, as in reality
        self.syncs, self._at_sync = 0, False
        self.hit = ""
        self.faulted = False
        self.switching = 0.0
        self.processes: list[Process] = []
        self.running = Process(1, timedelta())
        self.disk = Disk(ROOT, self)

    def now(self) -> datetime:
        """The running process's clock."""
        return START + timedelta(seconds=self.seconds) + self.running.offset

    def now_ns(self) -> int:
        """The disk's clock."""
        return int((1e9 + self.seconds) * 1e9)

    def break_at(self, at: int, way: str, *, at_sync: bool = False) -> None:
        """At that change of the disk, or that sync, the power is cut (``cut``), the calling process is killed, or the
        call fails (``fault``), and maybe all later ones. ``lie``: all syncs until the cut do nothing."""
        self.kills, self.lying, self._at_sync = way == "kill", way == "lie", at_sync
        if way == "fault":
            self.fault_at, self.fault = at, self.chance.choice(self.faults)
            self.lasting = self.chance.random() < 0.5
        else:
            self.crash_at = at

    @property
    def is_over(self) -> bool:
        """Whether the running process is dead."""
        return self.running.dead or self.is_down

    # what the calls of a process meet

    def step(self, name: str, size: int) -> int:
        me = self.running
        if me.dead or self.is_down:
            raise Dead
        self.seconds += 0.001
        if self.switching and self.chance.random() < self.switching:
            self._give_way()
        if name not in _CHANGES:
            return int(self.is_cleaned and name == "lock" and self.chance.random() < 0.05)
        self.changes += 1
        self.syncs += name == "fsync"
        at = 0 if self._at_sync and name != "fsync" else self.syncs if self._at_sync else self.changes
        if at == self.crash_at:
            self.hit = f"{'kill' if self.kills else 'power cut'} at {name}"
            self._crash(me)
        if at == self.fault_at or (self.lasting and self.faulted):
            self.hit = self.hit if self.faulted else f"{errno.errorcode[self.fault]} at {name}"
            self.faulted = True
            free = _FREE[self.fills_up] if self.fault == errno.ENOSPC else ()
            if free and "write" in name and name not in free and size > 1 and at == self.fault_at:
                return size // 2
            if name not in free:
                raise OSError(self.fault, os.strerror(self.fault))
        if name == "fsync":
            return int(self.lying)
        return (size + 1) // 2 if self.is_interrupted and name == "write" and self.changes % 3 else size

    def _crash(self, me: Process) -> None:
        me.dead = True
        if self.kills:
            self.disk.kill(me)
        else:
            self.is_down = True
        raise Dead

    def cut_power(self) -> None:
        """The power goes, and comes back; all processes are gone."""
        _forget()
        self.disk.cut_power(self.chance)
        self.is_down = False

    def mend(self) -> None:
        """From here on nothing fails. All processes are gone."""
        _forget()
        self.crash_at = self.fault_at = -1
        self.lasting = self.lying = self.faulted = False

    # processes in turns

    def run(self, jobs: list[tuple[Process, Callable[[], None]]], switching: float) -> None:
        """Run the jobs, each as a process. Raises: whatever a job raised, except :class:`Dead`."""
        self.processes += [process for process, _ in jobs]
        self.switching = switching if len(jobs) > 1 else 0.0
        if len(jobs) == 1:
            self.running = jobs[0][0]
            _survived(*jobs[0])
        else:
            threads = [threading.Thread(target=self._in_turn, args=job, daemon=True) for job in jobs]
            self._over = threading.Lock()
            self._over.acquire()
            for thread in threads:
                thread.start()
            self._next().turn.release()
            self._over.acquire()
            for thread in threads:
                thread.join()
        self.switching = 0.0
        for process in self.processes:
            self.disk.kill(process)
            if process.error is not None:
                raise process.error

    def _in_turn(self, process: Process, job: Callable[[], None]) -> None:
        process.turn.acquire()
        _survived(process, job)
        process.done = True
        if all(one.done for one in self.processes):
            self._over.release()
        else:
            self._next().turn.release()

    def _next(self) -> Process:
        self.running = self.chance.choice([one for one in self.processes if not one.done])
        return self.running

    def _give_way(self) -> None:
        me, other = self.running, self._next()
        if other is not me:
            other.turn.release()
            me.turn.acquire()
            if self.is_over:
                raise Dead

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds
        if self.is_over:
            raise Dead
        if self.switching:
            self._give_way()

    # its place in this interpreter

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Calls for paths below :data:`ROOT`, and of clocks and ids, are the world's."""
        disk = self.disk
        patches: list[tuple[Any, str, Any]] = [
            *((os, name, _by_path(getattr(os, name), getattr(disk, name))) for name in _BY_PATH),
            *((os, name, _by_fd(getattr(os, name), getattr(disk, name))) for name in _BY_FD),
            (os, "lstat", _by_path(os.lstat, disk.stat)),
            (os, "fstat", _by_fd(os.fstat, disk.stat)),
            (os, "replace", _by_path(os.replace, disk.rename)),
            (os.path, "realpath", _realpath),
            (os.path, "abspath", _abspath),
            (journal, "decode", lambda line: (found := _decoded(line)) and {**found}),
            *(() if self.walks else self._direct()),
            *((facts, "SPARE_DEAD_LINES", 0) for _ in range(self.is_small)),
            (base.Services, "manager_type", lambda: self.plugins),
            (project, "_register_backend", lambda *_: None),
            (os, "environ", {**os.environ, "XDG_CONFIG_HOME": f"{ROOT}/home"}),
            (os, "urandom", self.chance.randbytes),
            (random, "random", self.chance.random),
            (os, "getpid", lambda: self.running.number),
            (locks, "getpid", lambda: self.running.number),
            (fcntl, "flock", _by_fd(fcntl.flock, disk.flock)),
            (time, "sleep", self.sleep),
            (time, "monotonic", lambda: self.seconds),
            (time, "monotonic_ns", lambda: int(self.seconds * 1e9)),
            (time, "time", lambda: self.now().timestamp()),
            (atexit, "register", lambda function: function),
            (atexit, "unregister", lambda function: None),
            (functools.cached_property, "__get__", _without_lock),
            (calls._Call, "wait", lambda call, limit_s: call.run()),
            (witness.Witness, "_is_foisted", lambda *_, **__: False),  # no message says the rules
            (provenance, "_passages", _passages),
            *_PURE,
        ]
        _forget()
        real = [(where, name, getattr(where, name)) for where, name, _ in patches]
        try:
            for where, name, new in patches:
                setattr(where, name, new)
            yield
        finally:
            for where, name, old in real:
                setattr(where, name, old)

    def _direct(self) -> list[tuple[Any, str, Any]]:
        """For speed a path is opened, or a file read, with one call instead of one for each part of its path."""
        disk = self.disk
        calls = {"open_fd": disk.open_file, "read": disk.read_file, "reader": disk.reader, "stat": disk.stat_below}
        check = (safeopen.Folder, "_check", lambda _, fd, name, *how: disk.check(fd, name))
        return [check, *((safeopen, name, call) for name, call in {"_walked": disk.open, **calls}.items())]


def _forget() -> None:
    """What a process remembers of the disk."""
    private._marked.clear()
    ownership_mark._durable.clear()


def _survived(process: Process, job: Callable[[], None]) -> None:
    try:
        job()
    except Dead:
        pass
    except BaseException as error:  # raised again in the main thread
        process.error = error


def _by_path(real: Callable[..., Any], mine: Callable[..., Any]) -> Callable[..., Any]:
    def call(path: Any = ".", *args: Any, **named: Any) -> Any:
        if type(path) is str and path.startswith(_MINE):
            return mine(path, *args, **named)
        path = path if type(path) in (str, int) else os.fspath(path)
        folder = path if type(path) is int else named.get("dir_fd", named.get("src_dir_fd"))
        is_mine = folder >= FIRST_FD if folder is not None else path == os.sep or str(path).startswith(_MINE)
        return (mine if is_mine else real)(path, *args, **named)

    return call


def _by_fd(real: Callable[..., Any], mine: Callable[..., Any]) -> Callable[..., Any]:
    def call(fd: Any, *args: Any, **named: Any) -> Any:
        return (mine if fd >= FIRST_FD else real)(fd, *args, **named)

    return call


def _without_lock(self: Any, instance: Any, owner: object = None) -> Any:
    """``cached_property`` as from Python 3.12 on; before, processes of a history would share its lock."""
    if instance is None:
        return self
    if self.attrname not in instance.__dict__:
        instance.__dict__[self.attrname] = self.func(instance)
    return instance.__dict__[self.attrname]
