"""The newcomer comes before the leavers go: deaths and full disks at every step, and whose the reserved places are."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast import Holdfast
from holdfast.config.values import StorageConfig
from holdfast.errors import Unavailable
from holdfast.fs import userdir
from holdfast.models import AddOutcome, Fact
from holdfast_app.config import Config, FactsConfig
from holdfast_app.facts.store.audit_log import Departure

HERE = Path(__file__).parents[3]
MAX, NEWCOMERS = 3, 2
BACKENDS = ("file", "sqlite")
RULES: dict[str, dict[str, Any]] = {
    "reserved": {"reserved_corrections": 2},
    "supersede": {"supersede": True, "rank_union": True},
}

#: A child for each moment to fail at. ``call`` dies just before the n-th call that changes the disk, ``store`` just
#: before or after the n-th step of the store, and ``space`` lets no file grow beyond n times so many bytes.
FORKS = """
import json, os, resource, shutil, signal, sys
from holdfast import Holdfast
from holdfast.errors import Unavailable
from tests.support.dying import arm

base, how, space, newcomers = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])

def arm_store(backend, n):
    steps = 0
    def dying(real):
        def call(*arguments, **given):
            nonlocal steps
            for work in (lambda: real(*arguments, **given), lambda: None):
                steps += 1
                if steps == n:
                    os.kill(os.getpid(), signal.SIGKILL)
                result = work() or result
            return result
        return call
    for name in ("add_fact", "commit"):
        setattr(type(backend), name, dying(getattr(backend.__class__, name)))

for n in range(1, 200, 1 if how == "store" else 2):
    root = os.path.join(base, str(n))
    shutil.copytree(os.path.join(base, "template"), root)
    pid = os.fork()
    if pid == 0:
        memory = Holdfast.open(root)
        memory.facts.count()
        if how == "call":
            arm(n)
        elif how == "store":
            arm_store(memory.services.store.backend, n)
        else:
            resource.setrlimit(resource.RLIMIT_FSIZE, (n * space, resource.RLIM_INFINITY))
        status = 0
        for k in range(newcomers):
            try:
                memory.facts.create(f"newcomer {k} " + 100 * "x", "correction", 0.6)
            except Unavailable:
                status = 1
        os._exit(status)
    if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0:
        break
else:
    raise SystemExit("it never came to the end")
