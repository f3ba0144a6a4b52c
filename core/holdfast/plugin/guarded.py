"""One call of a plugin's code: with a time limit, and with any exception as a value that names the plugin."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from holdfast.errors import HoldfastError
from holdfast.plugin import ToStderr
from holdfast.plugin.deadline import Deadlines, steps
from holdfast.subject import PORTION_CHARS, Portions, Subject

#: Time limit for one implementation, in seconds, unless ``[plugins.NAME] deadline_s`` sets another.
DEADLINES_S: Mapping[str, float] = {"on_validate": 10.0, "on_extract": 60.0, "on_flush": 60.0, "on_dream": 600.0}
#: A validator with VALIDATES_AT_ONCE checks at most this many characters without a deadline.
AT_ONCE_CHARS = 4_000
#: Maximum number of steps in which a validator searches one text. Each has its own time limit.
_MAX_STEPS = 100_000
_ENDED = object()
#: Limit for a plugin's own message about a failure. Longer ones quote data, and masking them would outlast deadlines.
_DETAIL_CHARS = 2_000


class Answer(NamedTuple):
    """An implementation's result."""

    plugin: str
    distribution: str
    value: Any


class Failure(NamedTuple):
    """Why an implementation has no result."""

    plugin: str
    distribution: str
    hook: str
    reason: str  # in core's own words
    detail: str  # in the plugin's words, which may quote unredacted text
    cause: BaseException | None


class Guard:
    """One implementation of a hook with its time limit. An exception becomes a :class:`Failure`."""

    def __init__(
        self,
        function: Callable[..., Any],
        plugin: str,
        distribution: str,
        hook: str,
        deadline_s: float | None,
        deadlines: Deadlines,
        *,
        at_once: bool = False,
    ) -> None:
        self._function = function
        self.plugin, self.distribution, self.hook = plugin, distribution, hook
        self._limit_s = deadline_s if deadline_s is not None else DEADLINES_S.get(hook)
        self._deadlines = deadlines
        self._at_once = at_once

    def __call__(self, *args: Any) -> Any:
        if self._at_once and are_short(args):
            got = tried(lambda: self._function(*args), self.plugin, self.distribution, self.hook)
        else:
            got = self._call(lambda: self._function(*args), self._limit_s and self._limit_s * _portions(args))
        if isinstance(got, Portions):
            got = self._in_portions(got)
        if isinstance(got, Failure):
            return got
        # None is valid for hooks where it means "no result"; elsewhere it is a wrong type.
        return None if got is None and self.hook != "on_validate" else Answer(self.plugin, self.distribution, got)

    def _call(self, job: Callable[[], Any], limit_s: float | None) -> Any:
        box: list[Any] = []

        def run() -> None:
            box.append(tried(job, self.plugin, self.distribution, self.hook))

        def late() -> Failure:
            reason = f"it took longer than {limit_s:g} s"
            return Failure(self.plugin, self.distribution, self.hook, reason, "", TimeoutError())

        if limit_s is not None and (shared := steps()) is not None:
            shared.run(late, run, limit_s)
            return box[0]
        with ToStderr():
            if limit_s is None:
                run()
            elif not self._deadlines.call(run, limit_s):
                return late()
        return box[0]

    def _in_portions(self, portions: Portions) -> Any:
        found: list[Any] = []
        for _ in range(_MAX_STEPS):
            step = self._call(lambda: next(portions.steps, _ENDED), self._limit_s)
            if step is _ENDED:
                return found
            if isinstance(step, Failure) or not isinstance(step, list | tuple):
                return step
            found += step
        return Failure(self.plugin, self.distribution, self.hook, "its portions do not end", "", TimeoutError())


def guarded(guard: Guard) -> Callable[..., Any]:
    """``guard``, with a line on stderr after each call if ``HOLDFAST_TRACE=hooks`` is set."""
    if os.environ.get("HOLDFAST_TRACE") != "hooks":
        return guard
    from holdfast.plugin.trace import traced

    return traced(guard, guard.plugin, guard.distribution, guard.hook)


def tried(job: Callable[[], Any], plugin: str, distribution: str, hook: str) -> Any:
    """The result of ``job``, or a named failure for any exception from the plugin."""
    try:
        return job()
    except HoldfastError as error:  # it already has its own message
        return Failure(plugin, distribution, hook, "", words(error.message), error)
    except BaseException as error:  # noqa: BLE001 - as above
        return Failure(plugin, distribution, hook, type(error).__name__, words(error), error)


def words(said: object) -> str:
    """A plugin's own message as text, cut after a whole word, so that no part of a secret stays without the rest.
    Empty if it cannot be converted, because an exception's ``__str__`` is the plugin's code, too."""
    try:
        text = str(said)
    except BaseException:  # noqa: BLE001 - as in `tried`
        return ""
    if len(text) <= _DETAIL_CHARS:
        return text
    return text[:_DETAIL_CHARS].rpartition(" ")[0] + " ..."


def place(failure: Failure) -> str:
    """The innermost failing line in the implementation's folder, for the plugin's author."""
    from traceback import walk_tb

    if failure.cause is None or isinstance(failure.cause, HoldfastError):
        return ""
    lines = [(frame.f_code.co_filename, line) for frame, line in walk_tb(failure.cause.__traceback__)][2:]  # our own
    own = [(path, line) for path, line in lines if os.path.dirname(path) == os.path.dirname(lines[0][0])]
    if not own:
        return ""
    path, line = own[-1]
    return f"{os.path.basename(os.path.dirname(path))}/{os.path.basename(path)}:{line}"


def are_short(args: tuple[Any, ...]) -> bool:
    """Whether a validator can check a call's subject at once."""
    subject = args[0] if args else None
    return isinstance(subject, Subject) and len(subject.text) <= AT_ONCE_CHARS and not subject.sources


def _portions(args: tuple[Any, ...]) -> int:
    """Multiplier for a call's deadline. A validator that cannot work in steps gets the time of all the portions in the
    text."""
    subject = args[0] if args else None
    return 1 + (len(subject.text) - 1) // PORTION_CHARS if isinstance(subject, Subject) and subject.text else 1
