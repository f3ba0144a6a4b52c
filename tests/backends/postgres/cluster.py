"""A PostgreSQL cluster of the tests' own: in a temporary folder, on a loopback port, gone with the process.

As root the server runs as another user, because it refuses to run as root. ``fsync`` is off except where a test kills
the server.
"""

from __future__ import annotations

import atexit
import glob
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

OWNER, USER, DATABASE, PASSWORD = "postgres", "hf", "memory", "open sesame"


def program(name: str) -> str:
    """The server program, or a skip with the reason."""
    found = [*sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}")), shutil.which(name) or ""][0]
    if not found:
        pytest.skip(f"no PostgreSQL server program {name!r} on this machine")
    return found


class Cluster:
    """One running server with the database ``memory`` and the plain role ``hf``."""

    def __init__(self, *, fsync: bool = False, auth: str = "trust", host: str = "127.0.0.1", **settings: str) -> None:
        """``auth`` is the method for TCP, ``settings`` are server settings; an empty ``host`` means all of them."""
        pytest.importorskip("psycopg", reason="holdfast-memory[postgres] is not installed")
        self.folder = Path(tempfile.mkdtemp(prefix="hfpg-"))
        self.port = _free_port()
        self._fsync, self._settings = fsync, {"listen_addresses": host or "*", **settings}
        self._as = _user() if os.geteuid() == 0 else None
        if self._as is not None:
            os.chown(self.folder, self._as.pw_uid, self._as.pw_gid)
        self._run(
            program("initdb"), "-D", self.data, "-U", OWNER, "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "-N"
        )
        if not host:
            with (Path(self.data) / "pg_hba.conf").open("a", encoding="utf-8") as file:
                file.write("host all all all trust\nhost replication all all trust\n")
        self.start()
        self.sql(
            f"CREATE ROLE {USER} LOGIN PASSWORD '{PASSWORD}'",
            f"CREATE DATABASE {DATABASE} OWNER {USER}",
            database="postgres",
        )
        if auth != "trust":
            hba = Path(self.data) / "pg_hba.conf"
            hba.write_text(f"host all {OWNER} all trust\nhost all all all {auth}\n", "utf-8")
            self.sql("SELECT pg_reload_conf()")
        atexit.register(self.remove)

    @property
    def data(self) -> str:
        return str(self.folder / "data")

    def url(self, user: str = USER, database: str = DATABASE, port: int = 0) -> str:
        return f"postgresql://{user}@127.0.0.1:{port or self.port}/{database}"

    def start(self) -> None:
        on = "on" if self._fsync else "off"
        settings = {
            "port": self.port, "unix_socket_directories": "", "fsync": on, "synchronous_commit": on,
            "max_connections": 200, "shared_buffers": "16MB", **self._settings,
        }  # fmt: skip
        options = " ".join(f"-c {name}='{value}'" for name, value in settings.items())
        self._run(program("pg_ctl"), "-D", self.data, "-w", "-o", options, "-l", str(self.folder / "log"), "start")

    def owned(self, path: Path, text: bytes) -> Path:
        """A file that only the server can read."""
        path.write_bytes(text)
        path.chmod(0o600)
        if self._as is not None:
            os.chown(path, self._as.pw_uid, self._as.pw_gid)
        return path

    def kill(self) -> None:
        """SIGKILL to the postmaster and all of its processes."""
        pid = int((Path(self.data) / "postmaster.pid").read_text().split()[0])
        children = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False).stdout.split()
        for one in (pid, *map(int, children)):
            try:
                os.kill(one, 9)
            except ProcessLookupError:
                continue
        (Path(self.data) / "postmaster.pid").unlink(missing_ok=True)
        time.sleep(0.2)

    def sql(
        self, *statements: str, database: str = DATABASE, user: str = OWNER, values: Sequence[object] | None = None
    ) -> list[tuple[object, ...]]:
        """Run statements as the superuser, each on its own. Returns the rows of the last one."""
        import psycopg

        with psycopg.connect(self.url(user, database), autocommit=True) as connection:
            for statement in statements:
                cursor = connection.execute(statement, values)
            return cursor.fetchall() if cursor.description else []

    def standby(self) -> Cluster:
        """A new cluster that follows this one as its synchronous standby, started."""
        other = Cluster.__new__(Cluster)
        other.folder = Path(tempfile.mkdtemp(prefix="hfpg-"))
        other.port, other._fsync, other._as, other._settings = _free_port(), self._fsync, self._as, self._settings
        if other._as is not None:
            os.chown(other.folder, other._as.pw_uid, other._as.pw_gid)
        source = f"host=127.0.0.1 port={self.port} user={OWNER} application_name=second"
        self._run(program("pg_basebackup"), "-D", other.data, "-d", source, "-R", "-X", "stream", "-c", "fast")
        other.start()
        atexit.register(other.remove)
        self.sql("ALTER SYSTEM SET synchronous_standby_names = 'second'", "SELECT pg_reload_conf()")
        for _ in range(200):
            if self.sql("SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'"):
                return other
            time.sleep(0.05)
        raise AssertionError("the standby did not become synchronous")

    def promote(self) -> None:
        """Make the standby the primary, which no longer waits for another one."""
        self.sql("ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_promote()", "SELECT pg_reload_conf()")

    def remove(self) -> None:
        if (Path(self.data) / "postmaster.pid").exists():
            self._run(program("pg_ctl"), "-D", self.data, "-m", "immediate", "stop", check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, *words: str, check: bool = True) -> None:
        done = subprocess.run(
            words,
            check=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd="/",
            user=self._as.pw_uid if self._as else None,
            group=self._as.pw_gid if self._as else None,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
        )
        assert not check or done.returncode == 0, done.stderr.decode("utf-8", "replace")


@cache
def shared() -> Cluster:
    """One cluster for all tests of this process. Other processes that they start find it by the environment."""
    return Cluster()


def _user() -> pwd.struct_passwd:
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    return pytest.skip("no user to run the server as")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
