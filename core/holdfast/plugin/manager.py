"""The typed interface to the hooks, with a method for each that the kernel calls. The only module that calls hooks; an
application's manager extends it.

pluggy keeps the plugins and their order and calls them. Each is registered as a
:class:`holdfast.plugin.calls.GuardedPlugin`, which limits the time of every call and attributes every failure. This
module decides, per hook, how a failure is handled.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import pluggy

from holdfast import hooks
from holdfast.errors import HoldfastError, HookFailed, PluginError, PluginLoadFailed, PluginNotFound
from holdfast.plugin import ToStderr, calls, discovery
from holdfast.plugin.calls import OF_BACKENDS, OF_PLUGINS, Caller, CallFailed, GuardedPlugin
from holdfast.plugin.discovery import PLUGINS, Found, PluginContext, Status, choose, import_object
from holdfast.validation import ValidationRequest

if TYPE_CHECKING:
    from holdfast.config.values import StorageConfig
    from holdfast.models import Evidence, Finding, Payload, Receipt
    from holdfast.storage import StorageBackend


class PluginSettings(NamedTuple):
    """The ``[plugins.NAME]`` table in the loader's form."""

    name: str
    deadline_s: float | None = None
    settings: Mapping[str, object] = {}


class PluginManager:
    """Holds one pluggy manager. ``statuses`` has every enabled plugin's status."""

    def __init__(self) -> None:
        self._pluggy = pluggy.PluginManager(hooks.PROJECT)
        self._pluggy.add_hookspecs(hooks)
        self._plugins: dict[str, GuardedPlugin] = {}
        self._constructed: set[str] = set()  # by a user's setting: only their hooks can be wrong
        self.statuses: list[Status] = []

    # loading

    def load(self, enabled: Iterable[PluginSettings], entries: Sequence[Found], root: str, state: str) -> None:
        """Load the enabled plugins. A plugin that cannot be loaded is recorded without raising. Code that needs it
        (every gate) fails closed, and the rest works.

        Hooks are called in order of name, the plugins on by default after those that a user enabled.
        """
        by_default = discovery.defaults()
        for plugin in sorted(enabled, key=lambda settings: (settings.name in by_default, settings.name), reverse=True):
            row = Status(plugin.name, PLUGINS, "", "", "loaded", "")
            try:
                entry = choose(entries, PLUGINS, plugin.name)
                row = row._replace(distribution=entry.distribution, version=entry.version)
                loaded, source = made(entry, plugin, root, state), f"{entry.distribution} {entry.version}"
                if plugin.name not in by_default:
                    self._constructed.add(plugin.name)
                hooks_of = self.register(loaded, plugin.name, source, deadline_s=plugin.deadline_s, allowed=OF_PLUGINS)
                row = row._replace(hooks=hooks_of)
            except PluginError as error:
                kind, fix = ("missing", "Install") if isinstance(error, PluginNotFound) else ("failed", "Repair")
                several = sum((other.group, other.name) == (PLUGINS, plugin.name) for other in entries) > 1
                step = error.next_step if several else f"{fix} it, or set `[plugins.{plugin.name}] enabled = false`."
                row = row._replace(status=kind, reason=self._masked(error.message), step=step)
            self.statuses.append(row)
        self.statuses.sort()

    def register(
        self,
        plugin: object,
        name: str,
        distribution: str = "this process",
        *,
        deadline_s: float | None = None,
        allowed: Collection[str] = (*OF_PLUGINS, *OF_BACKENDS),
    ) -> tuple[str, ...]:
        """Register an object with hook implementations; returns the hooks it implements, sorted.

        As in pluggy, the last registered plugin is called first, unless an implementation has ``tryfirst`` or
        ``trylast``. Raises: PluginLoadFailed for a duplicate name, an unknown or unmarked hook (neither may load
        silently), a hook that is not ``allowed`` here, an unknown argument, an argument with a default, an async
        implementation, a wrapper where it could hide a failed save, or an object without any hook, unless it sets
        ``without_hooks = True``.
        """
        inline = getattr(plugin, "EXTRACTS_AT_ONCE", False) is True
        return self._add(name, plugin, Caller(name, distribution, deadline_s, inline), allowed)

    def register_backend(self, plugin: object, entry: Found) -> None:
        """Register a store's module, before the plugins, so plugins are called first. Raises: PluginLoadFailed."""
        caller = Caller(entry.name, f"{entry.distribution} {entry.version}")
        self._add(f"{discovery.BACKENDS}:{entry.name}", plugin, caller, OF_BACKENDS)

    def _add(self, name: str, plugin: object, caller: Caller, allowed: Collection[str]) -> tuple[str, ...]:
        if name in self._plugins:
            raise calls.cannot_be_used(caller, "its name is taken by another plugin; give it another")
        guarded = GuardedPlugin(plugin, caller, allowed, self._pluggy.parse_hookimpl_opts)
        if not (guarded.hooks or guarded.wraps or getattr(plugin, "without_hooks", False) is True):
            raise calls.cannot_be_used(caller, f"it implements none of the hooks {', '.join(allowed)}")
        self._pluggy.register(guarded, name)
        self._plugins[name] = guarded
        return tuple(sorted({*guarded.hooks, *guarded.wraps}))

    def require_all(self, *, outgoing: bool = False) -> None:
        """Raise the error that kept an enabled plugin from loading. Gates call this, because a missing plugin cannot
        refuse. With ``outgoing``, ignore plugins that are missing or, such as with a misspelt hook, not registered."""
        for status in self.statuses:
            ignored = outgoing and (status.status == "missing" or status.name in self._constructed)
            if status.status != "loaded" and not ignored:
                kind = PluginNotFound if status.status == "missing" else PluginLoadFailed
                raise kind(
                    f"The enabled plugin {status.name!r} is not working, so nothing can be stored: {status.reason}",
                    next_step=status.step,
                )

    # the loaded plugins

    def implementing(self, hook: str) -> tuple[str, ...]:
        """Names of the plugins that implement a hook, in calling order."""
        called = reversed(getattr(self._pluggy.hook, hook).get_hookimpls())
        return tuple(impl.plugin_name for impl in called if hook in self._plugins[impl.plugin_name].hooks)

    def extractors(self) -> dict[str, bool]:
        """The plugins that implement ``on_extract``, by name, sorted; true for those called within a flush."""
        return {name: self._plugins[name].caller.inline for name in sorted(self.implementing("on_extract"))}

    # the five hooks

    def storage_backend(self, config: StorageConfig, root: str) -> StorageBackend:
        """The first store provided, in calling order. Raises: PluginLoadFailed when every backend passes; HookFailed,
        or the backend's own error."""
        from pathlib import Path

        choose_another = "Choose another with `[storage] backend` in holdfast.toml."
        with self._attributed(choose_another, own_errors=True):
            backend = self._pluggy.hook.storage_backend(config=config, root=Path(root))
        if backend is None:
            raise PluginLoadFailed(
                f"The backend {config.backend!r} did not return a StorageBackend.", next_step=choose_another
            )
        return backend  # type: ignore[no-any-return]

    def on_validate(self, request: ValidationRequest, *, outgoing: bool = False) -> list[Finding]:
        """All findings of all validators. Raises: PluginError when a validator is broken or fails, which counts as a
        refusal.

        ``outgoing``: stored data is about to be shown. A plugin that is not installed or has an unusable hook does not
        block this, so memory can be read, but a plugin that fails or that refuses its settings does.
        """
        self.require_all(outgoing=outgoing)
        with self._attributed():
            return self._findings(request)

    def on_flush(self, payload: Payload, receipt: Receipt) -> list[Evidence]:
        """The published references. Every plugin is called, also after one failed. Raises: HookFailed, which fails the
        flush."""
        from attrs import evolve

        evidence: list[Evidence] = []
        failed: CallFailed | None = None
        for name in self.implementing("on_flush"):
            try:
                for answer in self._ask("on_flush", name, {"payload": payload, "receipt": receipt}):
                    evidence += answer if isinstance(answer, list | tuple) else [answer]
            except CallFailed as error:
                failed = failed or error
        if failed is not None:
            raise self._hook_failed(failed) from failed.cause
        return [evolve(proof, note=self._masked(proof.note)) if proof.note else proof for proof in evidence]

    # calling

    @contextmanager
    def _attributed(self, step: str = "", *, own_errors: bool = False) -> Iterator[None]:
        """Raise HookFailed for a failed call in the block, with the next ``step``; ``own_errors`` lets out those that
        the plugin raised for the user."""
        try:
            yield
        except CallFailed as failed:
            if own_errors and isinstance(failed.cause, HoldfastError):
                raise failed.cause from None
            raise self._hook_failed(failed, step) from failed.cause

    def _ask(self, hook: str, name: str, arguments: Mapping[str, object]) -> list[Any]:
        """One plugin's results for a hook, through the wrappers of all plugins. Raises: CallFailed."""
        plugins = self._plugins.items()
        others = [plugin for other, plugin in plugins if other != name and hook not in plugin.wraps]
        ask = partial(self._pluggy.subset_hook_caller(hook, others), **arguments)
        wrappers = [plugin.caller for _, plugin in plugins if hook in plugin.wraps]
        limits = [caller.limit_s(hook) or 0.0 for caller in (self._plugins[name].caller, *wrappers)]
        result = calls.call(wrappers[0], hook, ask, sum(limits)) if wrappers else ask()
        results = result if isinstance(result, list) else [result]
        return [calls.checked(wrappers[0], hook, entry) for entry in results] if wrappers else results

    def _findings(self, request: ValidationRequest) -> list[Finding]:
        return [finding for findings in self._pluggy.hook.on_validate(request=request) for finding in findings]

    def _hook_failed(self, failed: CallFailed, step: str = "") -> HookFailed:
        cause = failed.cause
        if isinstance(cause, HoldfastError):
            step = self._masked(calls.words(cause.next_step))
        reason = ": ".join(filter(None, (failed.reason, self._masked(failed.detail)))) or type(cause).__name__
        error = HookFailed(
            plugin=failed.caller.plugin,
            distribution=failed.caller.distribution,
            hook=failed.hook,
            reason=reason,
            next_step=step,
            place=failed.place,
        )
        error.__cause__ = cause
        return error

    def _masked(self, detail: str) -> str:
        """A plugin's own failure message in a form safe to show and store: masked, and left out when a validator cannot
        check it."""
        from holdfast.text.plain import clean
        from holdfast.validation import mask

        detail = clean(detail)
        try:
            return mask(detail, self._findings(ValidationRequest("journal", "", detail))) if detail else ""
        except CallFailed:
            return ""


def made(entry: Found, enabled: PluginSettings, root: str, state: str) -> object:
    """The entry's object, or of a class an instance. Raises: PluginLoadFailed, also for an unknown setting."""
    plugin = import_object(entry)
    try:
        if enabled.settings:
            discovery.check_plugin(plugin, enabled.name, enabled.settings)
        if not isinstance(plugin, type):
            return plugin
        with ToStderr():
            instance: object = plugin(context=PluginContext(enabled.name, enabled.settings, root, state))
            return instance
    except HoldfastError as error:
        raise PluginLoadFailed(f"{entry.name!r} ({entry.distribution}): {error}") from error
    except (Exception, SystemExit) as error:
        raise PluginLoadFailed(
            f"{entry.name!r} ({entry.distribution}) cannot be started: {type(error).__name__}: {error}.",
            next_step=f"Check `[plugins.{entry.name}]` in holdfast.toml.",
        ) from error
