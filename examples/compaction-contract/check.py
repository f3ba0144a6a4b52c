"""Play one side of the compaction contract against the other, and name the clause that is broken (README.md).

    python check.py memory "python memory.py FOLDER" [--spoil CMD --repair CMD]
    python check.py host "python host.py"

Exit 1 when a clause is broken. Only the standard library is needed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import queue
import shlex
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

FIXTURES = Path(__file__).parent / "fixtures"
SECONDS = 60.0
#: Each message's fields, with their types or their values.
HOST: dict[str, dict[str, Any]] = {
    "rows": {"rows": list},
    "ask": {"reason": ("manual", "automatic", "idle", "end"), "covers": str, "deadline_s": int | float},
    "done": {"receipt": str | None, "summary": str, "kept": list},
    "kept": {"kept": list},
    "override": {"by": str},
    "resume": {"source": ("new", "resumed", "compacted")},
    "receipt": {"id": str},
}
MEMORY: dict[str, dict[str, Any]] = {
    "stored": {"ids": list},
    "allow": {"receipt": dict},
    "refuse": {"reason": str, "next_step": str},
    "audit": {"missing": list},
    "ok": {},
    "resumed": {"text": str, "receipts": list, "unguarded": int},
    "receipt": {"receipt": dict},
    "unknown": {},
}


class Broken(Exception):
    """A clause does not hold: its number and what was seen."""


class Peer:
    """A program that speaks the contract."""

    def __init__(self, command: str, errors: Any = None) -> None:
        self.process = subprocess.Popen(
            shlex.split(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
        )
        assert self.process.stdin is not None
        self._stdin = self.process.stdin
        self._lines: queue.Queue[str] = queue.Queue()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        for line in self.process.stdout or ():
            self._lines.put(line)
        self._lines.put("")

    def say(self, text: str) -> None:
        with suppress(BrokenPipeError, ValueError):  # the peer ended, or we hung up: `hear` tells
            self._stdin.write(text + "\n")
            self._stdin.flush()

    def hang_up(self) -> None:
        self._stdin.close()

    def hear(self) -> dict[str, Any] | None:
        """The next message; None when the program ended or was silent for too long."""
        try:
            line = self._lines.get(timeout=SECONDS)
            message = json.loads(line) if line else None
        except (queue.Empty, ValueError):
            return None
        return message if isinstance(message, dict) else None

    def stop(self, *, kill: bool) -> None:
        if not kill:
            self.hang_up()
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(SECONDS)
        self.process.kill()
        self.process.wait()
        self._listener.join()
        for pipe in (self.process.stdin, self.process.stdout):
            with suppress(BrokenPipeError):
                pipe.close()  # type: ignore[union-attr]


def well_formed(message: Mapping[str, Any], forms: Mapping[str, Mapping[str, Any]]) -> None:
    """Raises: Broken for a message that is not one of the table in README.md."""
    kind = message.get("type")
    if kind not in forms:
        raise Broken("wire", f"there is no message {kind!r}")
    for key, form in forms[kind].items():
        value = message.get(key)
        if not (value in form if isinstance(form, tuple) else isinstance(value, form)):
            raise Broken("wire", f"{kind} has {key} {value!r}")


# a memory is checked


def check_memory(scenario: dict[str, Any], command: str, spoil: str, repair: str) -> None:
    # A memory may have a process of its own that still writes when the folder is removed.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        start = command.replace("FOLDER", folder)
        peer, receipt, ids = Peer(start), dict[str, Any](), list[str]()
        try:
            for step in scenario["steps"]:
                if "kill" in step or "stop" in step:
                    peer.stop(kill="kill" in step)
                    peer = Peer(start)
                elif "send" not in step:
                    run = (spoil if "spoil" in step else repair).replace("FOLDER", folder)
                    subprocess.run(run, shell=True, check=True)
                else:
                    known = receipt.get("id", "")
                    peer.say(json.dumps(_filled(step["send"], known) | {"session": "check"}))
                    ids += [row["id"] for row in step["send"].get("rows", ()) if row["id"] not in ids]
                    answer = peer.hear()
                    _compare(answer, _filled(step["expect"], known), step["clause"])
                    receipt = _judged(answer or {}, receipt, step["send"], ids)
        finally:
            peer.stop(kill=True)


def _judged(answer: dict[str, Any], receipt: dict[str, Any], sent: dict[str, Any], ids: list[str]) -> dict[str, Any]:
    """The newest receipt, after what every answer must be."""
    well_formed(answer, MEMORY)
    if answer["type"] == "refuse" and not (answer["reason"] and answer["next_step"]):
        raise Broken("M5", "a refusal without a reason or a next step")
    if answer["type"] == "receipt" and answer["receipt"] != receipt:
        raise Broken("M8", f"the receipt is {answer['receipt']}, and was {receipt}")
    return _receipt(answer["receipt"], sent["covers"], ids) if answer["type"] == "allow" else receipt


def _filled(values: dict[str, Any], receipt: str) -> dict[str, Any]:
    filled: dict[str, Any] = json.loads(json.dumps(values).replace("$receipt", json.dumps(receipt)[1:-1]))
    return filled


def _compare(answer: dict[str, Any] | None, expected: dict[str, Any], clause: str) -> None:
    if answer is None:
        raise Broken(clause, "no answer that can be read")
    flat = answer | answer.get("receipt", {}) if isinstance(answer.get("receipt"), dict) else answer
    for key, value in expected.items():
        name = key.removeprefix("has ")
        seen = flat.get(name)
        if not (value in (seen or ()) if key != name else seen == value):
            raise Broken(clause, f"{key} should be {value!r} in {json.dumps(answer)[:400]}")


def _receipt(receipt: dict[str, Any], covers: str, ids: list[str]) -> dict[str, Any]:
    """The receipt, if it says what it must."""
    covered = ids[: ids.index(covers) + 1]
    digest = hashlib.sha256("".join(f"{one}\n" for one in covered).encode()).hexdigest()
    wanted = {"session": "check", "covers": covers, "rows": len(covered), "digest": digest}
    for key, value in wanted.items():
        if receipt.get(key) != value:
            raise Broken("M3", f"the receipt's {key} is {receipt.get(key)!r}, not {value!r}")
    if not receipt.get("id") or not receipt.get("written") or not receipt.get("at"):
        raise Broken("M3", "the receipt lacks its id, its instant or what was written")
    try:
        is_instant = datetime.fromisoformat(receipt["at"]).tzinfo is not None
        is_digest = all(len(bytes.fromhex(one["sha256"])) == 32 and one["name"] for one in receipt["written"])
    except (KeyError, TypeError, ValueError):
        is_instant = is_digest = False
    if not (is_instant and is_digest):
        raise Broken("M3", f"the receipt's instant or a digest cannot be read: {receipt['at']}, {receipt['written']}")
    return receipt


# a host is checked


def check_host(scenario: dict[str, Any], command: str) -> None:
    with tempfile.TemporaryFile("w+", encoding="utf-8") as shown:
        peer = Peer(command, shown)
        talk: list[dict[str, Any]] = []
        sent: list[str] = []
        try:
            while (message := peer.hear()) is not None:
                well_formed(message, {kind: {"session": str, **form} for kind, form in HOST.items()})
                talk.append(message)
                kind = message["type"]
                if kind == "rows":
                    sent += [row["id"] for row in message["rows"]]
                    peer.say(json.dumps({"type": "stored", "ids": sent}))
                elif kind == "ask":
                    if message["covers"] not in sent:
                        raise Broken("H2", f"the question covers {message['covers']!r}, which was not sent")
                    if message["reason"] == "automatic" and message["deadline_s"] < 30:
                        raise Broken("H5", "an automatic compaction waits for less than 30 s")
                    _answer(peer, scenario["answers"]["ask"], message, sent)
                elif kind == "resume":
                    peer.say(json.dumps({"type": "resumed", "text": "", "receipts": [], "unguarded": 0}))
                else:
                    peer.say(json.dumps({"type": "audit", "missing": []} if kind == "done" else {"type": "ok"}))
        finally:
            peer.stop(kill=True)
        shown.seek(0)
        _judge(scenario, talk, sent, shown.read())


REFUSAL = {"reason": "The disk is full.", "next_step": "Free some space."}


def _answer(peer: Peer, how: str, asked: dict[str, Any], sent: list[str]) -> None:
    """Answer the question in a scenario's way."""
    covered = sent[: sent.index(asked["covers"]) + 1]
    receipt = {"id": "r1", "session": asked["session"], "covers": asked["covers"], "rows": len(covered),
               "digest": hashlib.sha256("".join(f"{one}\n" for one in covered).encode()).hexdigest(),
               "written": [{"name": "note", "sha256": "0" * 64}], "at": "2026-11-26T12:00:00Z"}  # fmt: skip
    answers = {
        "allow": {"type": "allow", "receipt": receipt},
        "refuse": {"type": "refuse", **REFUSAL},
        "error": {"type": "error", "message": "internal"},
        "foreign": {"type": "allow", "receipt": receipt | {"session": "another"}},
        "older": {"type": "allow", "receipt": receipt | {"covers": sent[0], "rows": 1}},
    }
    if how == "end":
        peer.hang_up()
    else:
        peer.say("<html>" if how == "garbage" else json.dumps(answers[how]))


