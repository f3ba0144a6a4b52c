"""Recall@5 of the search on MemDaily, which is Chinese: ``python -m benchmarks.recall.memdaily FOLDER``.

FOLDER holds the data set's JSON files. Each conversation is a session, and each of its questions is asked of it alone.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from holdfast import Holdfast
from holdfast.models import Message

_TIME = re.compile(r"(\d+)年(\d+)月(\d+)日\D*(\d+):(\d+)")


def conversations(table: Any) -> list[dict[str, Any]]:
    """The conversations of a file, whatever groups it has."""
    if isinstance(table, dict):
        return [table] if "message_list" in table else [one for part in table.values() for one in conversations(part)]
    return [one for part in table for one in conversations(part)] if isinstance(table, list) else []


def measure(path: Path) -> list[float]:
    """The recall of each question: the share of its evidence among the first five."""
    recalled = []
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "holdfast.toml").touch()
        with Holdfast.open(folder) as memory:
            found = conversations(json.loads(path.read_text(encoding="utf-8")))
            for number, one in enumerate(found):
                memory.session(f"c{number}").extend(
                    Message(id=str(said["mid"]), at=_at(said["time"]), role="user", text=said["message"])
                    for said in one["message_list"]
                )
            for number, one in enumerate(found):
                for asked in one["question_list"]:
                    wanted = {str(step) for step in asked["target_step_id"]}
                    hits = memory.search(asked["question"], kinds=["turn"], session=f"c{number}", limit=5)
                    if wanted:
                        recalled.append(len(wanted & {hit.place for hit in hits}) / len(wanted))
    return recalled


def _at(text: str) -> datetime:
    found = _TIME.search(text)
    return datetime(*map(int, found.groups()), tzinfo=UTC) if found else datetime(2024, 1, 1, tzinfo=UTC)  # type: ignore[misc,arg-type]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    every: list[float] = []
    for path in sorted(parser.parse_args().folder.glob("0*_*.json")):
        recalled = measure(path)
        every += recalled
        print(f"{path.stem}: {sum(recalled) / len(recalled):.3f} of {len(recalled)} questions", flush=True)
    print(f"recall@5: {sum(every) / len(every):.3f} of {len(every)} questions")


if __name__ == "__main__":
    main()
