"""``python benchmarks/grounding.py [-v]``: how much that is invented passes, how much that is true is refused, and how
much of it is not quoted either. ``python benchmarks/grounding.py --judge claude_cli`` asks a model, too.

The lines and their labels are in tests/data/grounding, a file for each project. ``half`` there says how a file was
used: ``development`` (the rules were written against it), ``seen`` (run once before it was looked at, then learnt from)
or ``held-out`` (no rule was written from it; its counts helped to choose rules). With ``-v`` the lines that went wrong
are printed, those of the held-out half excepted. tests/data/grounding_rounds holds projects in the same form:
``development``, two rounds that were run once before they were looked at, and ``sixth``, with which rules were chosen
for deletion. tests/data/grounding_pairs holds single notes with one line each: ``development``, and ``sealed``, of
which only the counts are printed. The time is that of 500 lines against a million characters of notes.

With ``--judge`` the named model plugin, enabled in the user's own settings, judges the lines of the two first rounds in
questions of true and false lines mixed, some 40 calls.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from holdfast_app.dream.grounding import Grounded, ground
from holdfast_app.dream.quoting import quotations

DATA = Path(__file__).parent.parent / "tests" / "data" / "grounding"
ROUNDS = DATA.parent / "grounding_rounds"
PAIRS = DATA.parent / "grounding_pairs"
HALVES = ("development", "seen", "held-out")


class Judged(NamedTuple):
    """A line with its label (``grounded``, ``hard`` or ``sly``, and the kind of a fabrication) and its judgement."""

    half: str
    file: str
    label: str
    kind: str
    line: Grounded
    is_quoted: bool

    @property
    def wrong(self) -> bool:
        return (self.line.answer == "supported") != (self.label == "grounded")


def judged(*halves: str, data: Path = DATA) -> Iterator[Judged]:
    """Every labelled line of the halves."""
    for path in sorted(data.glob("*.toml")):
        world = tomllib.loads(path.read_text(encoding="utf-8"))
        if world["half"] not in halves:
            continue
        sources = [(source["name"], source["text"]) for source in world["sources"]]
        labels = [("grounded", "", line) for line in world["grounded"]]
        labels += [(label, kind, line) for label in ("hard", "sly") for kind, line in world[label]]
        lines = [line for _, _, line in labels]
        quoted = quotations(lines, sources)
        for (label, kind, _), line in zip(labels, ground(lines, sources), strict=True):
            yield Judged(world["half"], path.stem, label, kind, line, line.text in quoted)


def rates(lines: list[Judged]) -> None:
    """Print what went wrong, by label and kind."""
    total: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    lost = sum(line.label == "grounded" and line.wrong and not line.is_quoted for line in lines)
    for line in lines:
        for key in dict.fromkeys((line.label, f"{line.label}: {line.kind}" if line.kind else line.label)):
            total[key] += 1
            wrong[key] += line.wrong
    for key in sorted(total):
        what = "refused" if key == "grounded" else "escaped"
        more = f", {lost} of them without a quotation" if key == "grounded" else ""
        print(f"  {key:24} {wrong[key]:3} of {total[key]:3} {what}  {wrong[key] / total[key]:6.1%}{more}")


def pairs(name: str) -> Iterator[tuple[str, str, Grounded]]:
    """Label (``true`` or ``false``), kind and judgement of each pair of a set."""
    for label, kind, said, line in tomllib.loads((PAIRS / f"{name}.toml").read_text(encoding="utf-8"))["pairs"]:
        note = ("memory/2026-11-21.md", f"# Daily Memory: 2026-11-21\n\n- Fact: {said}\n")
        yield label, kind, ground([f"- {line}"], [note])[0]


def with_judge(plugin: str) -> Counter[tuple[str, str]]:
    """The number of lines of the rounds ``first`` and ``second`` by label and by who decided: "words accept", "judge
    accepts", "judge refuses", "words refuse"."""
    from holdfast import Holdfast
    from holdfast_app.dream.grounding import judging

    count: Counter[tuple[str, str]] = Counter()
    for path in sorted(ROUNDS.glob("*.toml")):
        world = tomllib.loads(path.read_text(encoding="utf-8"))
        if world["half"] not in ("first", "second"):
            continue
        sources = [(source["name"], source["text"]) for source in world["sources"]]
        labels = dict.fromkeys(world["grounded"], "true")
        labels |= {line: label for label in ("hard", "sly") for _, line in world[label]}
        lines = random.Random(1).sample(list(labels), len(labels))
        with tempfile.TemporaryDirectory() as root, Holdfast.open(root) as memory:
            opinion = judging.consult(memory.services, plugin, lines, sources)
        if opinion.problem:
            print(f"{path.stem}: {opinion.problem}", file=sys.stderr)
        said, denied = opinion.verdicts
        for line in ground(lines, sources):
            words = "words accept" if line.answer == "supported" else "words refuse"
            decided = "judge accepts" if line.text in said else "judge refuses" if line.text in denied else words
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
    for half in HALVES:
        lines = list(judged(half))
        print(f"{half}: {len({line.file for line in lines})} projects, {len(lines)} lines")
        rates(lines)
        if "-v" in sys.argv and half != "held-out":
            for line in lines:
                if line.wrong:
                    print(f"    {line.label} {line.kind} {line.line.text} {list(line.line.inventions)}")
    for name in ("development", "first", "second", "sixth"):
        lines = list(judged(name, data=ROUNDS))
        print(f"rounds, {name}: {len({line.file for line in lines})} projects, {len(lines)} lines")
        rates(lines)
        if "-v" in sys.argv:
            for line in lines:
                if line.wrong:
                    reasons = [tuple(one) for one in (*line.line.inventions, *line.line.doubts)]
                    print(f"    {line.label} {line.kind} {line.line.text} {reasons}")
    for name in ("development", "sealed"):
        found = [(label, (line.answer == "supported") != (label == "true")) for label, _, line in pairs(name)]
        true, false = ([bad for label, bad in found if label == wanted] for wanted in ("true", "false"))
        print(f"pairs, {name}: {sum(true)} of {len(true)} true refused, {sum(false)} of {len(false)} false escaped")
    print(f"speed: 500 lines against 1 MB of notes in {speed():.1f} s")


if __name__ == "__main__":
    main()
