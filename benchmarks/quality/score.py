"""Scores what a flush without a model keeps of a session, against labels.

    python benchmarks/quality/score.py                  # the made-up sessions of sessions.py
    python benchmarks/quality/score.py --set DIR        # transcripts and labels.json of your own
    python benchmarks/quality/score.py --show NAME      # note and brief of one session

Each transcript is flushed by the command line into a project of its own, with default plugins and no model. The note
and a brief of 4,000 characters are read as text, as a person or an agent reads them.

A label holds lists of keywords. An item is found when one line has all its keywords, whatever their case.
``labels.json`` maps a transcript's file name to ``objective`` and ``next`` (alternatives, each a list of keywords;
next may be "none"), ``open``, ``matters`` (items), ``files``, and ``stated`` (the items that may be called fact,
decision or blocker; others count as wrong). Optional are ``decisions`` and ``corrections``, items that the user settled
or put right. Precision is counted for each kind of line, and lines of the brief that say nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

BRIEF_CHARS = 4_000
NOTE_CHARS = 6_000
OBJECTIVE_CHARS = 200
NEXT_CHARS = 300

_LABEL = re.compile(r"^[\s>#*-]*\**(Objective|Goal|Task|Next[ \w]*)\**:\**\s*(.*)$", re.IGNORECASE)
_STATED = re.compile(r"^- (Fact|Decision|Blocker): (?!none$)(.*)$")
_ARTIFACT = re.compile(r"^- Artifact: (.*)$")
_BOILERPLATE = re.compile(
    r"</?(?:ide_|system-reminder|command-|local-command|bash-|task-notification|environment_context|user_instructions"
    r"|image|uploaded_files)|\[(?:image|Image #|Request interrupted)|Context from my IDE|AGENTS\.md instructions"
    r"|caller\.type|\x1b\[|\bcurrent (?:local )?time\b|\d+ files? changed|\| +\d+ [-+]+$"
    r"|^- (?:\(\w+\) )?(?:noted\b.*|(?:thanks|thank you|hello|hi|ok|great|bye)\b.{0,20})$",
    re.IGNORECASE,
)


class Kept(NamedTuple):
    """What was kept of a session."""

    note: str
    brief: str


def keep(transcript: Path) -> Kept:
    """Flush ``transcript`` into an empty project and read it back. Raises: CalledProcessError."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "project")
        root.mkdir()
        outside = {**os.environ, "HOME": folder, "XDG_CONFIG_HOME": folder, "HOLDFAST_ROOT": str(root)}
        for arguments in (["flush", "--transcript", str(transcript)], ["load", "--max-chars", str(BRIEF_CHARS)]):
            done = subprocess.run(
                [sys.executable, "-m", "holdfast", *arguments],
                env=outside,
                cwd=root,
                capture_output=True,
                encoding="utf-8",
                check=True,
            )
        notes = sorted((root / ".holdfast" / "memory").glob("*.md"))
        return Kept("\n".join(path.read_text(encoding="utf-8") for path in notes), done.stdout)


def found(items: Iterable[str], lines: Iterable[str]) -> bool:
    """Whether one line has all keywords of ``items``."""
    words = [word.casefold() for word in items]
    return any(all(word in line.casefold() for word in words) for line in lines)


def _labelled(text: str, *names: str, limit: int) -> Iterator[str]:
    for line in text.splitlines():
        if (match := _LABEL.match(line)) and match[1].casefold().startswith(names):
            yield match[2][:limit]


