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
from contextlib import suppress
from pathlib import Path
from typing import Any

FIXTURES = Path(__file__).parent / "fixtures"
SECONDS = 60.0


class Broken(Exception):
    """A clause does not hold: its number and what was seen."""


class Peer:
    """A program that speaks the contract."""

    def __init__(self, command: str) -> None:
        self.process = subprocess.Popen(shlex.split(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
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

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self._listener.join()
        for pipe in (self.process.stdin, self.process.stdout):
            with suppress(BrokenPipeError):
                pipe.close()  # type: ignore[union-attr]


# a memory is checked


def check_memory(scenario: dict[str, Any], command: str, spoil: str, repair: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        start = command.replace("FOLDER", folder)
        peer, receipt, ids = Peer(start), "", []
        try:
            for step in scenario["steps"]:
                if "kill" in step:
                    peer.kill()
                    peer = Peer(start)
                elif "send" not in step:
                    subprocess.run(
                        (spoil if "spoil" in step else repair).replace("FOLDER", folder), shell=True, check=True
                    )
                else:
                    peer.say(json.dumps(_filled(step["send"], receipt) | {"session": "check"}))
                    ids += [row["id"] for row in step["send"].get("rows", ()) if row["id"] not in ids]
                    answer = peer.hear()
                    _compare(answer, _filled(step["expect"], receipt), step["clause"])
                    if answer and answer["type"] == "allow":
                        receipt = _receipt(answer, step["send"]["covers"], ids)
                    if answer and answer["type"] == "refuse" and not (answer.get("reason") and answer.get("next_step")):
                        raise Broken("M5", "a refusal without a reason or a next step")
        finally:
            peer.kill()


def _filled(values: dict[str, Any], receipt: str) -> dict[str, Any]:
    return {key: receipt if value == "$receipt" else value for key, value in values.items()}


def _compare(answer: dict[str, Any] | None, expected: dict[str, Any], clause: str) -> None:
    if answer is None:
        raise Broken(clause, "no answer that can be read")
    flat = answer | answer.get("receipt", {}) if isinstance(answer.get("receipt"), dict) else answer
    for key, value in expected.items():
        name = key.removeprefix("has ")
        seen = flat.get(name)
        if not (value in (seen or ()) if key != name else seen == value):
            raise Broken(clause, f"{key} should be {value!r} in {json.dumps(answer)[:400]}")


def _receipt(answer: dict[str, Any], covers: str, ids: list[str]) -> str:
    """The id of a receipt that says what it must."""
    receipt = answer.get("receipt") or {}
    covered = ids[: ids.index(covers) + 1]
    digest = hashlib.sha256("".join(f"{one}\n" for one in covered).encode()).hexdigest()
    wanted = {"session": "check", "covers": covers, "rows": len(covered), "digest": digest}
    for key, value in wanted.items():
        if receipt.get(key) != value:
            raise Broken("M3", f"the receipt's {key} is {receipt.get(key)!r}, not {value!r}")
    if not receipt.get("id") or not receipt.get("written") or not receipt.get("at"):
        raise Broken("M3", "the receipt lacks its id, its instant or what was written")
    return str(receipt["id"])


# a host is checked


def check_host(scenario: dict[str, Any], command: str) -> None:
    peer = Peer(command)
    sent: list[str] = []
    asked: dict[str, Any] | None = None
    kept: list[str] | None = None
    try:
        while (message := peer.hear()) is not None:
            kind = message.get("type")
            if kind == "rows":
                sent += [row["id"] for row in message["rows"]]
                peer.say(json.dumps({"type": "stored", "ids": sent}))
            elif kind == "ask":
                if message.get("covers") not in sent:
                    raise Broken("H2", f"the question covers {message.get('covers')!r}, which was not sent")
                if message.get("reason") == "automatic" and message.get("deadline_s", 0) < 30:
                    raise Broken("H5", "an automatic compaction waits for less than 30 s")
                asked = message
                _answer(peer, scenario["answers"]["ask"], message, sent)
            elif kind in ("done", "kept"):
                kept = message["kept"]
                peer.say(json.dumps({"type": "audit", "missing": []} if kind == "done" else {"type": "ok"}))
            elif kind == "resume":
                peer.say(json.dumps({"type": "resumed", "text": "", "receipts": [], "unguarded": 0}))
            else:
                peer.say(json.dumps({"type": "ok"}))
    finally:
        peer.kill()
    _judge(scenario, asked, kept, sent)


def _answer(peer: Peer, how: str, asked: dict[str, Any], sent: list[str]) -> None:
    """Answer the question in a scenario's way."""
    covered = sent[: sent.index(asked["covers"]) + 1]
    receipt = {"id": "r1", "session": asked["session"], "covers": asked["covers"], "rows": len(covered),
               "digest": hashlib.sha256("".join(f"{one}\n" for one in covered).encode()).hexdigest(),
               "written": [{"name": "note", "sha256": "0" * 64}], "at": "2026-11-26T12:00:00Z"}  # fmt: skip
    answers = {
        "allow": {"type": "allow", "receipt": receipt},
        "refuse": {"type": "refuse", "reason": "The disk is full.", "next_step": "Free some space."},
        "error": {"type": "error", "message": "internal"},
        "foreign": {"type": "allow", "receipt": receipt | {"session": "another"}},
        "older": {"type": "allow", "receipt": receipt | {"covers": sent[0], "rows": 1}},
    }
    if how == "end":
        peer.hang_up()
    else:
        peer.say("<html>" if how == "garbage" else json.dumps(answers[how]))


def _judge(scenario: dict[str, Any], asked: dict[str, Any] | None, kept: list[str] | None, sent: list[str]) -> None:
    if asked is None:
        raise Broken("H1", "the host never asked")
    if kept is None:
        raise Broken("H6" if scenario["dropped"] else "H4", "the host did not say which rows it kept")
    gone = set(sent) - set(kept)
    if not scenario["dropped"] and gone:
        raise Broken(scenario["clause"], f"it dropped {sorted(gone)}")
    if scenario["dropped"]:
        newer = sent[sent.index(asked["covers"]) + 1 :]
        if gone & set(newer) or not gone:
            raise Broken("H6", f"it dropped {sorted(gone)} with a receipt up to {asked['covers']}")


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
        except Broken as error:
            broken += 1
            print(f"{error.args[0]:>3}  {scenario['name']}: {error.args[1]}")
        else:
            print(f" ok  {scenario['name']}")
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
