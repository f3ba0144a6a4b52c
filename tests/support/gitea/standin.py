"""The stand-in Gitea of :mod:`holdfast_gitea.standin`, for tests, with a small client that knows nothing of holdfast.

As a process: ``python -m tests.support.gitea.standin --port 0`` prints its address and a token.
"""

from __future__ import annotations

import http.client
import json
import sys
from collections.abc import Mapping
from email.message import Message
from typing import Any
from urllib.parse import urlsplit

from attrs import frozen

from holdfast_gitea.standin import Flavour, Seen, StandIn
from holdfast_gitea.standin.__main__ import main

__all__ = ["Flavour", "Reply", "Seen", "StandIn", "call", "main"]


@frozen(kw_only=True)
class Reply:
    """An answer as it came over the wire."""

    status: int
    headers: Message
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


def call(
    url: str,
    method: str,
    path: str,
    body: object = None,
    *,
    token: str | None = None,
    headers: Mapping[str, str] | None = None,
    timeout_s: float = 10.0,
) -> Reply:
    """One request to ``url`` + ``/api/v1`` + ``path``, and nothing besides: no redirect, no retry, no reuse."""
    split = urlsplit(url)
    assert split.hostname
    connection = http.client.HTTPConnection(split.hostname, split.port, timeout=timeout_s)
    sent = {"Accept": "application/json", **({"Authorization": f"token {token}"} if token else {}), **(headers or {})}
    data = None
    if body is not None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        sent.setdefault("Content-Type", "application/json")
    try:
        connection.request(method, f"{split.path}/api/v1{path}", body=data, headers=sent)
        answer = connection.getresponse()
        return Reply(status=answer.status, headers=answer.headers, text=answer.read().decode())
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(main())
