"""The typed interface to the hooks, with one method per hook. The only module that calls hooks.

Every implementation is wrapped at registration. The wrapper limits its time and turns an exception into a value, so
that one plugin cannot stop another and every failure is attributed. This module decides, per hook, how a failure is
handled.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import pluggy

from holdfast import hooks
from holdfast.errors import HoldfastError, HookFailed, PluginError, PluginLoadFailed, PluginNotFound
from holdfast.plugin import ToStderr, discovery
from holdfast.plugin.deadline import Deadlines
from holdfast.plugin.discovery import PLUGINS, Found, PluginContext, Status, choose, import_object
from holdfast.plugin.guarded import DEADLINES_S, Answer, Failure, Guard, are_short, guarded, place, tried, words
from holdfast.subject import Subject

if TYPE_CHECKING:
    from holdfast.config.values import StorageConfig
    from holdfast.models import DreamDraft, DreamSources, Evidence, Extraction, Fact, Finding, Payload, Receipt, Turn
    from holdfast.storage import StorageBackend

T = TypeVar("T")

#: Time limit for one question to a judging plugin, in seconds.
JUDGE_S = 60.0
#: Time limit in seconds for ``on_extract`` of a plugin with EXTRACTS_AT_ONCE, because a flush waits for it with its
#: lock held.
AT_ONCE_S = 5.0


class _Plugins(pluggy.PluginManager):
    """pluggy's manager, without a look at Python's own attributes of each plugin, which are four of five."""

    def parse_hookimpl_opts(self, plugin: object, name: str) -> Any:
        return None if name.startswith("__") else super().parse_hookimpl_opts(plugin, name)


class PluginSettings(NamedTuple):
    """The ``[plugins.NAME]`` table in the loader's form."""

    name: str
    deadline_s: float | None = None
    settings: Mapping[str, object] = {}


