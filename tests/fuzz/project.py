"""A project that is fuzzed and measured in this process."""

import contextlib
import io
import logging
import os
import shutil
import signal
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from holdfast_cli import main

LIMIT_S = 30
#: Most memory, in bytes, that one command may add to the process's largest so far: inputs are 1 MB or less.
LIMIT_BYTES = 256 << 20
EXITS = {0, 1, 2, 3}


class Project:
    """One project with something of everything in it, put back as it was after each example."""

    def __init__(self, root: Path, home: Path) -> None:
        self.root = root
        self.home = home
        self.run("init")
        for role, text in (("user", "Fix the login test. Remember: staging runs Postgres 15."), ("assistant", "Done.")):
            self.run("add", role, text, "--session", "fuzz")
        self.run("remember", "prefers tabs", "--category", "preference", "--confidence", "0.9")
        self.run("remember", "ships on Fridays", "--category", "context", "--confidence", "0.7")
        words = [
            "--objective",
            "Fix it",
            "--decision",
            "Use a lock",
            "--next-step",
            "Run the tests",
            "--curated",
            "none",
        ]
        self.run("flush", "--session", "fuzz", *words)
        self.run("add", "user", "And one turn that no flush covers.", "--session", "fuzz")
        self.run("search", "login")
        self.before = self.files()
        self.state = root / ".holdfast" / "state"
        self.inode = self.state.stat().st_ino

    def run(self, *words: str, stdin: bytes = b"") -> tuple[int, str]:
        """The exit code and all that was printed. A hang ends as an error of the test."""
        out, err = io.StringIO(), io.StringIO()
        old, largest = sys.stdin, _largest()
        sys.stdin = io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
        try:
            with alarm(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = main(["--root", str(self.root), *words])
        finally:
            sys.stdin = old
        text = out.getvalue() + err.getvalue()
        assert _largest() - largest < LIMIT_BYTES, words
        assert "unforeseen" not in text, text
        assert "Traceback" not in text, text
        assert code in EXITS, (code, text)
        return code, text

    def measure(self, *words: str) -> tuple[int, int]:
        """A command's exit code, and the most bytes that it held at one time, without its output."""
        with (
            open(os.devnull, "w", encoding="utf-8") as nowhere,
            contextlib.redirect_stdout(nowhere),
            contextlib.redirect_stderr(nowhere),
            alarm(),
        ):
            logging.disable()  # pytest keeps every record
            tracemalloc.start()
            try:
                code = main(["--root", str(self.root), *words])
                return code, tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()
                logging.disable(logging.NOTSET)

    @contextlib.contextmanager
    def example(self) -> Iterator[None]:
        """One example: what it changed in the project is put back, and elsewhere it may change nothing."""
        outside = self.elsewhere()
        try:
            yield
            assert self.elsewhere() == outside
        finally:
            self.put_back()

    def put_back(self) -> None:
        for aside in self.state.parent.glob("state.foreign-*"):
            if aside.stat().st_ino == self.inode:  # its mark was damaged
                shutil.rmtree(self.state, ignore_errors=True)
                aside.rename(self.state)
        for name, data in self.files().items():
            if self.before.get(name) != data:
                (self.root / name).unlink()
        for name, data in self.before.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                path.write_bytes(data)
                path.chmod(0o600)
        assert not self.state.exists() or self.state.stat().st_ino == self.inode, (
            "the next example would find other state"
        )

    def elsewhere(self) -> set[str]:
        """Names of files that are neither in the project nor in holdfast's own folder."""
        return {
            str(path)
            for folder in (self.home, self.root.parent)
            for path in folder.rglob("*")
            if not path.is_relative_to(self.root) and ".config" not in path.parts
        }

    def path(self, name: str) -> Path:
        """A file by its name, or by a pattern that fits one."""
        found = sorted(self.root.glob(name))
        return found[0] if found else self.root / name

    def files(self) -> dict[str, bytes]:
        return {
            str(path.relative_to(self.root)): path.read_bytes()
            for path in self.root.rglob("*")
            if path.is_file() and path.name != ".gitignore"
        }


def _largest() -> int:
    """The most memory that this process ever held. Windows does not say."""
    if os.name == "nt":
        return 0
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


@contextlib.contextmanager
def alarm() -> Iterator[None]:
    def ring(_: int, __: FrameType | None) -> None:
        raise TimeoutError(f"a command took longer than {LIMIT_S} s")

    if not hasattr(signal, "SIGALRM"):
        yield
        return
    old = signal.signal(signal.SIGALRM, ring)
    signal.alarm(LIMIT_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)
