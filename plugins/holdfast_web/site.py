"""A path to a response: access by the token in the link, the cookie that replaces it, and the Host header; routes,
error pages and response headers.

The page has a random path prefix, and the cookie is limited to it. Cookies ignore ports, so without the prefix a
browser would send ours to every other server on this machine.
"""

import hmac
import logging
import secrets
import threading
from collections.abc import Callable, Sequence
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from importlib import resources
from typing import Final, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

from holdfast.api import Holdfast, HoldfastError, NotFound, Refused
from holdfast_app.view.project import Project
from holdfast_web.pages import Request, documents, overview, sessions, start
from holdfast_web.rendering import Renderer

#: Names that a browser on this machine uses for loopback. Any other Host header means DNS rebinding.
_HOSTS: Final = ("127.0.0.1", "localhost", "[::1]")
_COOKIE: Final = "holdfast"
#: Longest token or cookie header to compare, in characters.
_LONGEST: Final = 4_096


class Access:
    """One server run's secrets. ``prefix`` is the pages' common path, with slashes around it."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._token = secrets.token_urlsafe(32)
        self._once = ""
        self._cookie = secrets.token_urlsafe(32)
        self.prefix = f"/{secrets.token_urlsafe(9)}/"

    def link(self) -> str:
        return f"http://{_HOSTS[0]}:{self._port}{self.prefix}?token={self._token}"

    def link_once(self) -> str:
        """A link that works once, for a browser that this process starts: other users can see its arguments."""
        self._once = secrets.token_urlsafe(32)
        return self.link().replace(self._token, self._once)

    def is_host(self, header: str) -> bool:
        """Whether the Host header names this server on loopback."""
        return header.lower() in {f"{name}:{self._port}" for name in _HOSTS}

    def is_token(self, token: str) -> bool:
        """Whether ``token`` is the printed token, or the browser's, which works once. In constant time."""
        if self._once and _same(token, self._once):
            self._once = ""
            return True
        return _same(token, self._token)

    def set_cookie(self) -> str:
        """The Set-Cookie header that follows the token. It ends with the browser session."""
        return f"{_COOKIE}={self._cookie}; Path={self.prefix}; HttpOnly; SameSite=Strict"

    def is_known(self, header: str) -> bool:
        """Whether the Cookie header has the cookie; compared in constant time."""
        try:
            morsel = SimpleCookie(header).get(_COOKIE)
        except CookieError:
            return False
        return morsel is not None and _same(morsel.value, self._cookie)


def _same(value: str, wanted: str) -> bool:
    return len(value) <= _LONGEST and hmac.compare_digest(value.encode("utf-8", "replace"), wanted.encode("ascii"))


logger = logging.getLogger(__name__)

_FIELDS: Final = 20
_STATIC: Final = "/static/"
_POLICY: Final = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_HEADERS: Final = (
    ("Content-Security-Policy", _POLICY),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cache-Control", "no-store"),
)
_TYPES: Final = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
_HTML: Final = "text/html; charset=utf-8"
_AGAIN: Final = "Open the link that `holdfast web` printed, with everything after the question mark."