class Dispatch:
    """Holds one plugin manager. ``statuses`` has every enabled plugin's status."""

    def __init__(self) -> None:
        self._manager = _Plugins(hooks.PROJECT)
        self._manager.add_hookspecs(hooks)
        self._deadlines = Deadlines()
        self._validate_at_once = True
        self.statuses: list[Status] = []

    # loading

    def load(self, enabled: Iterable[PluginSettings], found: Sequence[Found], *, root: str, state: str) -> None:
        """Load the enabled plugins in order of name. A plugin that cannot be loaded is recorded without raising. Code
        that needs it (every gate) fails closed, and the rest works."""
        for plugin in sorted(enabled):
            entry: Found | None = None
            try:
                entry = choose(found, PLUGINS, plugin.name)
                obj = import_object(entry)
                if plugin.settings:
                    _check_keys(obj, plugin, entry)
                if isinstance(obj, type):
                    context = PluginContext(plugin.name, plugin.settings, root, state)
                    obj = _instantiate(obj, context, entry)
                implemented = self.register(
                    obj, plugin.name, f"{entry.distribution} {entry.version}", deadline_s=plugin.deadline_s
                )
            except PluginError as error:
                status = "missing" if isinstance(error, PluginNotFound) else "failed"
                self.statuses.append(
                    Status(
                        plugin.name,
                        PLUGINS,
                        entry.distribution if entry else "",
                        entry.version if entry else "",
                        status,
                        error.message,
                    )
                )
            else:
                self.statuses.append(
                    Status(plugin.name, PLUGINS, entry.distribution, entry.version, "loaded", "", implemented)
                )

    def register(
        self, plugin: object, name: str, distribution: str = "this process", *, deadline_s: float | None = None
    ) -> tuple[str, ...]:
        """Register an object with hook implementations; returns the hooks it implements, sorted.

        Raises: PluginLoadFailed for a duplicate name, an unknown hook (a misspelt hook must not load silently), an
        unknown hook argument, an argument with a default, a wrapper, or an object without any hook, unless it sets
        ``without_hooks = True``.
        """
        manager = self._manager
        problem = ""
        taken = manager.has_plugin(name) or manager.is_registered(plugin)
        try:
            manager.register(plugin, name)
            manager.check_pending()
            callers = manager.get_hookcallers(plugin) or []
            offers = getattr(plugin, "without_hooks", False) is True  # an interface to a feature, see `offering`
            problem = "" if callers or offers else "it implements none of the hooks"
            for caller in callers:
                for impl in caller.get_hookimpls():
                    if impl.plugin is plugin:
                        if impl.wrapper or impl.hookwrapper:
                            problem = f"it wraps {caller.name}; wrappers could hide a failed save and are not allowed"
                        if impl.kwargnames:
                            named = ", ".join(map(repr, impl.kwargnames))
                            problem = f"{caller.name} has a default for {named}; hook arguments have none"
                        # Final for type checkers only, because a proxy would hide the plugin from pluggy's messages.
                        limit_s = deadline_s
                        if limit_s is None and caller.name == "on_extract" and _at_once(plugin):
                            limit_s = AT_ONCE_S
                        at_once = getattr(plugin, "VALIDATES_AT_ONCE", False) is True and deadline_s is None
                        if caller.name == "on_validate":
                            self._validate_at_once = self._validate_at_once and at_once
                        guard = Guard(
                            impl.function, name, distribution, caller.name, limit_s, self._deadlines, at_once=at_once
                        )
                        impl.function = guarded(guard)  # type: ignore[misc]
        except (pluggy.PluginValidationError, ValueError) as error:
            problem = str(error).replace(f" in plugin {plugin!r}", "").replace("\n", " ")
        if problem:
            if manager.get_plugin(name) is plugin and not taken:
                manager.unregister(plugin)
            raise PluginLoadFailed(
                f"The plugin {name!r} ({distribution}) cannot be used: {problem}.",
                next_step="Hooks are: " + ", ".join(sorted(DEADLINES_S)) + ".",
            )
        return tuple(sorted(caller.name for caller in callers))

    def validators(self) -> tuple[str, ...]:
        """Names of the validator plugins, sorted."""
        return tuple(sorted(impl.plugin_name for impl in self._manager.hook.on_validate.get_hookimpls()))

    def require_all(self, *, installed: bool = False) -> None:
        """Raise the error that kept an enabled plugin from loading. Gates call this, because a missing plugin cannot
        refuse. With ``installed``, ignore missing plugins."""
        for status in self.statuses:
            if status.status != "loaded" and not (installed and status.status == "missing"):
                kind = PluginNotFound if status.status == "missing" else PluginLoadFailed
                raise kind(
                    f"The enabled plugin {status.name!r} is not working, so nothing can be stored: {status.reason}",
                    next_step=f"{'Install' if status.status == 'missing' else 'Repair'} it, or set "
                    f"`[plugins.{status.name}] enabled = false`.",
                )

    # the five hooks

    @staticmethod
    def storage_backend(plugin: object, entry: Found, config: StorageConfig, root: str) -> StorageBackend:
        """The backend from the configured plugin. Raises: PluginLoadFailed, or the plugin's own error."""
        from holdfast.storage import StorageBackend as Backend

        own = Dispatch()
        own.register(plugin, entry.name, f"{entry.distribution} {entry.version}")
        answer = own._manager.hook.storage_backend(config=config, root=_root_for(plugin, root))
        if isinstance(answer, Failure):
            raise answer.cause if isinstance(answer.cause, HoldfastError) else _hook_failed(answer, answer.detail, "")
        if answer is None or not isinstance(answer.value, Backend):
            raise PluginLoadFailed(
                f"The backend {entry.name!r} ({entry.distribution}) did not return a StorageBackend.",
                next_step="Choose another with `[storage] backend` in holdfast.toml.",
            )
        return answer.value

    def on_validate(self, subject: Subject, *, outgoing: bool = False) -> list[Finding]:
        """All findings of all validators. Raises: PluginError when a validator is broken or fails, which counts as a
        refusal.

        ``outgoing``: stored data is about to be shown. A plugin that was never installed does not block this, so memory
        can be read on another machine, but an installed and broken plugin does.
        """
        self.require_all(installed=outgoing)
        findings: list[Finding] = []
        for answer in self._validated(subject):
            got = self._value(answer)
            _expect(answer, isinstance(got, list | tuple), "on_validate")
            if got:  # the value class is only imported here because it is costly
                from holdfast.models import Finding as Kind

                _expect(answer, all(isinstance(f, Kind) for f in got), "on_validate")
                findings += got
        return findings

    def _validated(self, subject: Subject) -> Sequence[Any]:
        """Each validator's answer. All share one thread, because a thread each costs as much as an fsync. Short text
        needs none if every validator answers at once."""
        if self._validate_at_once and are_short((subject,)):
            with ToStderr():
                return self._manager.hook.on_validate(subject=subject)  # type: ignore[no-any-return]
        box: list[Any] = []

        def ask() -> None:
            box.append(tried(lambda: self._manager.hook.on_validate(subject=subject), "", "", "on_validate"))

        with ToStderr():
            late: Any = self._deadlines.call_in_steps(ask)
        if late is not None:
            return [late()]
        return [box[0]] if isinstance(box[0], Failure) else box[0]

    def on_extract(
        self,
        turns: Sequence[Turn],
        *,
        only: Collection[str] = (),
        known: Sequence[Fact] = (),
        before: Payload | None = None,
    ) -> tuple[list[tuple[str, Extraction]], list[HookFailed]]:
        """Each extractor's results, by plugin name in order of name, and the failures.

        ``only`` calls the plugins with these names, by default all. ``known`` are stored facts on the same subjects,
        ``before`` the session's state before the turns.
        """
        from holdfast.models import Extraction as Kind
        from holdfast.models import Payload

        results: list[tuple[str, Extraction]] = []
        failures: list[HookFailed] = []
        others = [plugin for name, plugin in self._manager.list_name_plugin() if only and name not in only]
        before = Payload() if before is None else before
        for answer in self._manager.subset_hook_caller("on_extract", others)(turns=turns, known=known, before=before):
            try:
                got = self._value(answer)
                _expect(answer, isinstance(got, Kind), "on_extract")
            except HookFailed as error:
                failures.append(error)
            else:
                results.append((answer.plugin, got))
        return sorted(results, key=lambda r: r[0]), failures

    def extractors(self) -> dict[str, bool]:
        """The plugins that implement ``on_extract``, by name, sorted; true for those called within a flush."""
        found = {impl.plugin_name: _at_once(impl.plugin) for impl in self._manager.hook.on_extract.get_hookimpls()}
        return dict(sorted(found.items()))

    def on_flush(self, payload: Payload, receipt: Receipt) -> list[Evidence]:
        """The published references. Raises: HookFailed, which fails the flush."""
        from attrs import evolve

        from holdfast.models import Evidence as Kind

        evidence: list[Evidence] = []
        for answer in self._manager.hook.on_flush(payload=payload, receipt=receipt):
            got = self._value(answer)
            several = got if isinstance(got, list | tuple) else [got]
            _expect(answer, all(isinstance(one, Kind) for one in several), "on_flush")
            evidence += (evolve(one, note=self._safe(one.note)) if one.note else one for one in several)
        return evidence

    def offering(self, interface: type[T]) -> dict[str, T]:
        """The plugins that are instances of ``interface``, by name, sorted. This lets a plugin offer more than its
        hooks to the feature that declares the interface."""
        named = sorted(self._manager.list_name_plugin(), key=lambda pair: pair[0])
        return {name: plugin for name, plugin in named if isinstance(plugin, interface)}

    def dreamers(self) -> tuple[str, ...]:
        """Names of the plugins that implement ``on_dream``, in calling order. The ones a user enabled come before those
        on by default, so that a configured model wins over the offline one; then by name."""
        implementing = (
            name
            for name, plugin in self._manager.list_name_plugin()
            if plugin is not None and any(c.name == "on_dream" for c in self._manager.get_hookcallers(plugin) or ())
        )
        by_default = discovery.defaults()
        return tuple(sorted(implementing, key=lambda name: (name in by_default, name)))

    def dreams_of_everything(self, name: str) -> bool:
        """Whether a plugin's dream is so cheap that ``[dream] max_chars`` does not apply."""
        return getattr(self._manager.get_plugin(name), "dreams_of_everything", False) is True

    def on_dream(self, sources: DreamSources, *, only: str = "") -> DreamDraft | None:
        """The first draft, or None when no plugin dreams. ``only`` calls the plugin with that name. Raises:
        HookFailed."""
        from holdfast.models import DreamDraft as Kind

        others = [plugin for name, plugin in self._manager.list_name_plugin() if only and name != only]
        answer = self._manager.subset_hook_caller("on_dream", others)(sources=sources)
        if answer is None:
            return None
        got = self._value(answer)
        _expect(answer, isinstance(got, Kind), "on_dream")
        return got  # type: ignore[no-any-return]

    def judges(self) -> tuple[str, ...]:
        """Names of the plugins with a method ``judge``, sorted."""
        named = self._manager.list_name_plugin()
        return tuple(sorted(name for name, plugin in named if callable(getattr(plugin, "judge", None))))

    def judge(self, name: str, system: str, question: str) -> str:
        """The plugin's answer to a question about lines and their sources. This is not a hook, because the user chooses
        one plugin. Raises: HookFailed."""
        plugin: Any = self._manager.get_plugin(name)
        status = next((one for one in self.statuses if one.name == name), None)
        distribution = status.distribution if status else "this process"
        guard = guarded(Guard(plugin.judge, name, distribution, "judge", JUDGE_S, self._deadlines))
        answer = guard(system, question)
        got = self._value(answer) if answer is not None else None
        _expect(Answer(name, distribution, got), isinstance(got, str), "judge")
        return str(got)

    def _value(self, answer: Any) -> Any:
        if isinstance(answer, Failure):
            step = words(answer.cause.next_step) if isinstance(answer.cause, HoldfastError) else ""
            raise _hook_failed(answer, self._safe(answer.detail), self._safe(step))
        return answer.value

    def _safe(self, detail: str) -> str:
        """A plugin's own failure message in a form safe to show and store: masked, and left out when a validator cannot
        check it."""
        from holdfast.gate import clean, mask

        detail = clean(detail)
        findings: list[Finding] = []
        for answer in self._validated(Subject("journal", "", detail)) if detail else ():
            if isinstance(answer, Failure) or not isinstance(answer.value, list | tuple):
                return ""
            findings += answer.value
        return mask(detail, findings)


