"""holdfast's side of the compaction contract: `python memory.py FOLDER`, one JSON message on a line each way."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any

from holdfast import Holdfast
from holdfast.errors import HoldfastError
from holdfast.models import Message

Answer = dict[str, Any]


class Memory:
    """One project. What holdfast has no place for, receipts by row and unheld compactions, stands in `log`."""

    def __init__(self, folder: str) -> None:
        self.memory = Holdfast.open(folder)
        self.log = Path(folder, "contract.jsonl")

    def answer(self, said: Answer) -> Answer:
        try:
            return self._answer(said)
        except HoldfastError as error:
            return {"type": "refuse", "reason": error.message, "next_step": error.next_step or "Try again."}

    def _answer(self, said: Answer) -> Answer:
        session = self.memory.session(said["session"])
        match said["type"]:
            case "rows":
                now = self.memory.services.now()
                session.extend(
                    Message(role=row["role"], text=row["text"], id=row["id"], at=now) for row in said["rows"]
                )
                return {"type": "stored", "ids": [row["id"] for row in said["rows"]]}
            case "ask":
                return self._ask(said)
            case "done":
                if said["receipt"] is None:
                    self._note({"unguarded": True})
                said_by_user = [row.text for row in session.messages if row.role == "user"]
                return {"type": "audit", "missing": [text for text in said_by_user if text not in said["summary"]]}
            case "override":
                session.override(said["by"])
                return {"type": "ok"}
            case "resume":
                noted = self._noted()
                known = [n for n, row in enumerate(noted) if "id" in row]
                unguarded = sum("unguarded" in row for row in noted[known[-1] if known else 0 :])
                receipts = [noted[n]["id"] for n in known]
                text = str(self.memory.load(session=session.id))
                return {"type": "resumed", "text": text, "receipts": receipts, "unguarded": unguarded}
            case "receipt":
                found = next((row for row in self._noted() if row.get("id") == said["id"]), None)
                return {"type": "receipt", "receipt": found} if found else {"type": "unknown"}
            case _:
                return {"type": "ok"}

    def _ask(self, said: Answer) -> Answer:
        session = self.memory.session(said["session"])
        ids = [row.id for row in session.messages]
        if said["covers"] not in ids:
            return {"type": "refuse", "reason": "The row is not known.", "next_step": "Send the rows first."}
        proof = session.flush(reason="compaction")  # raises FlushRefused unless written, read back and recorded
        covered = ids[: ids.index(said["covers"]) + 1]
        receipt = {
            "id": f"{proof.flush_id}/{len(covered)}", "session": session.id, "covers": said["covers"],
            "rows": len(covered), "digest": hashlib.sha256("".join(f"{one}\n" for one in covered).encode()).hexdigest(),
            "written": [{"name": one.name, "sha256": one.sha256} for one in proof.written], "at": proof.at.isoformat(),
        }  # fmt: skip
        if receipt["id"] not in (row.get("id") for row in self._noted()):
            self._note(receipt)
        return {"type": "allow", "receipt": receipt}

    def _note(self, row: Answer) -> None:
        with self.log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _noted(self) -> list[Answer]:
        if not self.log.exists():
            return []
        return [json.loads(line) for line in self.log.read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    memory = Memory(sys.argv[1])
    for line in sys.stdin:
        print(json.dumps(memory.answer(json.loads(line))), flush=True)
    memory.memory.close()  # leaves the sessions open
