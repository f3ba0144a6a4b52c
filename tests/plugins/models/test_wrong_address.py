"""What answers in the provider's place is no model: a web page, a portal, another API. Through the real SDKs."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from holdfast import Holdfast, Message
from holdfast.config.values import PluginConfig
from holdfast_app.config import Config

PAGE = b"<!doctype html><title>Sign in</title><p>Welcome to the hotel.</p>"
SAID = Message(role="user", text="I like tabs", at=datetime(2026, 11, 21, tzinfo=UTC), id="m")


class Other:
    """A server that gives every POST the same answer, and counts them."""

    def __init__(self, body: bytes, kind: str) -> None:
        self.asked = 0
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                pass

            def do_POST(self) -> None:
                owner.asked += 1
                self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def stop(self) -> None:
        self.http.shutdown()
        self.http.server_close()


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[bytes, str], Other]]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    running: list[Other] = []

    def start(body: bytes, kind: str) -> Other:
        running.append(Other(body, kind))
        return running[-1]

    yield start
    for one in running:
        one.stop()


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
@pytest.mark.parametrize(
    ("body", "kind"),
    [
        pytest.param(PAGE, "text/html; charset=utf-8", id="a page"),
        pytest.param(PAGE, "application/json", id="a page that says it is JSON"),
        pytest.param(b"", "application/json", id="nothing"),
        pytest.param(b"\xff\xfe{", "application/json", id="no text"),
        pytest.param(json.dumps({"status": "ok"}).encode(), "application/json", id="another API"),
        pytest.param(b"[]", "application/json", id="a list"),
        pytest.param(b"null", "application/json", id="null"),
        pytest.param(json.dumps({"choices": "x", "content": "x"}).encode(), "application/json", id="wrong types"),
        pytest.param(json.dumps({"choices": [3], "content": [3]}).encode(), "application/json", id="numbers inside"),
        pytest.param(json.dumps({"choices": [{}], "content": [{}]}).encode(), "application/json", id="nothing inside"),
    ],
)
def test_extract__something_else_answers__asked_once_and_told_to_check_base_url(
    project: Path,
    serve: Callable[[bytes, str], Other],
    monkeypatch: pytest.MonkeyPatch,
    provider: str,
    body: bytes,
    kind: str,
    clock: Any,
) -> None:
    pytest.importorskip(provider)
    monkeypatch.setenv(f"HOLDFAST_{provider.upper()}_KEY", "key-123")
    other = serve(body, kind)
    settings = {"model": "small", "base_url": other.url, "max_retries": 3, "timeout_s": 5.0}
    plugins = {provider: PluginConfig(settings=settings), "offline": PluginConfig(enabled=False)}
    with Holdfast.open(project, config=Config(plugins=plugins), clock=clock) as memory:
        result = memory.extract(SAID)
        assert memory.facts.list() == []
    (failure,) = result.failures
    told, step = failure.split("API. ")
    assert told == f"{provider}: The server at the {provider} endpoint does not speak its "
    assert step == "Check `base_url`; a proxy or a sign-in page may answer instead."
    assert (other.asked, result.queued) == (1, 1)
