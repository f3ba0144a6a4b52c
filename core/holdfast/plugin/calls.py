"""One call of a plugin's code: with a time limit, and with any exception attributed to the plugin."""

import inspect
import os
import sys
import threading
import time
from collections.abc import Callable, Collection, Generator, Mapping
from functools import partial, wraps
from typing import Any, NamedTuple

from holdfast import hooks
from holdfast.errors import HoldfastError, PluginLoadFailed
from holdfast.plugin import ToStderr
from holdfast.validation import CHUNK_CHARS, Chunks

#: Time limit for one implementation, in seconds, unless ``[plugins.NAME] deadline_s`` sets another.
DEADLINES_S: Mapping[str, float] = {"on_validate": 10.0, "on_extract": 60.0, "on_flush": 60.0, "on_dream": 600.0}
#: Time limit in seconds for ``on_extract`` of a plugin with EXTRACTS_AT_ONCE, because a flush waits for it with its
#: lock held.
AT_ONCE_S = 5.0
#: Maximum number of steps in which a validator searches a string. Each has its own time limit.
_MAX_STEPS = 100_000
_ENDED = object()
#: Limit for a plugin's own message about a failure. Longer ones quote data, and masking them would outlast deadlines.
_DETAIL_CHARS = 2_000


class Caller(NamedTuple):
    """A called plugin. ``inline`` is true for a plugin with EXTRACTS_AT_ONCE."""

    plugin: str
    distribution: str
    deadline_s: float | None = None
    inline: bool = False

    def limit_s(self, hook: str) -> float | None:
        if self.deadline_s is not None:
            return self.deadline_s
        return AT_ONCE_S if self.inline and hook == "on_extract" else DEADLINES_S.get(hook)


class CallFailed(Exception):
    """A plugin's code failed. ``reason`` is in core's words; ``cause`` may quote unredacted text."""

    def __init__(self, caller: Caller, hook: str, reason: str, cause: BaseException | None = None) -> None:
        self.caller, self.hook, self.reason, self.cause = caller, hook, reason, cause

    @property
    def detail(self) -> str:
        return "" if self.cause is None else words(self.cause)

    @property
    def place(self) -> str:
        """The innermost failing line in the implementation's folder, for the plugin's author."""
        from traceback import extract_tb

        if self.cause is None or isinstance(self.cause, HoldfastError):
            return ""
        frames = [frame for frame in extract_tb(self.cause.__traceback__) if frame.filename != __file__]
        own = [frame for frame in frames if os.path.dirname(frame.filename) == os.path.dirname(frames[0].filename)]
        return "/".join(own[-1].filename.split(os.sep)[-2:]) + f":{own[-1].lineno}" if own else ""


class _Call(threading.Thread):
    """One call in a thread of its own, because a late call cannot be stopped, only abandoned."""

    is_late = False
    result: Any = None
    error: BaseException | None = None

    def __init__(self, job: Callable[[], Any]) -> None:
        super().__init__(name="holdfast-hooks", daemon=True)
        self._job = job

    def run(self) -> None:
        try:
            self.result = self._job()
        except BaseException as error:  # noqa: BLE001 - raised in the caller's thread
            self.error = error

    def wait(self, limit_s: float | None) -> None:
        """Run, for ``limit_s`` seconds at most; without a limit in the caller's thread."""
        if limit_s is None:
            self.run()
            return
        try:
            self.start()
        except RuntimeError:  # the interpreter is shutting down and starts no thread, so the call has no limit
            self.run()
        else:
            self.join(min(limit_s, threading.TIMEOUT_MAX))
            self.is_late = self.is_alive()


