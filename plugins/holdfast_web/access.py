"""Access to the page, by the token in the link, the cookie that replaces it, and the Host header.

The page has a random path prefix, and the cookie is limited to it. Cookies ignore ports, so without the prefix a
browser would send ours to every other server on this machine.
"""

from __future__ import annotations

import hmac
import secrets
from http.cookies import CookieError, SimpleCookie
from typing import Final

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

    def link(self, host: str) -> str:
        """The address to open, with the token. ``host`` is the bound address."""
        return f"http://{_bracketed(host)}:{self._port}{self.prefix}?token={self._token}"

    def link_once(self, host: str) -> str:
        """A link that works once, for a browser that this process starts: other users can see its arguments."""
        self._once = secrets.token_urlsafe(32)
        return f"http://{_bracketed(host)}:{self._port}{self.prefix}?token={self._once}"

    def is_host(self, header: str | None) -> bool:
        """Whether the Host header names this server on loopback."""
        return header is not None and header.lower() in {f"{name}:{self._port}" for name in _HOSTS}

    def is_token(self, given: str) -> bool:
        """Whether ``given`` is the printed token, or the started browser's token, which works once. Compared
        in constant time."""
        if self._once and _same(given, self._once):
            self._once = ""
            return True
        return _same(given, self._token)

    def set_cookie(self) -> str:
        """The Set-Cookie header that follows the token. It ends with the browser session."""
        return f"{_COOKIE}={self._cookie}; Path={self.prefix}; HttpOnly; SameSite=Strict"

    def is_known(self, header: str | None) -> bool:
        """Whether the Cookie header has the cookie; compared in constant time."""
        if not header or len(header) > _LONGEST:
            return False
        try:
            morsel = SimpleCookie(header).get(_COOKIE)
        except CookieError:
            return False
        return morsel is not None and _same(morsel.value, self._cookie)


def _same(given: str, wanted: str) -> bool:
    return len(given) <= _LONGEST and hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode("ascii"))


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
