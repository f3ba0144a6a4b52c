"""A server on loopback, a client that keeps the cookie, and one project after weeks of use."""

from __future__ import annotations

import http.client
import re
import threading
from contextlib import contextmanager
from html import unescape
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest
from tests.plugins.conftest import at_home

from holdfast import Holdfast
from holdfast_app.config import Config

pytest.importorskip("jinja2", reason="the extra `web` is not installed")


class Answer(NamedTuple):
    status: int
    headers: http.client.HTTPMessage
    text: str


class Client:
    """One browser's view of a server: ``get`` sends the cookie once :meth:`enter` has exchanged the token."""

    def __init__(self, link):
        parts = urlsplit(link)
        self.port, self.prefix, self.token = parts.port or 0, parts.path, parts.query
        self.cookie = ""

    def enter(self):
        answer = self.raw("GET", f"{self.prefix}?{self.token}")
        assert answer.status == 303
        self.cookie = answer.headers["Set-Cookie"].partition(";")[0]
        return self

    def get(self, path=""):
        return self.raw("GET", self.prefix + path)

    def crawl(self, most):
        """The first ``most`` pages that links lead to, by path, pages of details first every third time."""
        found: dict[str, Answer] = {}
        waiting = [self.prefix]
        while waiting and len(found) < most:
            path = waiting.pop(0)
            if path in found:
                continue
            found[path] = self.raw("GET", path)
            for link in map(unescape, re.findall(r'href="([^"#]+)', found[path].text)):
                link = path.partition("?")[0] + link if link.startswith("?") else link
                if link.startswith(self.prefix) and link not in found:
                    waiting.insert(0 if link.count("/") > 2 and len(found) % 3 else len(waiting), link)
        return found

    def raw(self, method, target, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            given = {"Cookie": self.cookie} if self.cookie else {}
            connection.request(method, target, headers={**given, **headers})
            found = connection.getresponse()
            return Answer(found.status, found.headers, found.read().decode("utf-8"))
        finally:
            connection.close()


@contextmanager
def served(memory, *, idle_s=600.0):
    """A running server for ``memory``, and a client that has not entered yet."""
    from holdfast_web.server import Server

    with Server(memory, 0, idle_s=idle_s) as server:
        thread = threading.Thread(target=server.run)
        thread.start()
        try:
            yield Client(server.site.access.link())
        finally:
            server.shutdown()
            thread.join(10)


@pytest.fixture
def serve(opened):
    """``serve(memory)``: an entered client of a server for the project, by default without plugins."""
    from contextlib import ExitStack

    with ExitStack() as running:
        yield lambda memory=None: running.enter_context(served(memory or opened())).enter()


@pytest.fixture(scope="session")
def lived(two_weeks):
    """The made-up project with all default plugins, served."""
    root, clock = two_weeks
    with pytest.MonkeyPatch.context() as patch:
        at_home(patch, root.parent)
        memory = Holdfast.open(root, config=Config(zone="UTC"), clock=clock)
    with memory, served(memory) as client:
        yield memory, client.enter()


@pytest.fixture
def weeks(lived, two_weeks, monkeypatch):
    """The made-up project, seen by its user."""
    at_home(monkeypatch, two_weeks[0].parent)
    return lived