class Response(NamedTuple):
    """``headers`` are complete except for the length."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


class Site:
    """Answers requests for one opened project. Safe for threads: pages are made one at a time."""

    def __init__(self, memory: Holdfast, *, port: int) -> None:
        self.access = Access(port)
        self._project = Project(memory)
        self._renderer = Renderer(self._project, self.access.prefix)
        files = resources.files("holdfast_web").joinpath("static").iterdir()
        kinds = ((file, _TYPES.get("." + file.name.rpartition(".")[2])) for file in files)
        self._static = {file.name: (kind, file.read_bytes()) for file, kind in kinds if kind}
        self._lock = threading.Lock()

    def answer(self, target: str, *, host: str, cookie: str) -> Response:
        """The response to ``GET target``. ``host`` is empty unless there is one such header. Never raises."""
        try:
            return self._answer(target, host=host, cookie=cookie)
        except HoldfastError as error:
            masked = self._project.masked(error.message, error.next_step)
            is_missing = isinstance(error, NotFound | Refused)
            status = HTTPStatus.NOT_FOUND if is_missing else HTTPStatus.SERVICE_UNAVAILABLE
            return self.refusal(status, masked, home=self.access.prefix)
        except Exception:  # the browser gets a page, never a traceback
            logger.exception("a page could not be made")
            return self.refusal(HTTPStatus.INTERNAL_SERVER_ERROR, home=self.access.prefix)

    def refusal(self, status: int, explanation: Sequence[str] = (), *, home: str = "") -> Response:
        """An error page. ``explanation`` is the message and the next step, by default those for a request that reaches
        no page. ``home`` is the overview, for a reader with the cookie."""
        unknown = "The request cannot be answered.", "Go back and try again."
        message, step = explanation or _REFUSALS.get(HTTPStatus(status), unknown)
        text = self._renderer.error(HTTPStatus(status), message, step, home=home)
        extra = (("Allow", "GET, HEAD"),) if status == HTTPStatus.METHOD_NOT_ALLOWED else ()
        return _response(status, _HTML, text.encode("utf-8", "replace"), extra)

    def _answer(self, target: str, *, host: str, cookie: str) -> Response:
        if not self.access.is_host(host):
            return self.refusal(HTTPStatus.MISDIRECTED_REQUEST)
        try:
            parts = urlsplit(target)
            fields = parse_qs(parts.query, keep_blank_values=True, max_num_fields=_FIELDS)
        except ValueError:
            return self.refusal(HTTPStatus.BAD_REQUEST)
        query = {name: values[-1] for name, values in fields.items()}
        if parts.path.startswith(_STATIC):
            # Everyone may read the stylesheet and the script. They hold nothing of the project, and an error page must
            # not show the prefix to a reader without the cookie.
            file = self._static.get(parts.path.removeprefix(_STATIC))
            return _response(HTTPStatus.OK, *file) if file else self.refusal(HTTPStatus.NOT_FOUND)
        prefix = self.access.prefix
        if not parts.path.startswith(prefix):
            return self.refusal(HTTPStatus.FORBIDDEN)
        if "token" in query:
            if not self.access.is_token(query["token"]):
                return self.refusal(HTTPStatus.FORBIDDEN)
            extra = (("Location", prefix), ("Set-Cookie", self.access.set_cookie()))
            return _response(HTTPStatus.SEE_OTHER, _HTML, b"", extra)
        if not self.access.is_known(cookie):
            return self.refusal(HTTPStatus.FORBIDDEN)
        name, slash, argument = parts.path.removeprefix(prefix).partition("/")
        view: View | None = (DETAILS if argument else LISTS).get(name)
        if view is None or bool(slash) is not bool(argument):
            return self.refusal(HTTPStatus.NOT_FOUND, home=prefix)
        with self._lock:
            request = Request(argument=unquote(argument), query=query)
            self._renderer.version = self._project.version()
            text = view(self._project, self._renderer, request)
        return _response(HTTPStatus.OK, _HTML, text.encode("utf-8", "replace"))


def _response(status: int, kind: str, body: bytes, extra: tuple[tuple[str, str], ...] = ()) -> Response:
    return Response(status=int(status), headers=(("Content-Type", kind), *_HEADERS, *extra), body=body)


View = Callable[[Project, Renderer, Request], str]
#: The views without an argument, by path, and those that take the path's remainder as argument.
LISTS: Final = {
    "": overview.show,
    "dreams": documents.dreams,
    "facts": documents.facts,
    "departures": documents.departures,
    "memory": documents.memory,
    "notes": documents.notes,
    "outbox": sessions.outbox,
    "search": start.search,
    "sessions": sessions.listed,
    "start": start.show,
    "timeline": overview.timeline,
    "version": lambda project, renderer, request: renderer.version,
    "work": sessions.work,
}
DETAILS: Final = {
    "documents": documents.show,
    "dreams": documents.dream,
    "facts": documents.fact,
    "sessions": sessions.show,
    "why": documents.why,
}


_REFUSALS: Final = {
    HTTPStatus.BAD_REQUEST: ("The address cannot be read.", "Go back and follow a link of the page."),
    HTTPStatus.FORBIDDEN: ("This page needs the link with its token.", _AGAIN),
    HTTPStatus.NOT_FOUND: ("This page does not exist.", "Choose one from the menu."),
    HTTPStatus.METHOD_NOT_ALLOWED: (
        "The page is read-only and answers only GET and HEAD.",
        "Use a command to change memory.",
    ),
    HTTPStatus.MISDIRECTED_REQUEST: ("This server answers only under its address on this machine.", _AGAIN),
    HTTPStatus.REQUEST_URI_TOO_LONG: ("The address is too long.", "Search for fewer words."),
    HTTPStatus.INTERNAL_SERVER_ERROR: (
        "The page could not be made, because of an internal error.",
        "Run `holdfast doctor`; nothing was changed.",
    ),
}
