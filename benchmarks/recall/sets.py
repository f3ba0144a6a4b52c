"""Public data sets of talks with questions whose evidence is known. They are never in this repository: fetch them.

``locomo:FILE`` is LoCoMo's ``locomo10.json`` (CC BY-NC), ``beam:FOLDER`` a folder of BEAM's chats such as
``chats/100K``, ``memdaily:FOLDER`` MemDaily's folder of JSON files (Chinese). ``:1-5`` after it chooses talks 1 to 5.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from holdfast import Holdfast
from holdfast_app.journal.journal import Journal

_SESSION = re.compile(r"session_(\d+)")
_TURN = re.compile(r"D\d+:\d+")
_DAY = re.compile(r"(\d+)年(\d+)月(\d+)日\D*(\d+):(\d+)")
_START = datetime(2024, 1, 1, tzinfo=UTC)


class Turn(NamedTuple):
    id: str
    role: str
    at: datetime
    text: str


class Question(NamedTuple):
    """``evidence`` are ids of turns; ``session`` is the only one to search, or empty."""

    kind: str
    text: str
    evidence: frozenset[str]
    session: str = ""


class Talk(NamedTuple):
    """One project: its sessions and the questions about them."""

    sessions: Mapping[str, list[Turn]]
    questions: list[Question]

    def fill(self, memory: Holdfast) -> None:
        """Write the sessions' journals as sessions do, without the validators, whose time is not measured here."""
        memory.session("first").add("user", "hello")
        for name, turns in self.sessions.items():
            Journal(memory.services.state, name).append(
                *({"kind": "message", **turn._asdict(), "at": turn.at.isoformat(), "tokens": 1} for turn in turns)
            )


def talks(given: str) -> list[Talk]:
    name, place, *chosen = given.split(":")
    found = list({"locomo": _locomo, "beam": _beam, "memdaily": _memdaily}[name](Path(place)))
    first, last = map(int, chosen[0].split("-")) if chosen else (1, len(found))
    return found[first - 1 : last]


def _locomo(path: Path) -> Iterator[Talk]:
    for sample in json.loads(path.read_text(encoding="utf-8")):
        said, sessions = sample["conversation"], {}
        for key in sorted(filter(_SESSION.fullmatch, said), key=lambda key: int(key[8:])):
            at = datetime.strptime(said[f"{key}_date_time"].upper(), "%I:%M %p ON %d %B, %Y").replace(tzinfo=UTC)
            sessions[key] = []
            for turn in said[key]:
                shown = f" [shares {turn['blip_caption']}]" if turn.get("blip_caption") else ""
                role = "user" if turn["speaker"] == said["speaker_a"] else "assistant"
                sessions[key].append(Turn(turn["dia_id"], role, at, f"{turn['speaker']}: {turn['text']}{shown}"))
        known = {turn.id for turns in sessions.values() for turn in turns}
        questions = [
            Question(
                str(asked["category"]), asked["question"], frozenset(_TURN.findall(" ".join(asked["evidence"]))) & known
            )
            for asked in sample["qa"]
        ]
        yield Talk(sessions, [one for one in questions if one.evidence])


def _beam(folder: Path) -> Iterator[Talk]:
    for chat in sorted((one for one in folder.iterdir() if one.is_dir()), key=lambda one: int(one.name)):
        sessions, at = {}, _START
        for number, batch in enumerate(json.loads((chat / "chat.json").read_text(encoding="utf-8"))):
            sessions[f"b{number}"] = []
            for message in (message for turns in batch["turns"] for message in turns):
                if message.get("time_anchor"):
                    at = datetime.strptime(message["time_anchor"], "%B-%d-%Y").replace(tzinfo=UTC)
                at += timedelta(seconds=30)
                turn = Turn(str(message["id"]), message["role"], at, message["content"].partition(" ->-> ")[0])
                sessions[f"b{number}"].append(turn)
        known = {turn.id for turns in sessions.values() for turn in turns}
        table = json.loads((chat / "probing_questions/probing_questions.json").read_text(encoding="utf-8"))
        questions = [
            Question(kind, asked["question"], frozenset(map(str, _flat(asked.get("source_chat_ids", [])))) & known)
            for kind, questions in table.items()
            for asked in questions
        ]
        yield Talk(sessions, [one for one in questions if one.evidence])


def _memdaily(folder: Path) -> Iterator[Talk]:
    for path in sorted(folder.glob("0*_*.json")):
        sessions, questions = {}, []
        for number, one in enumerate(_conversations(json.loads(path.read_text(encoding="utf-8")))):
            name = f"c{number}"
            sessions[name] = [
                Turn(f"{name}-{said['mid']}", "user", _day(said["time"]), said["message"])
                for said in one["message_list"]
            ]
            questions += [
                Question(
                    path.stem, asked["question"], frozenset(f"{name}-{step}" for step in asked["target_step_id"]), name
                )
                for asked in one["question_list"]
            ]
        yield Talk(sessions, [one for one in questions if one.evidence])


def _conversations(table: Any) -> list[dict[str, Any]]:
    """The conversations of a file, whatever groups it has."""
    if isinstance(table, dict):
        return [table] if "message_list" in table else [one for part in table.values() for one in _conversations(part)]
    return [one for part in table for one in _conversations(part)] if isinstance(table, list) else []


def _day(text: str) -> datetime:
    found = _DAY.search(text)
    return datetime(*map(int, found.groups()), tzinfo=UTC) if found else _START  # type: ignore[misc,arg-type]


def _flat(ids: Any) -> list[Any]:
    if isinstance(ids, dict):
        return [one for part in ids.values() for one in _flat(part)]
    return [one for part in ids for one in _flat(part)] if isinstance(ids, list) else [ids]
