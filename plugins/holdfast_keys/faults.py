"""Network and server errors as storage errors: transient and permanent, for every server that gets a key.

No message holds the token, sent text, or the server's own words, which may quote either.
"""

import re
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from math import inf
from typing import Final, NamedTuple, TypeVar

from holdfast.errors import ConfigError, Conflict, HoldfastError, ModelFailed, Refused, Unavailable
from holdfast.storage import time_left
from holdfast_keys import origins, secrets

T = TypeVar("T")

#: Answers that a retry may improve. The request may still have been carried out.
PASSING: Final = frozenset({408, 425, 429, *range(500, 600)})
#: The pause before the second try, and the longest one.
FIRST_PAUSE_S: Final = 0.5
_LONGEST_PAUSE_S: Final = 20.0
#: A longer answer is read only up to here.
MAX_ANSWER_BYTES: Final = 16 << 20


class _Failed(Unavailable):
    """``status`` is the HTTP status, 0 without an answer; ``retry_after_s`` is the wait the server requests, in
    seconds."""

    def __init__(self, message: str, *, next_step: str, status: int = 0, retry_after_s: float | None = None) -> None:
        super().__init__(message, next_step=next_step)
        self.status = status
        self.retry_after_s = retry_after_s


class Passing(_Failed):
    """No answer, or an answer that another try may improve. Whether the server carried out the request is unknown."""


class TimedOut(Passing):
    """No answer in time."""


class Closed(_Failed):
    """The server answered, and will answer the same again until a person changes something."""


class Absent(Unavailable):
    """The server answers that the path does not exist. Callers that expect this handle it. For all others it is an
    error, never "empty"."""


class TooLong(Closed):
    """The answer is longer than its limit. ``start`` are its first bytes, ``total`` and ``at`` as in an answer."""

    def __init__(self, title: str, most: int, start: bytes, total: int | None, at: datetime | None) -> None:
        super().__init__(
            f"The {title} server's answer is longer than {most >> 20} MiB.",
            next_step="Shorten or delete the long text on the server.",
        )
        self.start, self.total, self.at = start, total, at


class Service(NamedTuple):
    """A kind of server: its names, its address, and the next steps of its errors."""

    #: Its display name, and the name of its keys.
    title: str
    key: str
    #: Path of its interface below the address, and the word before the token.
    path: str = ""
    scheme: str = "Bearer"
    #: The settings table that names the server.
    table: str = "storage"
    #: The token's scopes, and the next step for a refused request. The extra to install.
    scopes: str = "the required scope"
    refused_step: str = "Check its log, and its version."
    extra: str = "forges"

    def unreachable(self, server: str, broke: str = "") -> Passing:
        """The error for a missing or incomplete answer. ``broke`` names the error behind it; empty means a timeout."""
        step = f"Check the address {server} and the network, then try again. Repeating is safe."
        if not broke:
            return TimedOut(f"The {self.title} server does not answer, or took too long.", next_step=step)
        problem = f"The {self.title} server cannot be reached, or broke off its answer ({broke})."
        return Passing(problem, next_step=step)

    def garbled(self, what: str) -> Passing:
        """The error for an answer that is not what this server says when it works."""
        step = "Check the address, and any proxy or login page in front of the server."
        return Passing(f"The answer is not from a {self.title} server: {what}.", next_step=step)

    def refused(
        self, status: int, headers: Mapping[str, str], message: str, *, repository: str, is_json: bool
    ) -> HoldfastError:
        """The error for an unsuccessful answer. ``message``, the server's text, is examined, never quoted."""
        wait = seconds(headers.get("retry-after"))
        if status in (403, 429) and headers.get("x-ratelimit-remaining") == "0":
            wait = until(headers.get("x-ratelimit-reset")) if wait is None else wait
            status = 429
        if status in PASSING or (status == 404 and not is_json) or (status == 403 and wait is not None):
            return self._passing(429 if status == 403 else status, wait, is_json=is_json)
        if 300 <= status < 400:
            return self._moved(headers.get("location", ""), repository)
        if status == 403:
            return self._forbidden(message.casefold(), repository, headers.get("x-accepted-github-permissions", ""))
        name, title = repository or "no repository", self.title
        if status == 401:
            return Closed(f"The {title} server does not know the token.", next_step=self._token_step(), status=401)
        if status in (404, 410):
            problem = f"The {title} server has nothing there, or does not show it to this token ({name})."
            step = "Check the server's address, the repository's name and that the token's user may see it."
            return Absent(problem, next_step=step)
        if status == 409:
            problem = f"Another user changed it on the {title} server in between."
            return Conflict(problem, next_step="Read it again and redo the change.")
        if status == 413:
            problem = f"The {title} server, or a proxy in front of it, refuses content of this size."
            return Refused(problem, next_step="Raise the proxy's request limit, or store a shorter text.")
        problem, step = f"The {title} server refused the request (HTTP {status}).", self.refused_step
        if status == 423:
            problem = f"The repository {name} is archived and cannot be written to."
            step = f"Unarchive it in its settings on the server, or name another in `[{self.table}]`."
        return Closed(problem, next_step=step, status=status)

    def _token_step(self) -> str:
        return f"Create a token with {self.scopes}, and set {secrets.places(self.key)}."

    def _passing(self, status: int, wait: float | None, *, is_json: bool) -> Passing:
        title = self.title
        who = f"The {title} server" if is_json else f"The {title} server, or a proxy before it,"
        problem, step = f"{who} cannot answer now (HTTP {status}).", "Try again later. Repeating is safe."
        if status == 429:
            problem = f"The {title} server, or a proxy before it, limits the number of requests."
            step = f"Try again{f' in {wait:.0f} s' if wait else ' later'}."
        elif status == 404:
            problem = (
                f"That address does not answer as {title}: the server, or a proxy before it, sends a page (HTTP 404)."
            )
            step = f"Set `server` to the whole address, with the path if {title} is below one: https://HOST/PATH."
        return Passing(problem, next_step=step, status=status, retry_after_s=wait)

    def _moved(self, location: str, repository: str) -> Closed:
        """The error for a redirect, which is never followed. A redirected POST would become a GET, and the token must
        not go elsewhere."""
        place, below = location.partition("?")[0], re.escape(self.path)
        match = re.search(below + r"/repos/([A-Za-z0-9._-]+/[A-Za-z0-9._-]+)", place)
        if match and match[1] != repository:
            step = f'Set `repository = "{match[1]}"` in `[{self.table}]`.'
            return Closed(f"The repository {repository} was renamed to {match[1]}.", next_step=step)
        if repository and re.search(below + r"/repositories/[0-9]+", place):
            step = f"Look up its new name on the server, and set it in `[{self.table}]`."
            return Closed(f"The repository {repository} was renamed or moved.", next_step=step)
        try:
            place = origins.of(location)
        except ConfigError:
            place = "another address"
        return Closed(
            f"The {self.title} server redirects every request to {place}. holdfast does not follow, because the token "
            "belongs to this server alone.",
            next_step="Set `server` to the final address yourself, and a token for it with "
            f"`holdfast auth set {self.key} --origin URL`.",
        )

    def _forbidden(self, message: str, repository: str, wanted: str) -> Closed:
        problem = f"The token's user may not do that in {repository or 'this server'}."
        step = "Give that user write access to the repository's issues, and check that no one blocked it."
        if "scope" in message or "not accessible by" in message:
            named = f" ({wanted})" if re.fullmatch(r"[a-z_=,; ]{1,100}", wanted) else ""
            problem, step = f"The token lacks a scope for that{named}.", self._token_step()
        elif "locked" in message:
            problem = f"The issue in {repository} is locked and takes no comments."
            step = "Unlock the conversation on the server, or give the token's user write access."
        return Closed(problem, next_step=step, status=403)


