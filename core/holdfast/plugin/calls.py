"""One call of a plugin's code: with a time limit, and with any exception attributed to the plugin."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from holdfast.errors import HoldfastError
from holdfast.plugin import ToStderr
from holdfast.validation import CHUNK_CHARS, Chunks

#: Time limit for one implementation, in seconds, unless ``[plugins.NAME] deadline_s`` sets another.
DEADLINES_S: Mapping[str, float] = {"on_validate": 10.0, "on_extract": 60.0, "on_flush": 60.0, "on_dream": 600.0}
#: Time limit in seconds for ``on_extract`` of a plugin with EXTRACTS_AT_ONCE, because a flush waits for it with its
#: lock held.
AT_ONCE_S = 5.0
#: Maximum number of steps in which a validator searches one text. Each has its own time limit.
_MAX_STEPS = 100_000
_ENDED = object()
#: Limit for a plugin's own message about a failure. Longer ones quote data, and masking them would outlast deadlines.
_DETAIL_CHARS = 2_000


class Caller(NamedTuple):
    """A plugin that is called. ``inline`` is true for one with EXTRACTS_AT_ONCE."""

    plugin: str
    distribution: str
    deadline_s: float | None = None
    inline: bool = False

    def limit_s(self, hook: str) -> float | None:
        """Time limit for one call of a hook, in seconds."""
        if self.deadline_s is not None:
            return self.deadline_s
        return AT_ONCE_S if self.inline and hook == "on_extract" else DEADLINES_S.get(hook)


class CallFailed(Exception):
    """A plugin's code failed. ``reason`` is in core's words; ``cause`` may quote unredacted text."""

    def __init__(self, caller: Caller, hook: str, reason: str, cause: BaseException | None = None) -> None:
        self.caller, self.hook, self.reason, self.cause = caller, hook, reason, cause

    @property
    def detail(self) -> str:
        """The plugin's own message."""
        return "" if self.cause is None else words(self.cause)

    @property
    def place(self) -> str:
        """The innermost failing line in the implementation's folder, for the plugin's author."""
        from traceback import walk_tb

        if self.cause is None or isinstance(self.cause, HoldfastError):
            return ""
        lines = [(frame.f_code.co_filename, line) for frame, line in walk_tb(self.cause.__traceback__)]
        lines = [(path, line) for path, line in lines if path != __file__]
        own = [(path, line) for path, line in lines if os.path.dirname(path) == os.path.dirname(lines[0][0])]
        if not own:
            return ""
        path, line = own[-1]
        return f"{os.path.basename(os.path.dirname(path))}/{os.path.basename(path)}:{line}"


def call(caller: Caller, hook: str, job: Callable[[], Any], limit_s: float | None) -> Any:
    """The result of ``job``. Without a limit it runs in this thread. Raises: CallFailed."""
    if os.environ.get("HOLDFAST_TRACE") == "hooks":
        from holdfast.plugin.trace import traced

        return traced(partial(_call, caller, hook, job, limit_s), caller.plugin, caller.distribution, hook)
    return _call(caller, hook, job, limit_s)


def _call(caller: Caller, hook: str, job: Callable[[], Any], limit_s: float | None) -> Any:
    with ToStderr():
        try:
            return job() if limit_s is None else _in_thread(job, limit_s)
        except CallFailed:  # of another plugin, within a wrapper
            raise
        except _LateError as late:
            raise CallFailed(caller, hook, f"it took longer than {limit_s:g} s", TimeoutError()) from late
        except BaseException as error:
            reason = "" if isinstance(error, HoldfastError) else type(error).__name__
            raise CallFailed(caller, hook, reason, error) from error


class _LateError(Exception):
    """A call is past its time limit."""


def _in_thread(job: Callable[[], Any], limit_s: float) -> Any:
    """Run ``job`` in its own thread. A late one cannot be stopped, only abandoned, so its result is ignored."""
    results: list[Any] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            results.append(job())
        except BaseException as error:  # noqa: BLE001 - raised in the caller's thread
            errors.append(error)

    thread = threading.Thread(target=work, name="holdfast-hooks", daemon=True)
    try:
        thread.start()
    except RuntimeError:  # the interpreter is shutting down and starts no thread, so this call has no limit
        return job()
    thread.join(limit_s)
    if errors:
        raise errors[0]
    if not results:
        raise _LateError
    return results[0]


def implementation(caller: Caller, hook: str, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """The checked result of one implementation. Raises: CallFailed."""
    limit_s = caller.limit_s(hook)
    if hook != "on_validate" or limit_s is None:
        return checked(caller, hook, call(caller, hook, partial(function, *args), limit_s))
    chars = max((len(one.text) for one in args), default=0)  # its only argument is the request
    found = call(caller, hook, partial(function, *args), limit_s * (1 + max(chars - 1, 0) // CHUNK_CHARS))
    if isinstance(found, Chunks):
        return _in_chunks(caller, hook, found, limit_s)
    return checked(caller, hook, found)


def _in_chunks(caller: Caller, hook: str, chunks: Chunks, limit_s: float) -> list[Any]:
    found: list[Any] = []
    for _ in range(_MAX_STEPS):
        step = call(caller, hook, partial(next, chunks.steps, _ENDED), limit_s)
        if step is _ENDED:
            return found
        found += checked(caller, hook, step)
    raise CallFailed(caller, hook, "its chunks do not end")


def checked(caller: Caller, hook: str, value: Any) -> Any:
    """``value`` if it is a result of that hook. Raises: CallFailed."""
    if not _fits(hook, value):
        items = value if isinstance(value, list | tuple) else ()
        kinds = " and ".join(sorted({type(one).__name__ for one in items}))
        returned = type(value).__name__ + (f" of {kinds}" if kinds else "")
        raise CallFailed(caller, hook, f"it returned {returned}, which is the wrong type for this hook")
    return value


def _fits(hook: str, value: Any) -> bool:
    if hook == "on_validate" and not value:
        return isinstance(value, list | tuple)  # the models below are costly to import
    if value is None:
        return hook in ("storage_backend", "on_flush", "on_dream")  # nothing to publish, or it passes
    if hook == "judge":
        return isinstance(value, str)
    if hook == "storage_backend":
        from holdfast.storage import StorageBackend

        return isinstance(value, StorageBackend)
    from holdfast import models

    if hook == "on_validate":
        return isinstance(value, list | tuple) and all(isinstance(one, models.Finding) for one in value)
    if hook == "on_flush":
        several = value if isinstance(value, list | tuple) else [value]
        return all(isinstance(one, models.Evidence) for one in several)
    return isinstance(value, models.Extraction if hook == "on_extract" else models.DreamDraft)


def words(said: object) -> str:
    """A plugin's own message as text, cut after a whole word, so that no part of a secret stays without the rest.
    Empty if it cannot be converted, because an exception's ``__str__`` is the plugin's code, too."""
    try:
        text = said.message if isinstance(said, HoldfastError) else str(said)
    except BaseException:  # noqa: BLE001 - anything may be raised by a plugin
        return ""
    if len(text) <= _DETAIL_CHARS:
        return text
    return text[:_DETAIL_CHARS].rpartition(" ")[0] + " ..."
