"""``python benchmarks/redaction.py``: how fast redaction is, and how much it finds.

Speed is megabytes of text a second of processor time (``time.process_time``, so that other programs count little), the
median of several runs behind a first one, in which expressions are compiled. Start-up is the time a
new process takes for its first clean note, beyond what ``import re`` takes. The rates are those of redaction_corpus.py
with several seeds.
"""

from __future__ import annotations

import random
import statistics
import subprocess
import sys
import time
from pathlib import Path

import redaction_corpus as corpus

from holdfast_redaction.engine import Scanner, redact_with
from holdfast_redaction.mark import Marker

HERE = Path(__file__).parent
SIZE = 1_000_000
SEEDS = (11, 12, 13)
RUNS = 5
NOTE = "Next: flush the session; src/auth/token.py and commit 3f2a9c1 are done, the token budget is 4000.\n" * 20


def texts() -> dict[str, list[str]]:
    """What is searched: prose and code as they are, clean lines that all speak of secrets, and texts full of them."""
    prose = "\n".join(p.read_text(encoding="utf-8") for p in sorted((HERE.parent / "docs").glob("*.md")))
    code = "\n".join(p.read_text(encoding="utf-8") for p in sorted((HERE.parent / "core").rglob("*.py")))
    clean = [case.text for case in corpus.clean(SEEDS[0], times=3)]
    secrets = [case.text for case in (*corpus.formats(), *corpus.assignments(), *corpus.prose())]
    mixed = [*secrets, *clean]
    random.Random(SEEDS[0]).shuffle(mixed)
    return {
        "documentation, one text": [_sized(prose)],
        "source code, one text": [_sized(code)],
        "clean lines about secrets, one text": [_sized("\n".join(clean))],
        "notes of 2 kB": [NOTE] * (SIZE // len(NOTE)),
        "clean lines about secrets, one by one": clean * 5,
        "texts with a secret, one by one": secrets,
        "a secret in most lines, one text": ["\n".join(mixed)],
    }


def _sized(text: str) -> str:
    return (text * (SIZE // len(text) + 1))[:SIZE]


def speeds() -> None:
    """Print MB/s for each kind of text."""
    for name, parts in texts().items():
        scanner, marker = Scanner(), Marker()
        redact_with(scanner, _sized("warm up\n"), marker.placeholder)
        first, *others = [_seconds(scanner, marker, parts) for _ in range(RUNS + 1)]
        size = sum(map(len, parts)) / 1e6
        print(f"  {name:40} {size / statistics.median(others):6.2f} MB/s   the first time {size / first:6.2f}")


def _seconds(scanner: Scanner, marker: Marker, parts: list[str]) -> float:
    started = time.process_time()
    for part in parts:
        redact_with(scanner, part, marker.placeholder)
    return time.process_time() - started


def start_up() -> None:
    """Print what a new process pays for its first clean note."""
    code = (
        "import sys, re, time; note = sys.argv[1]; t = time.perf_counter()\n"
        "from holdfast_redaction import redact\nredact(note)\nprint(time.perf_counter() - t)"
    )
    runs = [
        float(subprocess.run([sys.executable, "-c", code, NOTE], capture_output=True, text=True, check=True).stdout)
        for _ in range(15)
    ]
    print(f"  first clean note of 2 kB in a process: {min(runs) * 1e3:.1f} ms (median {sorted(runs)[7] * 1e3:.1f} ms)")


def rates() -> None:
    """Print the share found of each labelled set, and of clean lines spoiled."""
    scanner, marker = Scanner(), Marker()
    for name, make in (
        ("token formats", corpus.formats),
        ("name = value", corpus.assignments),
        ("prose", corpus.prose),
        ("personal data", corpus.personal),
    ):
        cases = [case for seed in SEEDS for case in make(seed)]
        found = sum(case.secret not in redact_with(scanner, case.text, marker.placeholder) for case in cases)
        print(f"  {name:14} {found / len(cases):8.2%} of {len(cases)}")
    cases = [case for seed in SEEDS for case in corpus.clean(seed)]
    spoiled = sum(redact_with(scanner, case.text, marker.placeholder) != case.text for case in cases)
    print(f"  {'clean, spoiled':14} {spoiled / len(cases):8.2%} of {len(cases)}")


def main() -> None:
    print("speed")
    speeds()
    print("start-up")
    start_up()
    print("rates, on texts made from seeds")
    rates()


if __name__ == "__main__":
    main()
