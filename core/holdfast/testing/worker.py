"""A process that runs store calls from a script: ``python -m holdfast.testing.worker FACTORY FOLDER``.

Reads a script, one JSON list of calls, from the first line of its input; says ``ready``; waits for a second line; then
makes the calls, printing one JSON line for each as soon as it has returned: ``{"ok": ...}`` or
``{"error": "Conflict"}``. A printed ``ok`` is an acknowledgement: even if the process dies, the result must be in
the store.
"""

from __future__ import annotations

import json
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

from holdfast.errors import StorageError
from holdfast.models import Fact
from holdfast.storage import StorageBackend


def call(store: StorageBackend, wanted: dict[str, Any]) -> Any:
    """Make one call from a script and return its result, as far as JSON can hold it."""
    arguments = dict(wanted)
    method = arguments.pop("call")
    if method == "add_fact":
        made = {**arguments["fact"], "created_at": datetime.fromisoformat(arguments["fact"]["created_at"])}
        result = store.add_fact(Fact(**made), arguments["limit"])
        return {"outcome": str(result.outcome), "evicted": list(result.evicted), "duplicate_of": result.duplicate_of}
    if method == "watch":  # read until told to stop by the document itself
        return _watch(store, **arguments)
    return getattr(store, method)(**arguments)


def _watch(store: StorageBackend, name: str, until: str) -> list[str]:
    seen: list[str] = []
    while not (seen and until in seen[-1]):
        document = store.read(name)
        if document and document.text not in seen[-1:]:
            seen.append(document.text)
    return seen


def main(factory: str, root: str) -> None:
    """Run the script on standard input."""
    import importlib

    sys.stdin.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    module, _, name = factory.partition(":")
    store: StorageBackend = getattr(importlib.import_module(module), name)(Path(root))
    script = json.loads(sys.stdin.readline())
    _say("ready")
    sys.stdin.readline()
    for wanted in script:
        try:
            answer = {"ok": call(store, wanted)}
        except StorageError as error:
            answer = {"error": type(error).__name__, "message": str(error)}
        _say(json.dumps(answer))
    store.close()


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
