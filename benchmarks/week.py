"""``python benchmarks/week.py [-v]``: seven days with nothing but ``holdfast install``, and what is left after them.

Five projects, three clients, one session a day and project. The clients are scripted: their transcripts grow, and each
event starts the real command, as a client does. Days pass by ``faketime`` (Debian package ``faketime``). On the third
day a flush is killed, on the fourth a disk is full, on the fifth a clock stands a day back.

After the week each project is compared with what was said in it: lines of MEMORY.md, the user's rules and the last
values in the brief. Refusals without a fault, questions to the model, the slowest event and the space on disk are
counted. Exit 1 when something that was said is missing or refused. ``-v`` prints memory and brief of each project.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent / "quality"))
from clients import CLIENTS, Step

DAYS = 7
SMALL = 64 << 20  # bytes of the disk that becomes full


class Project(NamedTuple):
    """What is said in a project. ``changed`` is an old value and the new one, stated on the days 2 and 6."""

    name: str
    client: str
    goal: str
    rule: str
    facts: tuple[str, ...]
    decision: str
    changed: tuple[str, str]
    rejected: str


PROJECTS = (
    Project(
        name="shop",
        client="claude-code",
        goal="the checkout page",
        rule="Always run pytest -q before you commit.",
        facts=("The staging server is stage.shop.example", "Invoices are rounded per line"),
        decision="We use Decimal for prices",
        changed=("The API listens on port 8080", "The API listens on port 9090"),
        rejected="yagmail does not work with our relay",
    ),
    Project(
        name="ledger",
        client="codex",
        goal="the import of bank files",
        rule="Never push to main without a review.",
        facts=("The bank sends files in Latin-1", "Bookings are kept for ten years"),
        decision="We parse with one state machine",
        changed=("The nightly job runs at 02:00", "The nightly job runs at 04:30"),
        rejected="pandas is too slow for our files",
    ),
    Project(
        name="atlas",
        client="opencode",
        goal="the tile server",
        rule="From now on write the unit of every number.",
        facts=("Tiles are 512 pixels wide", "Ana owns the style sheets"),
        decision="We store tiles in one SQLite file",
        changed=("The cache holds 2 GB", "The cache holds 6 GB"),
        rejected="mapnik needs too much memory here",
    ),
    Project(
        name="mail",
        client="claude-code",
        goal="the receipt mails",
        rule="Budget cap is $500 total. Never exceed it.",
        facts=("The relay accepts 20 mails a second", "Receipts go out in the buyer's language"),
        decision="We queue mails in Postgres",
        changed=("The retry limit is 3", "The retry limit is 5"),
        rejected="celery lost mails on restarts",
    ),
    Project(
        name="garden",
        client="codex",
        goal="the watering schedule",
        rule="Always answer in metric units.",
        facts=("Bed 4 has the tomatoes", "The pump gives 9 litres a minute"),
        decision="We water before sunrise",
        changed=("The well is checked on Mondays", "The well is checked on Fridays"),
        rejected="drip hoses clog with our water",
    ),
)


def steps(project: Project, day: int) -> list[Step]:
    """The session of a day, from 1 on."""
    said: list[Step] = [
        ("user", f"Day {day}: go on with {project.goal}, part {day}."),
        ("call", "Edit", {"file_path": f"/project/part{day}.py"}, "ok"),
        ("say", f"Part {day} of {project.goal} is written in part{day}.py. The next step is its test."),
    ]
    lasting = {
        1: [project.rule, f"Remember: {project.facts[0]}."],
        2: [f"Remember: {project.changed[0]}."],
        3: [f"Decision: {project.decision}."],
        4: [f"That was a dead end: {project.rejected}. Take something else."],
        5: [f"Remember: {project.facts[1]}."],
        6: [f"Correction: {project.changed[1]}."],
    }
    for text in lasting.get(day, []):
        said += [("user", text), ("say", "Understood. I keep to that.")]
    return [
        *said,
        ("user", f"Write the test of part {day}."),
        ("say", f"test_part{day}.py is there, and 12 tests pass."),
    ]


class Answer(NamedTuple):
    """What an event came to."""

    code: int
    out: str
    err: str
    seconds: float


class Machine:
    """One user's home, with the projects and the clients' files."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.home.mkdir()
        self.answers: list[tuple[str, str, Answer]] = []
        self._faketime = shutil.which("faketime") or sys.exit("week.py needs faketime (Debian: apt install faketime).")

    def run(self, root: Path, when: str, *words: str, given: object = None, kill_after_s: float = 0) -> Answer:
        """``holdfast WORDS`` at the local time ``when``, in ``root``."""
        path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
        outside = {"HOME": str(self.home), "PATH": path, "TZ": "UTC", "COLUMNS": "120", "PYTHONUTF8": "1"}
        command = [self._faketime, "-f", f"@{when}", sys.executable, "-m", "holdfast_memory", *words]
        began = time.monotonic()
        with subprocess.Popen(
            command, cwd=root, env=outside, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True, encoding="utf-8",
        ) as process:  # fmt: skip
            if kill_after_s:
                time.sleep(kill_after_s)
                os.killpg(process.pid, signal.SIGKILL)
            try:
                out, err = process.communicate(json.dumps(given) if given is not None else "", timeout=120)
            except BrokenPipeError:
                out, err = "", ""
        return Answer(process.returncode, out, err, time.monotonic() - began)

    def session(self, root: Path, project: Project, day: int, date: str) -> Iterator[tuple[str, Answer]]:
        """The events of a day's session and their answers."""
        native = f"0f6f7c54-6f0e-4a4b-9f0e-{PROJECTS.index(project):04d}0000{day:04d}"
        folder = self.home / (
            ".codex/sessions/2026/11" if project.client == "codex" else f".claude/projects/{project.name}"
        )
        folder.mkdir(parents=True, exist_ok=True)
        transcript = folder / f"{native}.jsonl"
        transcript.touch()
        minute = 0

        def event(name: str, **more: Any) -> tuple[str, Answer]:
            nonlocal minute
            minute += 1
            given = {
                "session_id": native,
                "transcript_path": str(transcript),
                "cwd": str(root),
                "hook_event_name": name,
            }
            if project.client == "opencode":
                given["client"] = "opencode"
            kill = 0.15 if (day, project.name, name) == (3, "shop", "PreCompact") and not more.get("again") else 0
            answer = self.run(
                root, f"{date} 10:{minute:02d}:00", "hook", project.client, "--allow", "10",
                given={**given, **more}, kill_after_s=kill,
            )  # fmt: skip
            self.answers.append((project.name, name, answer))
            return name, answer

        yield event("SessionStart", source="startup")
        done = steps(project, day)
        for at, step in enumerate(done, 1):
            rows = CLIENTS[project.client](done[:at])
            transcript.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
            if project.client != "opencode" and step[0] == "user":
                yield event("UserPromptSubmit", prompt=step[1], prompt_id=f"p{at}", turn_id=f"t{at}")
            elif step[0] == "say":
                yield event("Stop", last_assistant_message=step[1], prompt_id=f"p{at - 1}", turn_id=f"t{at - 1}")
        yield event("PreCompact", trigger="auto")
        yield event("PreCompact", trigger="auto", again=True)
        yield event("SessionStart", source="compact")
        yield event("SessionEnd", reason="exit")


