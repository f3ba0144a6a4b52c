"""Two machines that work on one project by a random schedule, and are killed in the middle of it.

Each machine is a folder with a process of its own. The state that must be true at the end follows from the steps
alone, whatever their interleaving: a kill never loses an acknowledged step, and the step it hit is given again.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from attrs import define, field

from holdfast import Holdfast
from holdfast_app.facts.store import origins

_AGENT = Path(__file__).with_name("one_machine.py")
_SUBJECTS = {"deploy branch": ["main", "release", "trunk"], "port": ["8080", "8443", "9443"]}
_STEPS, _KILLS = 8, 2


def seeds(default: int) -> range:
    """The seeds to run; ``HOLDFAST_MACHINE_SEEDS`` is how many, or a range like ``10:20``."""
    first, _, last = os.environ.get("HOLDFAST_MACHINE_SEEDS", str(default)).rpartition(":")
    return range(int(first or 0), int(last))


@define
class Step:
    number: int
    action: str
    text: str

    def line(self) -> str:
        return f"{self.number}|{self.action}|{self.text}\n"


@define
class Machine:
    """A folder, its process while one runs, and the steps still to do."""

    name: str
    root: Path
    steps: list[Step]
    busy: bool = False
    kills: int = _KILLS
    process: subprocess.Popen[str] | None = field(default=None, repr=False)

    def env(self) -> dict[str, str]:
        mine = {"RECORD": "true", "PERSON": "ana", "MACHINE": self.name}
        return os.environ | {f"HOLDFAST_IDENTITY__{key}": value for key, value in mine.items()}

    def begin(self) -> None:
        """Give the next step to the process, which is started if it does not run."""
        if self.process is None:
            words = [sys.executable, str(_AGENT), self.name]
            pipe = subprocess.PIPE
            self.process = subprocess.Popen(words, cwd=self.root, env=self.env(), stdin=pipe, stdout=pipe, text=True)
        self.process.stdin.write(self.steps[0].line())
        self.process.stdin.flush()
        self.busy = True

    def wait(self) -> None:
        """Wait until the process has done its step."""
        assert self.process.stdout.readline() == f"{self.steps[0].number}\n", f"{self.name} ended at {self.steps[0]}"
        self.steps.pop(0)
        self.busy = False

    def kill(self) -> None:
        """SIGKILL; the step at hand is given again later, unless it was acknowledged."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(60)
        if self.busy and self.process.stdout.read().split() == [str(self.steps[0].number)]:
            self.steps.pop(0)
        self.kills -= 1
        self._forget_process()

    def stop(self) -> None:
        if self.process is not None:
            self.process.stdin.close()
            assert self.process.wait(60) == 0
            self._forget_process()

    def _forget_process(self) -> None:
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None and not pipe.closed:
                try:
                    pipe.close()
                except BrokenPipeError:
                    continue
        self.process, self.busy = None, False


@define
class Truth:
    """The facts, blocks and items that both machines must show at the end."""

    facts: set[str] = field(factory=set)
    work: dict[str, str] = field(factory=dict)
    decisions: set[str] = field(factory=set)
    items: set[str] = field(factory=set)
    stated: dict[tuple[str, str], str] = field(factory=dict)

    def add(self, name: str, step: Step) -> None:
        number = step.number
        if step.action == "forget":
            self.facts.remove(step.text)
        if step.action == "work":
            self.facts.add(f"Machine {name} finished step {number}")
            self.work[f"{name}-{number % 3}"] = f"Do step {number + 3} on {name}"
            self.decisions.add(f"Machine {name} chose library number {number}")
            self.items.add(f"Keep the module {name}{number} small.")
        if step.action != "forget" and step.text:
            self.stated[name, step.text.partition(" is ")[0]] = step.text


def drawn(schedule: random.Random, name: str) -> list[Step]:
    """Steps of one machine. It works, states values that the other one states too, and forgets facts of its own."""
    steps: list[Step] = []
    known: list[str] = []
    for number in range(_STEPS):
        subject = schedule.choice([*_SUBJECTS])
        value = f"The {subject} is {schedule.choice(_SUBJECTS[subject])}"
        action = schedule.choices(["work", "state", "forget"], [6, 4, 1 if known else 0])[0]
        text = {"work": schedule.choice(["", value]), "state": value, "forget": known.pop() if known else ""}[action]
        if action == "forget":
            assert text
        elif action == "work":
            known.append(f"Machine {name} finished step {number}")
        steps.append(Step(number, action, text))
    return steps


def run(seed: int, roots: Mapping[str, Path], exchange: Callable[[Path], None] | None = None) -> Truth:
    """Let the machines do their steps. ``exchange`` shares a folder with the others, while its process is idle."""
    schedule = random.Random(seed)
    machines = [Machine(name, root, drawn(schedule, name)) for name, root in roots.items()]
    truth = Truth()
    for machine in machines:
        for step in machine.steps:
            truth.add(machine.name, step)
    killed = 0
    while waiting := [machine for machine in machines if machine.steps]:
        one = schedule.choice(waiting)
        if not one.busy:
            if exchange is not None and schedule.random() < 0.2:
                exchange(one.root)
            one.begin()
        elif one.kills and schedule.random() < 0.3:
            time.sleep(schedule.random() * 0.1)
            one.kill()
            killed += 1
        else:
            one.wait()
    for machine in machines:
        machine.stop()
    assert killed > 0
    return truth


def check(truth: Truth, roots: Mapping[str, Path]) -> None:
    """Both machines tell the same, and it is true: nothing lost, nothing doubled."""
    views = [_seen(root) for root in roots.values()]
    for part, one in views[0].items():
        assert one == views[1][part], f"{part}: {one} | {views[1][part]}"
    view = views[0]
    wanted = {text: [f"ana@{text.split()[1]}"] for text in truth.facts}
    for (name, _), text in sorted(truth.stated.items()):
        wanted.setdefault(text, []).append(f"ana@{name}")
    facts, known = view["facts"], sorted(wanted.items())
    assert facts == known, f"wrong {[one for one in facts if one not in known]}, not {set(wanted) - dict(facts).keys()}"
    assert view["work"] == truth.work
    for texts, part in ((truth.decisions, "note"), (truth.items, "memory")):
        lines = [line.partition(": ")[2] or line.removeprefix("- ") for line in view[part].splitlines()]
        counts = {text: lines.count(text) for text in texts}
        assert set(counts.values()) == {1}, (part, counts)


def _seen(root: Path) -> dict[str, Any]:
    with Holdfast.open(root) as memory:
        brief = memory.load()
        assert not brief.lost
        assert not brief.unsafe
        return {
            "brief": brief.text,
            "facts": sorted((fact.content, sorted(origins.places(fact.source))) for fact in memory.facts.list()),
            "prompt": memory.prompt(),
            "work": {work.session: work.next_action for work in brief.work},
            "note": "\n".join(text for _, text in brief.notes),
            "memory": brief.memory,
        }
