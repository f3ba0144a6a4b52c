"""The file backend against every clause of docs/storage-contract.md."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.testing import DocumentContract, FactContract, OptionalContract, ProcessContract


class OnFiles:
    """How to spoil files."""

    factory = "holdfast_file.backend:FileBackend"

    def corrupt_document(self, root: Path, name: str) -> None:
        with (root / ".holdfast" / name).open("ab") as file:
            file.write(b"\xff\xfe")

    def corrupt_facts(self, root: Path) -> None:
        path = root / ".holdfast" / "facts.jsonl"
        lines = path.read_bytes().split(b"\n")
        lines[1] = lines[1].replace(b"step", b"stop")
        path.write_bytes(b"\n".join(lines))
        os.utime(path, ns=(0, path.stat().st_mtime_ns + 10_000_000))  # a person is slower than the file system's clock

    @contextlib.contextmanager
    def unwritable(self, root: Path) -> Iterator[None]:
        # The tests may run as root, whom no permission stops: a folder where the lock should be stops everybody.
        lock = root / ".holdfast" / "state" / "store.lock"
        lock.unlink()
        lock.mkdir()
        try:
            yield
        finally:
            lock.rmdir()


class InMemory(OnFiles):
    """Hundreds of examples need files, and no disk's flush; crashes and processes have tests on the real one."""

    @pytest.fixture
    def root(self, tmp_path) -> Iterator[Path]:
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else tmp_path
        with tempfile.TemporaryDirectory(dir=memory, prefix="holdfast-") as folder:
            project = Path(folder) / "project"
            project.mkdir()
            yield project


@pytest.mark.req(
    "R013", "R014", "R015", "R016", "R037", "R042", "R043", "R044", "R045", "R046", "R047", "R048", "R049", "R050",
    "R051", "R052", "R053", "R054", "R056", "R057", "R058", "R059", "R060", "R061", "R096", "R142",
)  # fmt: skip
class TestStore(InMemory, DocumentContract, FactContract, OptionalContract):
    """Every clause but C1-C8."""


@pytest.mark.req("R015", "R016", "R045", "R047", "R051", "R052", "R058", "R096")
class TestProcesses(OnFiles, ProcessContract):
    """C1-C8."""