def _at_once(plugin: object) -> bool:
    return getattr(plugin, "EXTRACTS_AT_ONCE", False) is True


def _root_for(plugin: object, root: str) -> str | os.PathLike[str]:
    if getattr(plugin, "ROOT_AS_STR", False) is True:
        return root
    from pathlib import Path

    return Path(root)


def _instantiate(cls: type, context: PluginContext, entry: Found) -> object:
    try:
        with ToStderr():
            return cls(context=context)
    except HoldfastError as error:
        raise PluginLoadFailed(f"{entry.name!r} ({entry.distribution}): {error}") from error
    except (Exception, SystemExit) as error:
        raise PluginLoadFailed(
            f"{entry.name!r} ({entry.distribution}) cannot be started: {type(error).__name__}: {error}.",
            next_step=f"Check `[plugins.{entry.name}]` in holdfast.toml.",
        ) from error


def _check_keys(plugin: object, given: PluginSettings, entry: Found) -> None:
    from holdfast.plugin.options import check_plugin

    try:
        check_plugin(plugin, given.name, given.settings)
    except HoldfastError as error:
        raise PluginLoadFailed(f"{entry.name!r} ({entry.distribution}): {error}") from error


def _hook_failed(failure: Failure, detail: str, next_step: str) -> HookFailed:
    reason = ": ".join(filter(None, (failure.reason, detail))) or type(failure.cause).__name__
    error = HookFailed(
        plugin=failure.plugin,
        distribution=failure.distribution,
        hook=failure.hook,
        reason=reason,
        next_step=next_step,
        place=place(failure),
    )
    error.__cause__ = failure.cause
    return error


def _expect(answer: Answer, ok: bool, hook: str) -> None:
    if not ok:
        items = answer.value if isinstance(answer.value, list | tuple) else ()
        kinds = " and ".join(sorted({type(one).__name__ for one in items}))
        returned = type(answer.value).__name__ + (f" of {kinds}" if kinds else "")
        reason = f"it returned {returned}, which is the wrong type for this hook"
        raise HookFailed(plugin=answer.plugin, distribution=answer.distribution, hook=hook, reason=reason)