def _judge(scenario: dict[str, Any], talk: list[dict[str, Any]], sent: list[str], shown: str) -> None:
    kinds = [message["type"] for message in talk]
    asked = next((message for message in talk if message["type"] == "ask"), None)
    told = next((message for message in reversed(talk) if message["type"] in ("done", "kept")), None)
    if asked is None:
        raise Broken("H1", "the host never asked")
    if told is None:
        raise Broken("H6" if scenario["dropped"] else "H4", "the host did not say which rows it kept")
    gone = set(sent) - set(told["kept"])
    if not scenario["dropped"] and gone:
        raise Broken(scenario["clause"], f"it dropped {sorted(gone)}")
    if not scenario["dropped"] and told["type"] != "kept":
        raise Broken("H4", "it said `done` where it may drop nothing")
    if scenario["answers"]["ask"] == "refuse" and not all(said in shown for said in REFUSAL.values()):
        raise Broken("H4", "it did not show reason and next step on stderr")
    if kinds[0] != "resume" or talk[0]["source"] == "compacted":
        raise Broken("H8", "it did not ask `resume` at its start")
    if scenario["dropped"]:
        newer = sent[sent.index(asked["covers"]) + 1 :]
        if gone & set(newer) or not gone:
            raise Broken("H6", f"it dropped {sorted(gone)} with a receipt up to {asked['covers']}")
        if told.get("receipt") != "r1" or not told.get("summary"):
            raise Broken("H6", "`done` lacks the receipt or the summary")
        if {"resume": "compacted"} not in [{one["type"]: one.get("source")} for one in talk[talk.index(told) :]]:
            raise Broken("H8", "it did not ask `resume` after the compaction")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("side", choices=["memory", "host"])
    parser.add_argument("command")
    parser.add_argument("--spoil", default="", help="a shell command that breaks the store in FOLDER")
    parser.add_argument("--repair", default="", help="a shell command that mends it")
    args = parser.parse_args()
    broken = 0
    for scenario in json.loads((FIXTURES / f"{args.side}.json").read_text(encoding="utf-8")):
        if scenario.get("needs") == "spoil" and not args.spoil:
            print(f"  -  {scenario['name']}: not checked, give --spoil and --repair")
            continue
        try:
            if args.side == "memory":
                check_memory(scenario, args.command, args.spoil, args.repair)
            else:
                check_host(scenario, args.command)
        except subprocess.CalledProcessError as error:
            sys.exit(f"check.py: {error}")
        except Broken as error:
            broken += 1
            print(f"{error.args[0]:>3}  {scenario['name']}: {error.args[1]}")
        else:
            print(f" ok  {scenario['name']}")
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