def patiently(attempt: Callable[[], T], *, patience_s: float = inf, tries: float = inf) -> T:
    """Call ``attempt`` until it raises no error that may pass, with growing, jittered pauses or those the server
    requests.

    Raises: the last error, after ``tries`` calls, or when the next pause would end after ``patience_s`` or the
    caller's deadline.
    """
    import random

    end, longest = time.monotonic() + min(patience_s, time_left()), FIRST_PAUSE_S
    while True:
        try:
            return attempt()
        except (Passing, ModelFailed) as error:
            pause, tries = error.retry_after_s, tries - 1
            if pause is None:
                pause = longest * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, guards nothing
            is_final = isinstance(error, ModelFailed) and not error.retryable
            if is_final or tries <= 0 or time.monotonic() + pause >= end:
                raise
            time.sleep(pause)
            longest = min(longest * 2, _LONGEST_PAUSE_S)


def within(limit_s: float, call: Callable[[], T]) -> T:
    """The result of ``call``, abandoned after ``limit_s`` seconds. Raises: TimeoutError; what ``call`` raises."""
    from concurrent.futures import Future

    done = Future[T]()

    def run() -> None:
        try:
            done.set_result(call())
        except BaseException as error:  # noqa: BLE001 - raised in the caller's thread
            done.set_exception(error)

    try:
        threading.Thread(target=run, daemon=True).start()
    except RuntimeError:  # the interpreter is shutting down and starts no thread, so the call has no limit
        run()
    return done.result(limit_s)


def seconds(retry_after: str | None) -> float | None:
    """A Retry-After header's value (seconds, or a date) in seconds; None when it is missing or invalid."""
    if not retry_after:
        return None
    try:
        return max(0.0, float(retry_after))
    except ValueError:
        at = date(retry_after)
    return max(0.0, (at - datetime.now(UTC)).total_seconds()) if at else None


def until(epoch: str | None) -> float | None:
    """The seconds until a time in seconds since 1970; None when it is missing or invalid."""
    return max(0.0, int(epoch) - time.time()) if epoch and epoch.isascii() and epoch.isdigit() else None


def stamp(moment: datetime) -> str:
    """``moment`` in whole seconds, as forges take it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def date(header: str | None) -> datetime | None:
    """The time in an HTTP date, or None."""
    from email.utils import parsedate_to_datetime

    try:
        at = parsedate_to_datetime(header or "")
    except (ValueError, TypeError):
        return None
    return at.astimezone(UTC) if at.tzinfo else None
