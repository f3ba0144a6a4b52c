"""A small client of the server's API that knows nothing of holdfast."""

import http.client
import json
from collections.abc import Mapping
from email.message import Message
from typing import Any
from urllib.parse import urlsplit

from attrs import frozen


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
