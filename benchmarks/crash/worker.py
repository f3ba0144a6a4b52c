"""What runs beside a system: `python worker.py SYSTEM`, in that system's own environment.

It imports the system once, then forks for each request, so that a trial costs no import. A request is a line of JSON on
stdin, {"do": "write" or "read", "folder": ..., "first": N, "count": N}; the answer is lines of JSON on the pipe at
descriptor 3. Each fork leads a process group, so that the disk can kill it with its children.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))


def item(number: int) -> str:
    """A text that holds nothing else's words; its first word is its name."""
    return f"item{number:04}x The service number {number} is deployed from branch release-{number} on weekdays."


def serve(name: str, answers: int) -> None:
    system = import_module(f"systems.{name}").Store
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            os.setpgid(0, 0)
            _say(answers, {"group": os.getpid()})
            sys.stdin.readline()  # the runner arms the disk in between
            code = 1
            try:
                _answer(system, request, answers)
                code = 0
            except BaseException as error:
                _say(answers, {"error": f"{type(error).__name__}: {error}"[:300]})
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # a server that the system started beside itself
        _say(answers, {"ended": os.waitstatus_to_exitcode(status)})


def _answer(system: type, request: dict[str, object], answers: int) -> None:
    folder, first, count = str(request["folder"]), int(str(request["first"])), int(str(request["count"]))
    os.environ["HOME"] = folder  # what a system keeps in the user's folder is on the disk, too
    store = system(folder)
    if request["do"] == "read":
        _say(answers, {"texts": list(store.read())})
        return
    for number in range(first, first + count):
        try:
            store.write(item(number))
        except Exception as error:
            _say(answers, {"refused": number, "why": f"{type(error).__name__}: {error}"[:300]})
        else:
            _say(answers, {"saved": number})


def _say(answers: int, row: dict[str, object]) -> None:
    os.write(answers, (json.dumps(row) + "\n").encode())


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
