"""A plugin as pluggy registers it: its implementations, checked, each with a time limit and attributed failures."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Generator, Mapping
from functools import wraps
from typing import Any

from holdfast import hooks
from holdfast.errors import PluginLoadFailed
from holdfast.plugin.calls import Caller, CallFailed, implementation

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
        found: dict[str, list[str]] = {"hooks": [], "wraps": []}
        for name in dir(plugin):
            options = None if name.startswith("__") else options_of(plugin, name)
            if options is not None:
                hook, function = options["specname"] or name, getattr(plugin, name)
                wrapper = bool(options["wrapper"] or options["hookwrapper"])
                if problem := _problem(hook, function, allowed, wrapper=wrapper):
                    raise cannot_be_used(caller, problem)
                found["wraps" if wrapper else "hooks"].append(hook)
                guard = _wrapper(caller, hook, function) if wrapper else _guard(caller, hook, function)
                setattr(self, name, hooks.hookimpl(**options)(guard))
        self.hooks, self.wraps = tuple(sorted(found["hooks"])), tuple(sorted(found["wraps"]))


def cannot_be_used(caller: Caller, problem: str) -> PluginLoadFailed:
    """The error for a plugin that cannot be registered."""
    return PluginLoadFailed(
        f"The plugin {caller.plugin!r} ({caller.distribution}) cannot be used: {problem}.",
        next_step="Hooks are: " + ", ".join(sorted((*OF_PLUGINS, *OF_BACKENDS))) + ".",
    )


def _problem(hook: str, function: Callable[..., Any], allowed: Collection[str], *, wrapper: bool) -> str:
    """Why an implementation cannot be called, or an empty string."""
    if hook not in (*OF_PLUGINS, *OF_BACKENDS):
        return f"unknown hook {hook!r}"
    if hook not in allowed:
        place = "a backend, an entry point in the group holdfast.backends" if hook in OF_BACKENDS else "a plugin"
        return f"{hook} belongs in {place}, and is never called here"
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        return f"{hook} is async, and nothing awaits it; write an ordinary function, which may call asyncio.run"
    if wrapper and hook not in WRAPPABLE:
        return f"it wraps {hook}; wrappers could hide a failed save and are allowed only for {' and '.join(WRAPPABLE)}"
    if not wrapper and inspect.isgeneratorfunction(function):
        return f"{hook} is a generator; return the whole result"
    known = inspect.signature(getattr(hooks, hook)).parameters
    for name, given in inspect.signature(function).parameters.items():
        if given.default is not given.empty:
            return f"{hook} has a default for {name!r}; hook arguments have none"
        if name not in known or given.kind is not given.POSITIONAL_OR_KEYWORD:
            return f"{hook} has no argument {name!r}; it has {', '.join(known)}"
    return ""


def _guard(caller: Caller, hook: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def guard(*args: Any) -> Any:
        return implementation(caller, hook, function, args)

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
