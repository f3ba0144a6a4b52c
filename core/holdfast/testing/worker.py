"""Processes that each open the store and make the calls of a script, all starting at the same moment.

Each answer is sent as soon as its call has returned: ``{"ok": ...}`` or ``{"error": "Conflict"}``. An ``ok`` is an
acknowledgement: even if the process dies, the result must be in the store.
"""

import importlib
import multiprocessing
import time
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from holdfast.errors import StorageError
from holdfast.storage import StorageBackend

#: Calls, each a mapping with the method's name as ``call``, and its arguments.
Script = Sequence[dict[str, Any]]


def open_store(factory: str, root: Path) -> StorageBackend:
    """Call the factory ``"package.module:callable"`` with the project folder."""
    module, _, name = factory.partition(":")
    store = getattr(importlib.import_module(module), name)(root)
    assert isinstance(store, StorageBackend), f"{factory} returned {store!r}, not a StorageBackend"
    return store


class Workers:
    """One process for each script. They wait for :meth:`go`."""

    def __init__(self, factory: str, root: Path, scripts: Sequence[Script]) -> None:
        context = multiprocessing.get_context("spawn")
        pipes = [context.Pipe() for _ in scripts]
        self._answers = [ours for ours, _ in pipes]
        self.processes = [
            context.Process(target=_work, args=(factory, root, script, theirs), daemon=True)
            for script, (_, theirs) in zip(scripts, pipes, strict=True)
        ]
        for process in self.processes:
            process.start()
        for ours, theirs in pipes:
            theirs.close()
            assert ours.recv() == "ready"

    def go(self) -> None:
        """Let them run."""
        for connection in self._answers:
            connection.send("go")

    def finish(self) -> list[list[dict[str, Any]]]:
        """Wait, and return for each worker the answers that it got, in order."""
        answers: list[list[dict[str, Any]]] = []
        for process, connection in zip(self.processes, self._answers, strict=True):
            answers.append([])
            with connection, suppress(EOFError, OSError):  # it ended, or was killed
                while True:
                    answers[-1].append(connection.recv())
            process.join()
        return answers


def run(factory: str, root: Path, scripts: Sequence[Script]) -> list[list[dict[str, Any]]]:
    """Run the scripts at the same time, one process each; returns their answers."""
    workers = Workers(factory, root, scripts)
    workers.go()
    return workers.finish()


def _work(factory: str, root: Path, script: Script, answers: Connection) -> None:
    store = open_store(factory, root)
    answers.send("ready")
    answers.recv()
    for wanted in script:
        arguments = dict(wanted)
        method = arguments.pop("call")
        try:
            answer = _watch(store, **arguments) if method == "watch" else getattr(store, method)(**arguments)
            answers.send({"ok": answer})
        except StorageError as error:
            answers.send({"error": type(error).__name__, "message": str(error)})
    store.close()


def _watch(store: StorageBackend, name: str, until: str) -> list[str]:
    """Each text of the document that is seen, up to the one with ``until``, or for half a minute."""
    seen: list[str] = []
    deadline = time.monotonic() + 30
    while not (seen and until in seen[-1]) and time.monotonic() < deadline:
        document = store.read(name)
        if document and document.text not in seen[-1:]:
            seen.append(document.text)
    return seen
