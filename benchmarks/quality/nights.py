"""``python benchmarks/quality/nights.py [-v]``: sixty nights on a made-up project that changes, without a model.

Each day a session flushes a few facts and decisions; each night a dream runs. Every topic changes its value at least
once. At the end MEMORY.md is compared with the truth. Printed for each set of 18 topics: topics with an old and the
newest value, topics without the newest value, rewordings that were both kept, lasting facts that were lost, and nights
that failed. The sets are in ``night_topics.py``; ``crowded`` adds fourteen one-off
facts a day, so that the limit on items is reached. ``-v`` prints the memory.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import night_topics

from holdfast import Holdfast, Payload
from holdfast_app.dream import memorytext

NIGHTS = 60
FIRST = datetime(2026, 3, 2, 14, 0, tzinfo=UTC)

#: A topic is a list of values, oldest first; each value is said in one or more wordings.
Topic = list[list[str]]


def parsed(text: str) -> list[Topic]:
    """The topics of a set."""
    return [[value.strip().split(" | ") for value in line.split("=>")] for line in text.strip().split("\n")]


SEEN, UNSEEN = parsed(night_topics.SEEN), parsed(night_topics.UNSEEN)
LASTING = night_topics.SEEN_LASTING.strip().split("\n")


class Outcome(NamedTuple):
    """Counts at the end of the nights; ``seconds`` is the longest dream."""

    both: list[str]
    missing: list[str]
    doubled: list[str]
    lost: list[str]
    failed: int
    skipped: int
    items: int
    seconds: float
    memory: str


def days(topics: list[Topic], lasting: list[str], crowd: int) -> list[list[str]]:
    """What is said on each day."""
    chance = random.Random(7)
    said: list[list[str]] = [[] for _ in range(NIGHTS)]
    for topic in topics:
        moments = sorted(chance.sample(range(1, NIGHTS - 6), len(topic)))
        for number, wordings in enumerate(topic):
            until = moments[number + 1] if number + 1 < len(topic) else NIGHTS - 2
            for wording in wordings:
                said[chance.randint(moments[number], until - 1)].append(wording)
            first = min(day for day, lines in enumerate(said) if any(w in lines for w in wordings))
            if first > moments[number]:
                said[moments[number]].append(wordings[0])
    for fact in lasting:
        for day in chance.sample(range(NIGHTS), 3):
            said[day].append(fact)
    for day in range(NIGHTS):
        for number in range(crowd):
            word = "".join(chance.choices("bcdfghklmnprstvw", k=3)) + chance.choice(["ara", "ino", "oki"])
            kind = chance.choice(["table", "job", "view", "queue", "page"])
            said[day].append(f"The {word} {kind} belongs to part {day * 20 + number}")
    for lines in said:
        chance.shuffle(lines)
    for day in (9, 10, 11, 12, 30):  # nights without facts
        said[day + 1] += said[day]
        said[day] = []
    return said


def run(topics: list[Topic], crowd: int = 0, lasting: list[str] | None = None) -> Outcome:
    """Sixty days and nights."""
    lasting = lasting or LASTING
    now = FIRST
    failed = skipped = 0
    slowest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        with Holdfast.open(root, clock=lambda: now) as memory:
            for day, lines in enumerate(days(topics, lasting, crowd)):
                now = FIRST + timedelta(days=day)
                with memory.session(f"day-{day}") as session:
                    session.add("user", "Go on")
                    session.flush(payload(lines))
                now += timedelta(hours=13, minutes=30)
                started = time.process_time()
                result = memory.deep_dream()
                slowest = max(slowest, time.process_time() - started)
                failed += not result.ok
                if not result.ok and "-v" in sys.argv:
                    print(f"  night {day}: {result.reason} {result.next_step}")
                skipped += str(result.status) == "skipped"
            document = memory.store.read("MEMORY.md")
    text = document.text if document else ""
    return judged(topics, lasting, text, failed, skipped, slowest)


def payload(lines: list[str]) -> Payload:
    """A stated payload with the lines as facts."""
    return Payload(
        objective="Go on with the project",
        facts=lines,
        decisions=[],
        blockers=[],
        next_step="none",
        artifacts=[],
        follow_ups=[],
        state_mutations=[],
        work_open=False,
        curated="none",
    )


def judged(topics: list[Topic], lasting: list[str], text: str, failed: int, skipped: int, seconds: float) -> Outcome:
    """The memory against the truth."""
    items = {item.text for item in memorytext.read(text).items}
    both, missing, doubled = [], [], []
    for topic in topics:
        newest = [w for w in topic[-1] if w in items]
        old = [w for value in topic[:-1] for w in value if w in items]
        if old and newest:
            both.append(f"{old} and {newest}")
        if not newest:
            missing.append(f"{topic[-1]}; has {old}")
        doubled += [str(found) for value in topic if len(found := [w for w in value if w in items]) > 1]
    lost = [fact for fact in lasting if fact not in items]
    return Outcome(both, missing, doubled, lost, failed, skipped, len(items), seconds, text)


def main() -> None:
    """Print all figures."""
    wanted = [name for name in sys.argv[1:] if name != "-v"]
    sets = [name.lower() for name in vars(night_topics) if f"{name}_LASTING" in vars(night_topics)]
    for name in wanted or [*sets, "crowded"]:
        source = "SEEN" if name == "crowded" else name.upper()
        topics = parsed(getattr(night_topics, source))
        lasting = getattr(night_topics, f"{source}_LASTING").strip().split("\n")
        found = run(topics, 14 if name == "crowded" else 0, lasting)
        print(
            f"{name}: old and new value {len(found.both)} of {len(topics)}, newest missing {len(found.missing)}, "
            f"rewordings kept twice {len(found.doubled)}, lasting facts lost {len(found.lost)} of {len(lasting)}, "
            f"nights failed {found.failed}, skipped {found.skipped}; {found.items} items, "
            f"slowest dream {found.seconds:.2f} s"
        )
        if "-v" in sys.argv:
            for what in ("both", "missing", "doubled", "lost"):
                for line in getattr(found, what):
                    print(f"  {what}: {line}")
            print(found.memory)


if __name__ == "__main__":
    main()