def week(folder: Path, *, talk: bool) -> int:
    """Play it, print the table, and return the number of things that are wrong."""
    machine = Machine(folder)
    roots = {project.name: folder / project.name for project in PROJECTS}
    wrong: list[str] = []
    for project in PROJECTS:
        roots[project.name].mkdir()
    small = roots["ledger"]
    is_root = os.geteuid() == 0
    if is_root:
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SMALL}", "tmpfs", str(small)], check=True)
    try:
        for project in PROJECTS:
            done = machine.run(roots[project.name], "2026-11-01 09:00:00", "install", project.client)
            if done.code:
                wrong.append(f"{project.name}: install {project.client}: {done.err}")
        for day in range(1, DAYS + 1):
            for project in PROJECTS:
                date = f"2026-11-{day + (-1 if (day, project.name) == (5, 'atlas') else 0):02d}"
                wrong += _day(machine, roots[project.name], project, day, date, full=is_root)
            print(f"day {day} is over", file=sys.stderr)
        print(_table(machine, roots, wrong, talk=talk))
    finally:
        if is_root:
            subprocess.run(["umount", str(small)], check=False)
    return len(wrong)


def _day(machine: Machine, root: Path, project: Project, day: int, date: str, *, full: bool) -> Iterator[str]:
    """What went wrong on a day."""
    is_full = full and (day, project.name) == (4, "ledger")
    filler = root / "filler"
    for name, answer in machine.session(root, project, day, date):
        place = f"{project.name}, day {day}, {name}"
        refused = name == "PreCompact" and answer.code not in (10, -9)
        if refused and not filler.exists():
            yield f"{place}: refused without a fault: {(answer.err or answer.out)[:200]}"
        if name == "Stop" and is_full and not filler.exists():
            with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
                while file.write(bytes(1 << 12)):
                    pass
        elif name == "PreCompact" and filler.exists():
            if not refused:
                yield f"{place}: passed with a full disk"
            filler.unlink()
    filler.unlink(missing_ok=True)


def _table(machine: Machine, roots: dict[str, Path], wrong: list[str], *, talk: bool) -> str:
    lines = ["| project | MEMORY.md, said and kept | brief | slowest event, s | on disk, kB |", "|---|---|---|---|---|"]
    for project in PROJECTS:
        root = roots[project.name]
        found = root / ".holdfast" / "MEMORY.md"
        memory = found.read_text(encoding="utf-8") if found.exists() else ""
        brief = machine.run(root, "2026-11-08 09:00:00", "load").out
        said = (*project.facts, project.decision, project.changed[1])
        kept = [text for text in said if text in memory]
        wrong += [f"{project.name}: not in MEMORY.md: {text}" for text in said if text not in memory]
        wrong += [f"{project.name}: still in MEMORY.md: {project.changed[0]}"] * (project.changed[0] in memory)
        shown = [text for text in (project.rule, project.rejected) if text in brief]
        wrong += [f"{project.name}: not in the brief: {t}" for t in (project.rule, project.rejected) if t not in brief]
        slowest = max(answer.seconds for name, _, answer in machine.answers if name == project.name)
        size = sum(p.stat().st_size for p in root.rglob("*") if p.is_file()) // 1024
        lines.append(f"| {project.name} | {len(kept)} of {len(said)} | {len(shown)} of 2 | {slowest:.2f} | {size} |")
        if talk:
            print(f"\n=== {project.name}: MEMORY.md\n{memory or '(none)'}\n=== {project.name}: brief\n{brief}")
    asked = sum(bool(re.search(r"holdfast flush", answer.out)) for _, _, answer in machine.answers)
    lines += ["", f"{len(machine.answers)} events; the model was asked {asked} times; {len(wrong)} things are wrong."]
    return "\n".join([*lines, *(f"- {one}" for one in wrong)])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        sys.exit(bool(week(Path(made), talk="-v" in sys.argv[1:])))
