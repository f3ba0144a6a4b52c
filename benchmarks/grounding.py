"""``python benchmarks/grounding.py``: how many true and false lines are accepted, left to a judge or refused, and how
many refused true lines no quotation replaces. ``python benchmarks/grounding.py --judge claude_cli`` asks a model, too.

The lines and their labels are in tests/data/grounding and tests/data/grounding_rounds, a file for each project. The
time is that of 500 lines against a million characters of notes. With ``--judge`` the named model plugin, enabled in the
user's own settings, judges the lines of the rounds in questions of true and false lines mixed.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
import tomllib
from collections import Counter
from pathlib import Path

from holdfast_app.dream.grounding import ground
from holdfast_app.dream.quoting import quotations

DATA = Path(__file__).parent.parent / "tests" / "data" / "grounding"
ROUNDS = DATA.parent / "grounding_rounds"


def figures() -> Counter[tuple[str, str]]:
    """The number of labelled lines (``grounded``, ``hard`` or ``sly``) by answer; ``lost`` true lines are refused and
    not quoted."""
    count: Counter[tuple[str, str]] = Counter()
    for path in sorted((*DATA.glob("*.toml"), *ROUNDS.glob("*.toml"))):
        world = tomllib.loads(path.read_text(encoding="utf-8"))
        sources = [(source["name"], source["text"]) for source in world["sources"]]
        for label in ("grounded", "hard", "sly"):
            lines = [row if isinstance(row, str) else row[1] for row in world[label]]
            quoted = quotations(lines, sources)
            for line in ground(lines, sources):
                count[label, line.answer] += 1
                count[label, "lost"] += label == "grounded" and line.answer != "supported" and line.text not in quoted
    return count


def with_judge(plugin: str) -> Counter[tuple[str, str]]:
    """The number of lines of the rounds by label and decision."""
    from holdfast import Holdfast
    from holdfast_app.dream.grounding import judging

    count: Counter[tuple[str, str]] = Counter()
    for path in sorted(ROUNDS.glob("*.toml")):
        world = tomllib.loads(path.read_text(encoding="utf-8"))
        sources = [(source["name"], source["text"]) for source in world["sources"]]
        labels = dict.fromkeys(world["grounded"], "true")
        labels |= {line: label for label in ("hard", "sly") for _, line in world[label]}
        lines = random.Random(1).sample(list(labels), len(labels))
        with tempfile.TemporaryDirectory() as root, Holdfast.open(root) as memory:
            opinion = judging.consult(memory.services, plugin, lines, sources)
        if opinion.problem:
            print(f"{path.stem}: {opinion.problem}", file=sys.stderr)
        for line in ground(lines, sources):
            decided = "judge refuses" if line.text in opinion.denied else line.answer
            decided = "judge accepts" if line.text in opinion.said else decided
            count[labels[line.text], decided] += 1
    return count


def speed(bullets: int = 500, size: int = 1_000_000) -> float:
    """Seconds of processor time for ``bullets`` lines against ``size`` characters of notes."""
    chance = random.Random(1)
    vocabulary = [f"word{n}" for n in range(4000)] + ["Postgres", "staging", "timeout", "latency", "deploy"] * 50

    def line() -> str:
        words = " ".join(chance.choices(vocabulary, k=12))
        return f"- {words} {chance.randint(1, 9999)} ms in src/{chance.choice(vocabulary)}.py on 2026-11-12."

    notes = [line() for _ in range(size // len(line()))]
    sources = [(f"memory/2026-11-{day + 1:02}.md", "\n".join(notes[day::20])) for day in range(20)]
    new = [line() for _ in range(bullets)]
    started = time.process_time()
    ground(new, sources)
    return time.process_time() - started


def main() -> None:
    """Print all figures."""
    if "--judge" in sys.argv:
        for (label, decided), number in sorted(with_judge(sys.argv[-1]).items()):
            print(f"  {label:5} {decided:14} {number:3}")
        return
    for (label, answer), number in sorted(figures().items()):
        print(f"  {label:8} {answer:10} {number:3}")
    print(f"speed: 500 lines against 1 MB of notes in {speed():.1f} s")


if __name__ == "__main__":
    main()