def call(caller: Caller, hook: str, job: Callable[[], Any], limit_s: float | None) -> Any:
    """The result of ``job``. Without a limit it runs in this thread. Raises: CallFailed.

    With ``HOLDFAST_TRACE=hooks`` a line on stderr shows the outcome and the time. It never contains memory text, or an
    exception's message, which may quote it.
    """
    if getattr(threading.current_thread(), "is_late", False):  # of a wrapper's call, whose result nobody awaits
        raise CallFailed(caller, hook, "an earlier call is late")
    began, task = time.perf_counter(), _Call(job)
    with ToStderr():
        task.wait(limit_s)
    error = TimeoutError() if task.is_late else task.error
    results = f"{len(task.result)} results" if isinstance(task.result, list | tuple) else type(task.result).__name__
    outcome = f"failed ({type(error).__name__})" if error else "nothing" if task.result is None else results
    _trace(caller, hook, outcome, time.perf_counter() - began)
    if error is None:
        return task.result
    if isinstance(error, CallFailed):  # of another plugin, within a wrapper
        raise error
    reason = "" if isinstance(error, HoldfastError) else type(error).__name__
    raise CallFailed(caller, hook, f"it took longer than {limit_s:g} s" if task.is_late else reason, error) from error


def _trace(caller: Caller, hook: str, outcome: str, spent_s: float) -> None:
    if os.environ.get("HOLDFAST_TRACE") == "hooks" and sys.stderr is not None:
        who = f"{caller.plugin} ({caller.distribution})"
        sys.stderr.write(f"holdfast: hook {hook} of {who}: {outcome}, {spent_s * 1000:.1f} ms\n")


def _in_chunks(caller: Caller, hook: str, chunks: Chunks, limit_s: float) -> list[Any]:
    results: list[Any] = []
    for _ in range(_MAX_STEPS):
        step = call(caller, hook, partial(next, chunks.steps, _ENDED), limit_s)
        if step is _ENDED:
            return results
        results += checked(caller, hook, step)
    raise CallFailed(caller, hook, "its chunks do not end")


def checked(caller: Caller, hook: str, value: Any) -> Any:
    """``value`` if it is a result of that hook. Raises: CallFailed."""
    if not _fits(hook, value):
        items = value if isinstance(value, list | tuple) else ()
        kinds = " and ".join(sorted({type(result).__name__ for result in items}))
        returned = type(value).__name__ + (f" of {kinds}" if kinds else "")
        raise CallFailed(caller, hook, f"it returned {returned}, and this hook returns {_returned(hook)}")
    return value


def _returned(hook: str) -> str:
    return str(inspect.signature(getattr(hooks, hook)).return_annotation)


def _fits(hook: str, value: Any) -> bool:
    if hook == "on_validate" and not value:
        return isinstance(value, list | tuple)  # the models below are costly to import
    if value is None:
        return hook in ("storage_backend", "on_flush", "on_dream")  # nothing to publish, or it passes
    if hook == "storage_backend":
        from holdfast.storage import StorageBackend

        return isinstance(value, StorageBackend)
    from holdfast.models import DreamDraft, Evidence, Extraction, Finding

    kinds = {"on_validate": Finding, "on_flush": Evidence, "on_extract": Extraction, "on_dream": DreamDraft}
    is_list = hook in ("on_flush", "on_validate") and isinstance(value, list | tuple)
    if hook == "on_validate" and not is_list:
        return False
    return all(isinstance(result, kinds.get(hook, str)) for result in (value if is_list else [value]))


def words(raw: object) -> str:
    """A plugin's own message as text, cut after a whole word, so that no part of a secret stays without the rest.
    Empty if it cannot be converted, because an exception's ``__str__`` is the plugin's code, too."""
    try:
        text = raw.message if isinstance(raw, HoldfastError) else str(raw)
    except BaseException:  # noqa: BLE001 - anything may be raised by a plugin
        return ""
    return text if len(text) <= _DETAIL_CHARS else text[:_DETAIL_CHARS].rpartition(" ")[0] + " ..."


#: A plugin's hooks, and a backend's hook.
OF_PLUGINS = ("on_dream", "on_extract", "on_flush", "on_validate")
OF_BACKENDS = ("storage_backend",)
#: Hooks that may be wrapped. Elsewhere a wrapper could hide a failed save.
WRAPPABLE = ("on_dream", "on_extract")


