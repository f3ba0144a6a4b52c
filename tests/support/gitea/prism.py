"""Prism, a validating proxy that nobody here wrote, between a client and a server. It is used where it is installed.

It is the npm package ``@stoplight/prism-cli``; the tests look for ``prism`` on the path, or where HOLDFAST_PRISM says.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Any, Self

from attrs import define, field
from tests.support.gitea.faults import Answered, FaultProxy
from tests.support.gitea.strict import REDUCED, strict

#: Read at import: the environment of a test has no HOLDFAST_ variables.
COMMAND = os.environ.get("HOLDFAST_PRISM") or shutil.which("prism")
WHY_NOT = "prism is not installed: neither HOLDFAST_PRISM nor the path has it"
#: The one complaint about answers that are true and not described.
UNDESCRIBED = "Unable to match the returned status code with those defined in the document"
START_S = 60


@define
class Prism:
    """A client's ``url`` -> recorder -> prism with the strict description -> ``server``. A context manager.

    With ``--errors`` prism answers an error of its own where a request or an answer breaks the description.
    """

    server: str
    folder: Path
    _process: subprocess.Popen[bytes] | None = None
    _recorder: FaultProxy | None = field(default=None, init=False)

    @property
    def url(self) -> str:
        assert self._recorder
        return self._recorder.url

    def __enter__(self) -> Self:
        assert COMMAND, WHY_NOT
        described = self.folder / "strict.json"
        described.write_text(json.dumps(strict(json.loads(REDUCED.read_text(encoding="utf-8")))), encoding="utf-8")
        port = _free_port()
        command = [
            COMMAND,
            "proxy",
            str(described),
            self.server,
            "--errors",
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
        ]
        with (self.folder / "prism.log").open("wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        self._wait_for(port)
        self._recorder = FaultProxy(f"http://127.0.0.1:{port}").__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        if self._recorder:
            self._recorder.__exit__()
        if self._process:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    @property
    def violations(self) -> list[tuple[str, int, str]]:
        """What was complained of so far: what was asked, the status, the complaint."""
        assert self._recorder
        return [(each.asked, each.status, text) for each in self._recorder.answers for text in _complaints(each)]

    @property
    def wrong(self) -> list[tuple[str, int, str]]:
        """The complaints but for statuses that are not described."""
        return [each for each in self.violations if UNDESCRIBED not in each[2]]

    @property
    def undescribed(self) -> set[int]:
        """Statuses that were answered and are not described."""
        return {status for _, status, text in self.violations if UNDESCRIBED in text}

    @property
    def count(self) -> int:
        """How many answers were looked at."""
        assert self._recorder
        return len(self._recorder.answers)

    def _wait_for(self, port: int) -> None:
        assert self._process
        end = time.monotonic() + START_S
        while time.monotonic() < end and self._process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.1)
        self.__exit__()
        raise AssertionError((self.folder / "prism.log").read_text(errors="replace"))


def _complaints(answer: Answered) -> list[str]:
    header = answer.header("sl-violations")
    found: list[Any] = json.loads(header) if header else []
    if "problem+json" in answer.header("Content-Type"):
        found += [json.loads(answer.body)]
    return [json.dumps(each) for each in found]


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
