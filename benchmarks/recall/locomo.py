"""Recall@10 of the search on LoCoMo: ``python -m benchmarks.recall.locomo FILE [--sealed]``.

FILE is the data set's ``locomo10.json``, which its owners publish under CC BY-NC: fetch it yourself. It is never
in this repository. Conversations 1 to 5 are for development; ``--sealed`` reports 6 to 10. ``--plugin`` measures with
vectors: ``--plugin word_vectors path=FILE``, ``--plugin embeddings model=NAME base_url=URL``.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from holdfast import Holdfast
from holdfast.config.values import PluginConfig
from holdfast.models import Message
from holdfast_app.config import Config
from holdfast_app.search import vectors

_SESSION = re.compile(r"session_(\d+)")
_TURN = re.compile(r"D\d+:\d+")


def messages(conversation: dict[str, Any]) -> dict[str, list[Message]]:
    """The turns of each session, with the turn's own id."""
    found = {}
    for key in sorted(filter(_SESSION.fullmatch, conversation), key=lambda key: int(key[8:])):
        at = datetime.strptime(conversation[f"{key}_date_time"].upper(), "%I:%M %p ON %d %B, %Y").replace(tzinfo=UTC)
        rows = []
        for turn in conversation[key]:
            shown = f" [shares {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            rows.append(
                Message(
                    id=turn["dia_id"],
                    at=at,
                    role="user" if turn["speaker"] == conversation["speaker_a"] else "assistant",
                    text=f"{turn['speaker']}: {turn['text']}{shown}",
                )
            )
        found[key] = rows
    return found


def measure(sample: dict[str, Any], folder: str, config: Config | None) -> dict[int, list[float]]:
    """For each category the recall of each question: the share of its evidence among the first ten."""
    recalled: dict[int, list[float]] = defaultdict(list)
    with Holdfast.open(folder, config=config) as memory:
        turns = set()
        for key, rows in messages(sample["conversation"]).items():
            memory.session(key).extend(rows)
            turns.update(row.id for row in rows)
        for asked in sample["qa"]:
            if not asked["evidence"]:
                continue
            wanted = {one for text in asked["evidence"] for one in _TURN.findall(text)} & turns
            if wanted:
                hits = memory.search(asked["question"], kinds=["turn"], limit=10)
                recalled[asked["category"]].append(len(wanted & {hit.place for hit in hits}) / len(wanted))
    return recalled


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--sealed", action="store_true", help="conversations 6 to 10; only for the final figure")
    parser.add_argument("--plugin", nargs="+", metavar=("NAME", "KEY=VALUE"), help="a plugin for vectors")
    args = parser.parse_args()
    config = None
    if args.plugin:
        name, *pairs = args.plugin
        table = dict(pair.split("=", 1) for pair in pairs)
        config = Config(plugins={name: PluginConfig(enabled=True, settings=table)})
        vectors.BUDGET_S = float("inf")  # all vectors are made before the first question is answered
    samples = json.loads(args.file.read_text(encoding="utf-8"))
    total: dict[int, list[float]] = defaultdict(list)
    for sample in samples[5:] if args.sealed else samples[:5]:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "holdfast.toml").touch()
            for category, values in measure(sample, folder, config).items():
                total[category] += values
    for category, values in sorted(total.items()):
        print(f"category {category}: {sum(values) / len(values):.3f} of {len(values)} questions")
    every = [value for values in total.values() for value in values]
    print(f"recall@10: {sum(every) / len(every):.3f} of {len(every)} questions")


if __name__ == "__main__":
    main()