class GuardedPlugin:
    """Registered with pluggy in place of ``plugin``. ``hooks`` are the implemented ones, ``wraps`` the wrapped ones.

    Raises: PluginLoadFailed for an implementation that cannot be called.
    """

    def __init__(
        self,
        plugin: object,
        caller: Caller,
        allowed: Collection[str],
        options_of: Callable[[object, str], Mapping[str, Any] | None],
    ) -> None:
        self.plugin, self.caller = plugin, caller
        names: dict[str, list[str]] = {"hooks": [], "wraps": []}
        for name in dir(plugin):
            options = None if name.startswith("__") else options_of(plugin, name)
            if options is None and name in (*OF_PLUGINS, *OF_BACKENDS) and callable(getattr(plugin, name)):
                raise cannot_be_used(caller, f"{name} is not marked with hookimpl, so nothing would call it")
            if options is not None:
                hook, function = options["specname"] or name, getattr(plugin, name)
                wrapper = bool(options["wrapper"] or options["hookwrapper"])
                if problem := _problem(hook, function, allowed, wrapper=wrapper):
                    raise cannot_be_used(caller, problem)
                names["wraps" if wrapper else "hooks"].append(hook)
                guard = _wrapper(caller, hook, function) if wrapper else _guard(caller, hook, function)
                setattr(self, name, hooks.hookimpl(**options)(guard))
        self.hooks, self.wraps = tuple(sorted(names["hooks"])), tuple(sorted(names["wraps"]))


def cannot_be_used(caller: Caller, problem: str) -> PluginLoadFailed:
    return PluginLoadFailed(
        f"The plugin {caller.plugin!r} ({caller.distribution}) cannot be used: {problem}.",
        next_step="Correct it, or open the project without it.",
    )


def _problem(hook: str, function: Callable[..., Any], allowed: Collection[str], *, wrapper: bool) -> str:
    """Why an implementation cannot be called, or an empty string."""
    if hook not in (*OF_PLUGINS, *OF_BACKENDS):
        from holdfast.text.humanize import nearest

        near = nearest(hook, [*OF_PLUGINS, *OF_BACKENDS])
        known = f"did you mean `{near}`" if near else f"hooks are {', '.join((*OF_PLUGINS, *OF_BACKENDS))}"
        return f"it has no hook to call: {hook!r} is unknown, {known}"
    if hook not in allowed:
        place = "a backend, an entry point in the group holdfast.backends" if hook in OF_BACKENDS else "a plugin"
        return f"{hook} belongs in {place}, and is never called here"
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        return f"{hook} is async, and nothing awaits it; write an ordinary function, which may call asyncio.run"
    if wrapper and hook not in WRAPPABLE:
        return f"it wraps {hook}; wrappers could hide a failed save and are allowed only for {' and '.join(WRAPPABLE)}"
    if not wrapper and inspect.isgeneratorfunction(function):
        return f"{hook} is a generator, and this hook returns {_returned(hook)}"
    arguments = inspect.signature(getattr(hooks, hook)).parameters
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.default is not parameter.empty:
            return f"{hook} has a default for {name!r}; hook arguments have none"
        if name not in arguments or parameter.kind is not parameter.POSITIONAL_OR_KEYWORD:
            return f"{hook} has no argument {name!r}; it has {', '.join(arguments)}"
    return ""


def _guard(caller: Caller, hook: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """``function``, an implementation, with a time limit and a checked result. Raises: CallFailed."""

    @wraps(function)
    def guard(*args: Any) -> Any:
        limit_s = caller.limit_s(hook)
        if hook != "on_validate" or limit_s is None:
            return checked(caller, hook, call(caller, hook, partial(function, *args), limit_s))
        chars = max((len(request.text) for request in args), default=0)  # its only argument is the request
        value = call(caller, hook, partial(function, *args), limit_s * (1 + max(chars - 1, 0) // CHUNK_CHARS))
        return _in_chunks(caller, hook, value, limit_s) if isinstance(value, Chunks) else checked(caller, hook, value)

    return guard


def _wrapper(caller: Caller, hook: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """``function``, a wrapper, with its own exceptions attributed to it."""

    @wraps(function)
    def wrapper(*args: Any) -> Generator[None, Any, Any]:
        try:
            return (yield from function(*args))
        except CallFailed:  # of the wrapped implementation
            raise
        except (Exception, SystemExit) as error:
            raise CallFailed(caller, hook, type(error).__name__, error) from error

    return wrapper
