"""What a memory loses when it dies: `python benchmarks/crash/board.py [SYSTEM ...]`.

Each trial mounts a disk in memory, lets a system save two texts, syncs the disk, lets the system save ten more while
one fault of `disk.KINDS` strikes at a sampled call, and reads everything in a new process. The rows of the table count
over all trials of a fault: texts that were acknowledged and are gone, texts that come twice, trials after which the
system cannot read its store. Nothing here knows holdfast: a system is a module of `systems/` with a class `Store`.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import random
import select
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from typing import Any, Final

from attrs import asdict, define, field
from disk import DEATHS, KINDS, Disk, Fault, Mounted, Node

HERE: Final = Path(__file__).parent
BEFORE, ITEMS = 2, 10
PATIENCE = 60.0  # seconds that a system gets to answer


class Silent(Exception):
    """A system gave no answer in time."""


class Worker:
    """A system in a process and an environment of its own."""

    def __init__(self, name: str, python: str, home: Path) -> None:
        answers, theirs = os.pipe()
        clean = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
        with (home / f"{name}.log").open("a") as log:
            self._process = subprocess.Popen(
                [python, str(HERE / "worker.py"), name, str(theirs)],
                stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=log,
                pass_fds=(theirs,), env=clean, cwd=home, start_new_session=True,
            )  # fmt: skip
        os.close(theirs)
        self._answers, self._rest = answers, b""
        self.group = 0

    def start(self, do: str, folder: str, first: int = 0, count: int = 0) -> None:
        """Begin a request; it waits for `release`."""
        self._send(json.dumps({"do": do, "folder": folder, "first": first, "count": count}))
        self.group = self._row(PATIENCE)["group"]

    def release(self) -> None:
        self._send("go")

    def go(self) -> list[dict[str, Any]]:
        self.release()
        return self.rows()

    def rows(self) -> list[dict[str, Any]]:
        """The rows of the answer, the last one {"ended": CODE}. Raises: Silent, with the request killed."""
        rows: list[dict[str, Any]] = []
        until = time.monotonic() + PATIENCE
        while not rows or "ended" not in rows[-1]:
            try:
                rows.append(self._row(until - time.monotonic()))
            except Silent:
                os.killpg(self.group, signal.SIGKILL)
                self._row(PATIENCE)
                raise
        return rows

    def _send(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n".encode())
        self._process.stdin.flush()

    def _row(self, seconds: float) -> dict[str, Any]:
        until = time.monotonic() + seconds
        while b"\n" not in self._rest:
            ready, _, _ = select.select([self._answers], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                raise Silent
            more = os.read(self._answers, 1 << 16)
            if not more:
                raise RuntimeError("the worker ended; see its log")
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\n")
        return dict(json.loads(line))

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()
        os.close(self._answers)


@define(str=False)
class Row:
    """The trials of one fault on one system."""

    system: str
    fault: str
    trials: int = 0
    saved: int = 0
    lost: int = 0
    losing: int = 0
    """Trials in which something acknowledged is gone."""
    twice: int = 0
    unreadable: int = 0
    examples: list[str] = field(factory=list)

    def __str__(self) -> str:
        figures = f"{self.lost:4} lost in {self.losing:3}  {self.twice:3} twice  {self.unreadable:3} unreadable"
        example = f"  ({self.examples[0]})" if self.examples else ""
        return f"{self.system:18} {self.fault:22} {self.trials:3} trials  {self.saved:5} saved  {figures}{example}"

    def count(self, acknowledged: set[int], found: list[int] | None, where: str) -> None:
        self.trials += 1
        self.saved += len(acknowledged)
        if found is None:
            self.unreadable += 1
            self.examples.append(f"{where}: not readable")
            return
        gone = acknowledged - set(found)
        self.lost += len(gone)
        self.losing += bool(gone)
        twice = {number for number in found if found.count(number) > 1}
        self.twice += len(twice)
        if gone or twice:
            self.examples.append(f"{where}: gone {sorted(gone)}, twice {sorted(twice)}")


class Bench:
    """Trials of one system."""

    def __init__(self, name: str, python: str, seed: int) -> None:
        self.name, self.random = name, random.Random(f"{seed}/{name}")
        self.place = Path(tempfile.mkdtemp(prefix=f"crash-{name}-"))
        self.folder = str(self.place / "disk")
        os.mkdir(self.folder)
        self.first: Node | None = None
        self.workers = [Worker(name, python, self.place) for _ in range(2)]

    def calls(self) -> int:
        """Changing calls of the ten writes without a fault. Exits if the adapter does not read them back."""
        disk = self._filled()
        with Mounted(disk, self.folder):
            saved, count = self._strike(disk, None)
        found = self._found(disk)
        if found is None or sorted(found) != list(range(BEFORE + ITEMS)) or len(saved) != ITEMS:
            sys.exit(f"{self.name}: without a fault {sorted(saved)} was saved and {found} read; {self.place}")
        return count

    def rows(self, trials: int) -> list[Row]:
        total = self.calls()
        table = []
        for kind in KINDS:
            row = Row(self.name, kind)
            many = min(trials, 3 if kind == "hang" else total)
            for at in sorted(self.random.sample(range(1, total + 1), many)):
                disk = self._filled()
                with Mounted(disk, self.folder):
                    saved, _ = self._strike(disk, (kind, at))
                if kind in DEATHS[1:]:
                    disk.cut(names=kind == DEATHS[2])
                row.count(saved | set(range(BEFORE)), self._found(disk), f"call {at} of {total}")
            table.append(row)
        return [*table, self._two_writers(max(3, trials // 4))]

    def _two_writers(self, trials: int) -> Row:
        row = Row(self.name, "two writers")
        for trial in range(trials):
            disk = self._filled()
            disk.arm(None)
            saved = set(range(BEFORE))
            with Mounted(disk, self.folder):
                for number, worker in enumerate(self.workers):
                    worker.start("write", self.folder, BEFORE + 100 * number, ITEMS)
                    worker.release()
                for worker in self.workers:
                    saved |= {one["saved"] for one in worker.rows() if "saved" in one}
            row.count(saved, self._found(disk), f"trial {trial}")
        return row

    def _filled(self) -> Disk:
        """A disk on which the system has saved its first texts, with everything synced."""
        if self.first is None:
            disk = Disk()
            with Mounted(disk, self.folder):
                self.workers[0].start("write", self.folder, 0, BEFORE)
                self.workers[0].go()
            disk.settle()
            self.first = disk.root
        return Disk(root=copy.deepcopy(self.first))

    def _strike(self, disk: Disk, fault: tuple[str, int] | None) -> tuple[set[int], int]:
        """What was acknowledged while the fault struck, and the calls until the end."""
        worker = self.workers[0]
        worker.start("write", self.folder, BEFORE, ITEMS)
        disk.arm(Fault(*fault, worker.group) if fault else None)
        try:
            rows = worker.go()
        except Silent:
            rows = []
        disk.fault = None
        return {one["saved"] for one in rows if "saved" in one}, disk.calls

    def _found(self, disk: Disk) -> list[int] | None:
        disk.arm(None)
        with Mounted(disk, self.folder):
            worker = self.workers[0]
            try:
                worker.start("read", self.folder)
                rows = worker.go()
            except Silent:
                return None
        texts = next((one["texts"] for one in rows if "texts" in one), None)
        if texts is None:
            return None
        words = [word for text in texts for word in text.split() if word.startswith("item") and word.endswith("x")]
        return [int(word[4:-1]) for word in words]

    def close(self) -> None:
        for worker in self.workers:
            worker.close()


def install(envs: dict[str, dict[str, Any]]) -> None:
    """Make each environment with its pinned packages, below `envs/`."""
    for name, env in envs.items():
        place = HERE / "envs" / name
        if "npm" in env:
            subprocess.run(["npm", "install", "--silent", "--prefix", str(place), *env["npm"]], check=True)
            continue
        subprocess.run([f"python{env['python']}", "-m", "venv", str(place)], check=True)
        subprocess.run([str(place / "bin/pip"), "install", "-q", *env["packages"]], check=True, cwd=HERE.parents[1])


def main() -> None:
    known = tomllib.loads((HERE / "systems.toml").read_text(encoding="utf-8"))
    systems = known["systems"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("system", nargs="*", help=f"default: all of {', '.join(systems)}")
    parser.add_argument("--trials", type=int, default=20, help="sampled calls for each fault (default: 20)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--install", action="store_true", help="make the environments first (needs a network)")
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    args = parser.parse_args()
    if args.install:
        install(known["envs"])
    rows: list[Row] = []
    for name in args.system or systems:
        began = time.monotonic()
        bench = Bench(name, str(HERE / "envs" / systems[name]["env"] / "bin/python"), args.seed)
        try:
            mine = bench.rows(systems[name].get("trials", args.trials))
        finally:
            bench.close()
        for row in mine:
            print(row, flush=True)
        print(f"{name}: {time.monotonic() - began:.0f} s", flush=True)
        rows += mine
    if args.json:
        args.json.write_text(json.dumps([asdict(row) for row in rows], indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
