"""Network and server errors as storage errors: transient and permanent.

No message holds the token, sent text, or the server's own words, which may quote either.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

from holdfast.errors import ConfigError, Conflict, HoldfastError, Refused, Unavailable
from holdfast_keys import origins
from holdfast_keys.retry_after import seconds

#: Answers that a retry may improve. The request may still have been carried out.
PASSING: Final = frozenset({408, 425, 429, *range(500, 600)})
_MOVED_TO: Final = re.compile(r"/api/v1/repos/([A-Za-z0-9._-]+/[A-Za-z0-9._-]+)")


class Passing(Unavailable):
    """No answer, or an answer that another try may improve. Whether the server carried out the request is unknown.

    ``status`` is the HTTP status, 0 without an answer; ``retry_after_s`` is the wait the server requests, in seconds.
    """

    def __init__(self, message: str, *, next_step: str, status: int = 0, retry_after_s: float | None = None) -> None:
        super().__init__(message, next_step=next_step)
        self.status = status
        self.retry_after_s = retry_after_s


class Closed(Unavailable):
    """The server answered, and will answer the same again until a person changes something. ``status`` is the HTTP
    status, 0 when there was none."""

    def __init__(self, message: str, *, next_step: str, status: int = 0) -> None:
        super().__init__(message, next_step=next_step)
        self.status = status


class Absent(Unavailable):
    """The server answers that the path does not exist. Callers that expect this handle it. For all others it is an
    error, never "empty"."""


class TooLong(Closed):
    """The answer is longer than its limit. ``start`` are its first bytes, ``total`` and ``at`` as in an answer."""

    def __init__(self, most: int, start: bytes, total: int | None, at: datetime | None) -> None:
        super().__init__(
            f"The Gitea server's answer is longer than {most >> 20} MiB.",
            next_step="Shorten or delete the long text on the server.",
        )
        self.start, self.total, self.at = start, total, at


def level(error: Exception) -> int:
    """The level at which to log an edit that failed and can be done without. Invited users may lack the right to it."""
    return logging.INFO if isinstance(error, Closed) else logging.WARNING


_SCOPE_STEP: Final = "Create a token with the scope `write:issue`, then run `holdfast auth set gitea`."
#: The error, its message and its next step for a status. REPOSITORY is replaced by the repository's name.
_BY_STATUS: Final[Mapping[int, tuple[type[HoldfastError], str, str]]] = {
    401: (Closed, "The Gitea server does not know the token.", _SCOPE_STEP),
    404: (
        Absent,
        "The Gitea server has nothing there, or does not show it to this token (REPOSITORY).",
        "Check the server's address, the repository's name and that the token's user may see it.",
    ),
    409: (
        Conflict,
        "Another user changed it on the Gitea server in between.",
        "Read it again and redo the change.",
    ),
    413: (
        Refused,
        "The Gitea server, or a proxy in front of it, refuses content of this size.",
        "Raise the proxy's request limit, or store a shorter text.",
    ),
    423: (
        Closed,
        "The repository REPOSITORY is archived and cannot be written to.",
        "Unarchive it in its settings on the server, or name another in `[storage]`.",
    ),
}


def of_status(
    status: int, headers: Mapping[str, str], message: str, *, repository: str, is_json: bool
) -> HoldfastError:
    """The error for an unsuccessful answer. ``message`` is the server's text, which this examines and never quotes."""
    if status in PASSING or (status == 404 and not is_json):
        return _passing(status, headers, is_json=is_json)
    if 300 <= status < 400:
        return _moved(headers.get("location", ""), repository)
    if status == 403:
        return _forbidden(message.casefold(), repository)
    kind, problem, step = _BY_STATUS.get(
        status,
        (
            Closed,
            f"The Gitea server refused the request (HTTP {status}).",
            "Check its log, and that its version is 1.25 or later.",
        ),
    )
    name = repository or "no repository"
    error = kind(problem.replace("REPOSITORY", name), next_step=step)
    if isinstance(error, Closed):
        error.status = status
    return error


def unreachable(server: str, reason: str) -> Passing:
    """The error for no answer at all; ``reason`` is a phrase like "took too long to answer"."""
    return Passing(
        f"The Gitea server {reason}.",
        next_step=f"Check the address {server} and the network, then try again. Repeating is safe.",
    )


def overdue() -> Passing:
    """The error when a caller's time limit is over."""
    return Passing(
        "The Gitea server does not answer in time: its answers used up the time limit.",
        next_step="Check the server and the network, then try again. Repeating never writes twice.",
    )


def untrusted() -> Closed:
    """The error for a certificate without a trusted signature."""
    return Closed(
        "The Gitea server's certificate is not trusted.",
        next_step="Set SSL_CERT_FILE to the signing authority's file, or give the server a valid certificate.",
    )


def garbled(what: str) -> Passing:
    """The error for an answer that is not what this server says when it works."""
    return Passing(
        f"The answer is not from a Gitea server: {what}.",
        next_step="Check the address, and any proxy or login page in front of the server.",
    )


def _passing(status: int, headers: Mapping[str, str], *, is_json: bool) -> Passing:
    wait = seconds(headers.get("retry-after"))
    who = "The Gitea server" if is_json else "The Gitea server, or a proxy before it,"
    problem, step = f"{who} cannot answer now (HTTP {status}).", "Try again later. Repeating is safe."
    if status == 429:
        problem = "The Gitea server, or a proxy before it, limits the number of requests."
        step = f"Try again{f' in {wait:.0f} s' if wait else ' later'}."
    elif status == 404:
        problem = "That address does not answer as Gitea: the server, or a proxy before it, sends a page (HTTP 404)."
        step = "Set `server` to the whole address, with the path if Gitea is below one: https://HOST/PATH."
    return Passing(problem, next_step=step, status=status, retry_after_s=wait)


def _moved(location: str, repository: str) -> Closed:
    """The error for a redirect, which is never followed. A redirected POST would become a GET, and the token must not
    go elsewhere."""
    found = _MOVED_TO.search(location.partition("?")[0])
    if found and found[1] != repository:
        return Closed(
            f"The repository {repository} was renamed to {found[1]}.",
            next_step=f'Set `repository = "{found[1]}"` in `[storage]`.',
        )
    try:
        place = origins.of(location)
    except ConfigError:
        place = "another address"
    return Closed(
        f"The Gitea server redirects every request to {place}. holdfast does not follow, because the token belongs to "
        "this server alone.",
        next_step="Set `server` to the final address yourself, and a token for it with "
        "`holdfast auth set gitea --origin URL`.",
    )


def _forbidden(said: str, repository: str) -> Closed:
    if "scope" in said:
        return Closed("The token lacks a scope for that.", next_step=_SCOPE_STEP)
    if "locked" in said:
        return Closed(
            f"The issue in {repository} is locked and takes no comments.",
            next_step="Unlock the conversation on the server, or give the token's user write access.",
        )
    return Closed(
        f"The token's user may not do that in {repository or 'this server'}.",
        next_step="Give that user write access to the repository's issues, and check that no one blocked it.",
    )


def date(header: str | None) -> datetime | None:
    """The time in an HTTP date, or None."""
    try:
        at = parsedate_to_datetime(header or "")
    except (ValueError, TypeError):
        return None
    return at.astimezone(UTC) if at.tzinfo else None