def score(kept: Kept, label: Mapping[str, Any]) -> Counter[str]:
    """Points and possible points, as ``field`` and ``field of``."""
    points: Counter[str] = Counter()

    def count(name: str, right: float, of: float = 1) -> None:
        points[name] += right  # type: ignore[assignment]
        points[f"{name} of"] += of  # type: ignore[assignment]

    note, brief = kept.note[:NOTE_CHARS], kept.brief
    goals = list(_labelled(note, "objective", "goal", "task", limit=OBJECTIVE_CHARS))
    count("objective", any(found(words, goals) for words in label["objective"]))
    state = re.search(r"Work is (open|closed)|State: (open|closed)", note)
    told = (state[1] or state[2]) if state else ""
    count("state", told == ("open" if label["open"] else "closed"))
    steps = list(_labelled(note, "next", limit=NEXT_CHARS))
    if label["next"] == "none":
        count("next step", all(step.strip(" .").casefold() == "none" for step in steps))
    else:
        count("next step", any(found(words, steps) for words in label["next"]))
    for name, text in (("matters, note", note), ("matters, brief", brief)):
        lines = text.splitlines()
        count(name, sum(found(words, lines) for words in label["matters"]), len(label["matters"]))
    count("files", sum(name in kept.note for name in label["files"]), len(label["files"]))
    listed = [match[1] for line in kept.note.splitlines() if (match := _ARTIFACT.match(line))]
    files = [name for name in listed if re.search(r"\.\w{1,8}$", name) and "://" not in name]
    count("listed files that changed", sum(any(f in n or n in f for f in label["files"]) for n in files), len(files))
    stated = [(match[1], match[2]) for line in kept.note.splitlines() if (match := _STATED.match(line))]
    for kind in ("Fact", "Decision", "Blocker"):
        said = [line for one, line in stated if one == kind]
        right = sum(any(found(words, [line]) for words in label.get("stated", ())) for line in said)
        count(f"{kind.lower()} lines that are right", right, len(said))
    for name in ("decisions", "corrections"):
        items = label.get(name, ())
        count(f"{name}, in the note", sum(found(words, note.splitlines()) for words in items), len(items))
    given = [step for step in steps if step.strip(" .").casefold() not in ("none", "not stated", "")]
    named = label["next"] != "none" and any(found(words, given) for words in label["next"])
    count("next steps given that are right", named, bool(given))
    quoted = [line for line in brief.splitlines() if line.lstrip().startswith("- ")]
    count("boilerplate lines", sum(bool(_BOILERPLATE.search(line)) for line in quoted), len(quoted))
    count("note characters", len(kept.note), 0)
    return points


def table(points: Counter[str], sessions: int) -> str:
    """The result as Markdown."""
    lines = [f"| {sessions} sessions | percent | of |", "|---|---|---|"]
    for name in [n for n in points if not n.endswith(" of")]:
        of = points[f"{name} of"]
        if name == "note characters":
            lines.append(f"| {name}, mean | {points[name] // max(sessions, 1)} | |")
        else:
            lines.append(f"| {name} | {100 * points[name] / of:.0f} | {of} |" if of else f"| {name} | none | |")
    return "\n".join(lines)


def _made_up(folder: Path) -> dict[str, Any]:
    from clients import text
    from sessions import SESSIONS

    for one in SESSIONS:
        (folder / one["name"]).write_text(text(one["client"], one["steps"]), encoding="utf-8")
    return {one["name"]: one["label"] for one in SESSIONS}


def main() -> int:
    """Print the table, and with ``-v`` the points that each session missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--set", type=Path, metavar="DIR", help="folder of transcripts with a labels.json")
    parser.add_argument("--show", metavar="NAME", help="print the note and the brief of one session")
    parser.add_argument("--only", metavar="NAME", nargs="*", help="the sessions to score")
    parser.add_argument("-v", action="store_true", help="list the misses of each session")
    given = parser.parse_args()
    total: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as made:
        folder = given.set or Path(made)
        labels = json.loads((folder / "labels.json").read_text("utf-8")) if given.set else _made_up(folder)
        names = [n for n in labels if not given.only or n in given.only]
        if given.show:
            print(*keep(folder / given.show), sep="\n=====\n")
            return 0
        for name in names:
            points = score(keep(folder / name), labels[name])
            total += Counter({n: v for n, v in points.items() if v})
            for field in points:
                total.setdefault(field, 0)
            if given.v:
                missed = [
                    f"{n} {v}/{points[f'{n} of']}"
                    for n, v in points.items()
                    if f"{n} of" in points and v < points[f"{n} of"]
                ]
                print(name, "; ".join(missed) or "-")
    print(table(total, len(names)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
