"""The application's questions to plugins: extraction, dreams, judgements, and what a feature declares."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from holdfast.errors import HookFailed
from holdfast.plugin import calls
from holdfast.plugin.calls import CallFailed
from holdfast.plugin.manager import PluginManager
from holdfast.validation import ValidationRequest

if TYPE_CHECKING:
    from holdfast.models import DreamDraft, DreamSources, Extraction, Fact, Payload, Turn

T = TypeVar("T")

#: Time limit for one question to a judging plugin, in seconds.
JUDGE_S = 60.0


class Plugins(PluginManager):
    """The kernel's manager, with the hooks that the kernel does not call."""

    def dreams_of_everything(self, name: str) -> bool:
        """Whether a plugin's dream is so cheap that ``[dream] max_chars`` does not apply."""
        return getattr(self._plugins[name].plugin, "dreams_of_everything", False) is True

    def implementations_of(self, interface: type[T]) -> dict[str, T]:
        """The plugins that are instances of ``interface``, by name, sorted. This lets a plugin offer more than its
        hooks to the feature that declares the interface."""
        named = sorted((name, one.plugin) for name, one in self._plugins.items() if isinstance(one.plugin, interface))
        return dict(named)

    def judges(self) -> tuple[str, ...]:
        """Names of the plugins with a method ``judge``, sorted."""
        return tuple(sorted(n for n, one in self._plugins.items() if callable(getattr(one.plugin, "judge", None))))

    def failing_validators(self, text: str) -> dict[str, HookFailed]:
        """Errors by name of the validators that fail on ``text`` when called alone."""
        found: dict[str, HookFailed] = {}
        for name in sorted(self.implementing("on_validate")):
            try:
                self._ask("on_validate", name, {"request": ValidationRequest("journal", "", text)})
            except CallFailed as failed:
                found[name] = self._hook_failed(failed)
        return found

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
        from holdfast.models import Payload

        results: list[tuple[str, Extraction]] = []
        failures: list[HookFailed] = []
        arguments = {"turns": turns, "known": known, "before": Payload() if before is None else before}
        for name in sorted(self.implementing("on_extract")):
            if not only or name in only:
                try:
                    results += [(name, one) for one in self._ask("on_extract", name, arguments)]
                except CallFailed as failed:
                    failures.append(self._hook_failed(failed))
        return results, failures

    def on_dream(self, sources: DreamSources, *, only: str = "") -> tuple[str, DreamDraft] | None:
        """The first plugin with a draft, in calling order, and its draft. None when every plugin passes. ``only``
        calls the plugin with that name. Raises: HookFailed."""
        with self._attributed():
            for name in self.implementing("on_dream"):
                drafts = self._ask("on_dream", name, {"sources": sources}) if only in ("", name) else []
                for draft in filter(None, drafts):
                    return name, draft
        return None

    def judge(self, name: str, system: str, question: str) -> str:
        """The plugin's answer to a question about lines and their sources. This is not a hook, because the user chooses
        one plugin. Raises: HookFailed."""
        plugin: Any = self._plugins[name].plugin
        caller = self._plugins[name].caller
        with self._attributed():
            answer = calls.call(caller, "judge", partial(plugin.judge, system, question), JUDGE_S)
            return str(calls.checked(caller, "judge", answer))