"""


def open_(root: Path) -> Holdfast:
    return Holdfast.open(root)


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=RULES)
def template(request: pytest.FixtureRequest, backend: str, tmp_path: Path) -> Path:
    """A project whose store is full: two goals, the weaker of which is the next to leave, and a weak correction."""
    folder = tmp_path / "template"
    folder.mkdir()
    rules = "".join(f"{name} = {json.dumps(value)}\n" for name, value in RULES[request.param].items())
    os.makedirs(userdir.folder(), exist_ok=True)  # the user's own settings hold in every copy of the project
    Path(userdir.path(userdir.CONFIG_FILE)).write_text(
        f'zone = "UTC"\n[storage]\nbackend = "{backend}"\n[facts]\nmax_facts = {MAX}\n{rules}'
    )
    with open_(folder) as memory:
        memory.facts.create("first", "goal", 0.2)
        memory.facts.create("second", "goal", 0.3)
        memory.facts.create("no, tabs", "correction", 0.5)
    return folder


def broken(template: Path, how: str, space: int = 0) -> Iterator[Path]:
    """The projects whose process failed at a moment of its work, and the last one, where none was left to fail at."""
    base = template.parent
    code = [sys.executable, "-c", FORKS, str(base), how, str(space), str(NEWCOMERS)]
    subprocess.run(code, cwd=HERE, timeout=100, check=True)
    roots = sorted((p for p in base.iterdir() if p.name.isdigit()), key=lambda p: int(p.name))
    assert roots
    return iter(roots)


def check(root: Path, before: dict[str, Fact]) -> tuple[int, int]:
    """What every moment must leave; how many facts were there, and how many lines were ahead of the store."""
    with open_(root) as memory:
        keep = memory.services.config.facts.supersede
        found = {f.id: f for f in memory.facts.list()}
        log = list(memory.facts.trail.entries())
        told = {line.id for line in log}
        ahead = told & found.keys()
        assert before.keys() - found.keys() <= told, "a fact is gone without a line"
        assert all(line.event == "evicted" and line.by in found for line in log), "it left for what is not there"
        assert MAX <= len(found) <= MAX + NEWCOMERS
        assert len(ahead) <= len(found) - MAX, "a line names what is there, in a store that is not above its limit"
        assert all(line.content == (before[line.id].content if keep else None) for line in log)

        # the next addition brings it down, and everything that is gone then has its line
        assert memory.facts.create("the next", "correction", 0.9).outcome is AddOutcome.ADDED
        now = {f.id: f for f in memory.facts.list()}
        assert len(now) == MAX
        assert (before | found).keys() - now.keys() == {line.id for line in memory.facts.trail.entries()}
        return len(found), len(ahead)


def stored(root: Path) -> dict[str, Fact]:
    with open_(root) as memory:
        return {f.id: f for f in memory.facts.list()}


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")
@pytest.mark.parametrize("how", ["call", "store"])
def test_add__killed_at_any_moment__nothing_is_lost_and_the_trail_is_right(template: Path, how: str) -> None:
    before = stored(template)
    seen = {check(root, before) for root in broken(template, how)}
    if how == "store":
        assert seen == {(MAX, 0), (MAX + 1, 0), (MAX + 1, 1)}  # each of the states that the comment in _swap tells of


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on the size of files")
def test_add__disk_full_at_any_size__nothing_is_lost_and_the_trail_is_right(template: Path, backend: str) -> None:
    """SQLite fills pages, a line of JSON some bytes."""
    before = stored(template)
    for root in broken(template, "space", 2048 if backend == "sqlite" else 48):
        check(root, before)


Rules = Callable[..., Holdfast]


@pytest.fixture
def rules(project: Path, backend: str, clock: Any) -> Iterator[Rules]:
    """``rules(max_facts=3)`` opens the project with these ``[facts]`` settings. No two facts are of the same second."""
    made: list[Holdfast] = []

    def later() -> Any:
        clock.tick(seconds=1)
        return clock()

    def open_with(**settings: Any) -> Holdfast:
        config = Config(storage=StorageConfig(backend=backend), facts=FactsConfig(**settings))
        made.append(Holdfast.open(project, config=config, clock=later))
        return made[-1]

    yield open_with
    for memory in made:
        memory.close()


def contents(memory: Holdfast) -> list[str]:
    return [f.content for f in memory.facts.list()]


def log(memory: Holdfast) -> list[Departure]:
    return list(memory.facts.trail.entries())


def test_reserved__second_correction__a_goal_leaves_and_both_places_fill(rules: Rules) -> None:
    memory = rules(max_facts=3, reserved_corrections=2)
    memory.facts.create("first", "goal", 0.9)
    memory.facts.create("second", "goal", 0.8)
    memory.facts.create("no, tabs", "correction", 0.1)
    memory.facts.create("no, spaces", "correction", 0.2)
    assert contents(memory) == ["first", "no, tabs", "no, spaces"]
    memory.facts.create("third", "goal", 0.1)
    assert contents(memory) == ["no, tabs", "no, spaces", "third"]
    memory.facts.create("no, tabs after all", "correction", 0.05)  # the newest two are the reserved ones
    assert contents(memory) == ["no, spaces", "third", "no, tabs after all"]


def test_reserved__more_than_the_store_holds__the_newest_corrections_stay(rules: Rules) -> None:
    memory = rules(max_facts=2, reserved_corrections=5)
    for n in range(4):
        memory.facts.create(f"no, {n}", "correction", 0.9 - n / 10)
    assert memory.facts.create("goal", "goal", 1.0).outcome is AddOutcome.REFUSED
    assert contents(memory) == ["no, 2", "no, 3"]


def test_stays_out__among_several_stored_facts__is_refused_with_the_reason(rules: Rules) -> None:
    memory = rules(max_facts=3, rank_union=True)
    for n in range(3):
        memory.facts.create(f"strong {n}", "goal", 0.8)
    result = memory.facts.create("weak", "goal", 0.1)
    assert result.outcome is AddOutcome.REFUSED
    assert result.reason == "the store is full of facts that are at least as strong"
    for said in ("Strong 0", " STRONG 2 "):
        again = memory.facts.create(said, "goal", 0.1)
        assert (again.outcome, again.duplicate_of is not None) == (AddOutcome.DUPLICATE, True)
    assert contents(memory) == ["strong 0", "strong 1", "strong 2"]


def test_add__taken_id__nothing_leaves_before_another_is_drawn(rules: Rules) -> None:
    memory = rules(max_facts=2, supersede=True)
    first = memory.facts.create("first", "goal", 0.5).fact
    memory.facts.create("second", "goal", 0.6)
    assert first
    result = memory.facts.add("third", "goal", 0.7, fact_id=first.id)
    assert result.fact
    assert result.fact.id != first.id
    assert contents(memory) == ["second", "third"]
    assert [(line.id, line.by, line.content) for line in log(memory)] == [(first.id, result.fact.id, "first")]


@pytest.mark.req("R058")
def test_add__limit_lowered_by_many__comes_down_at_once_and_all_are_told(rules: Rules) -> None:
    facts = rules(max_facts=40).facts
    for n in range(40):
        facts.create(f"fact {n}", "goal", 0.5)
    memory = rules(max_facts=2, supersede=True, reserved_corrections=1)
    result = memory.facts.create("no, tabs", "correction", 0.1)
    assert contents(memory) == ["fact 39", "no, tabs"]
    assert [line.content for line in log(memory)] == [f"fact {n}" for n in range(39)]
    assert result.evicted == tuple(line.id for line in log(memory))


@pytest.mark.parametrize("settings", [RULES["reserved"], RULES["supersede"]], ids=["reserved", "supersede"])
def test_add__trail_cannot_be_written__store_stays_as_it_was(
    rules: Rules, project: Path, settings: dict[str, Any]
) -> None:
    memory = rules(max_facts=2, **settings)
    memory.facts.create("first")
    memory.facts.create("second")
    trail = project / ".holdfast" / "state" / "facts.log.jsonl"
    trail.mkdir(parents=True)
    for _ in range(3):  # nor does it grow with each try
        with pytest.raises(Unavailable):
            memory.facts.create("third")
    assert contents(memory) == ["first", "second"]
    trail.rmdir()
    assert len(memory.facts.create("third").evicted) == 1
    assert contents(memory) == ["second", "third"]


def test_trail__line_cut_by_a_full_disk__the_next_one_is_whole(rules: Rules, project: Path) -> None:
    memory = rules(max_facts=1)
    memory.facts.create("first")
    second = memory.facts.create("second").fact
    trail = project / ".holdfast" / "state" / "facts.log.jsonl"
    os.truncate(trail, trail.stat().st_size - 9)
    memory.facts.create("third")
    assert second
    assert [line.id for line in log(memory)] == [second.id]


def test_rank_union__killed_at_any_step_of_the_store__every_evicted_fact_has_its_line(
    project: Path, backend: str, tmp_path: Path
) -> None:
    """The order of the other rules holds for this one too."""
    folder = tmp_path / "template"
    folder.mkdir()
    os.makedirs(userdir.folder(), exist_ok=True)
    Path(userdir.path(userdir.CONFIG_FILE)).write_text(
        f'zone = "UTC"\n[storage]\nbackend = "{backend}"\n[facts]\nmax_facts = {MAX}\nrank_union = true\n'
    )
    with open_(folder) as memory:
        for number in range(MAX):
            memory.facts.create(f"fact {number}", "goal", 0.2)
    before = stored(folder)
    for root in broken(folder, "store"):
        check(root, before)
