"""A host in sixty lines: it asks before it drops anything, and takes everything but a fitting receipt for a no."""

from __future__ import annotations

import json
import sys
from typing import Any

SESSION = "example"


def talk(**message: Any) -> dict[str, Any] | None:
    """Say one thing to the memory and hear its answer; None when there is none that can be read."""
    try:
        print(json.dumps(message | {"session": SESSION}), flush=True)
        answer = json.loads(sys.stdin.readline())
    except (OSError, ValueError):
        return None
    return answer if isinstance(answer, dict) else None


def may_drop(covers: str) -> tuple[str | None, str]:
    """The receipt's id, or why nothing may be dropped (H3)."""
    answer = talk(type="ask", reason="automatic", covers=covers, deadline_s=60)
    if answer is None:
        return None, "The memory does not answer. Start it again, then compact."
    if answer.get("type") == "refuse":
        return None, f"{answer.get('reason')} {answer.get('next_step')}"
    receipt = answer.get("receipt")
    if answer.get("type") != "allow" or not isinstance(receipt, dict):
        return None, "The memory's answer is not one of the contract."
    if (receipt.get("session"), receipt.get("covers")) != (SESSION, covers) or not receipt.get("id"):
        return None, "The memory's receipt is for something else."
    return str(receipt["id"]), ""


def main() -> None:
    talk(type="resume", source="new")
    context = [{"id": f"row-{n}", "role": "user", "text": f"Request number {n}."} for n in range(6)]
    talk(type="rows", rows=context)
    receipt, why = may_drop(context[3]["id"])
    if receipt is None:
        print(why, file=sys.stderr)  # H4: a person sees it
        talk(type="kept", kept=[row["id"] for row in context])
        return
    context = context[4:]
    talk(type="done", receipt=receipt, summary="Six requests were made.", kept=[row["id"] for row in context])
    talk(type="resume", source="compacted")


if __name__ == "__main__":
    main()
