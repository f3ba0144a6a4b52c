"""Acme's house rules for holdfast. Settings, in ``[plugins.acme]``: ``codenames``, a list of words that must not be
stored, and ``folder``, where flushes are published, under the project folder.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from holdfast.api import (
    ConfigError,
    Evidence,
    Extraction,
    Finding,
    Payload,
    PluginContext,
    Receipt,
    Turn,
    ValidationRequest,
    hookimpl,
)

_TICKET = re.compile(r"\bACME-\d+\b")


class Acme:
    """The plugin. Raises: ConfigError for a setting that it does not know or cannot use."""

    #: It reads the turns only, so a flush may wait for it and use its draft.
    EXTRACTS_AT_ONCE = True

    def __init__(self, *, context: PluginContext) -> None:
        settings = dict(context.settings)
        codenames = settings.pop("codenames", [])
        folder = settings.pop("folder", "published")
        if settings:
            raise ConfigError(f"plugins.acme has unknown keys: {', '.join(sorted(settings))}.")
        if not isinstance(codenames, list) or not all(isinstance(c, str) and c.strip() for c in codenames):
            raise ConfigError("plugins.acme.codenames is not a list of words.")
        if not isinstance(folder, str):
            raise ConfigError("plugins.acme.folder is not a text.")
        self._codenames = re.compile("|".join(rf"\b{re.escape(c)}\b" for c in codenames) or r"(?!)", re.IGNORECASE)
        self._root = Path(context.root)
        self._folder = folder

    @hookimpl
    def on_validate(self, request: ValidationRequest) -> Sequence[Finding]:
        """One error for each codename: without a replacement, so the text is refused, not masked."""
        return [
            Finding(
                rule="acme-codename",
                message="names a project that is not public",
                span=match.span(),
                line=request.text.count("\n", 0, match.start()) + 1,
                fix="Write 'the project' instead of its codename.",
            )
            for match in self._codenames.finditer(request.text)
        ]

    @hookimpl
    def on_extract(self, turns: Sequence[Turn], before: Payload) -> Extraction:
        """The ticket that the user named last is the objective. An open ticket stays it until another is named."""
        named = [ticket for turn in turns for ticket in _TICKET.findall(turn.user)]
        known = _TICKET.findall(before.objective or "") if before.work_open else []
        return Extraction(draft=Payload(objective=[*known, *named][-1]) if known or named else Payload())

    @hookimpl
    def on_flush(self, payload: Payload, receipt: Receipt) -> Evidence:
        """Publish the flush as one file. The name is the flush's id: publishing again changes nothing."""
        path = self._root / self._folder / f"{receipt.flush_id}.txt"
        text = f"{payload.objective}\nNext: {payload.next_step}\n"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return Evidence(
            target="acme",
            pointer=path.relative_to(self._root).as_posix(),
            published=text,
            read_back=path.read_text(encoding="utf-8"),
        )
