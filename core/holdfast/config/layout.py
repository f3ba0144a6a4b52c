"""Map each surface to its logical name, from a preset and the user's own settings.

A surface is a kind of document: daily note, handoff, curated memory, report and so on.
"""

from collections.abc import Mapping
from datetime import date
from enum import StrEnum
from functools import cached_property
from typing import Final, NamedTuple

from attrs import frozen

from holdfast.config.fields import Allowed, one_of, setting
from holdfast.errors import ConfigError, Refused


class Surface(StrEnum):
    """A kind of place where text is stored."""

    DAILY = "daily"
    MEMORY = "memory"
    USER = "user"
    PROFILE = "profile"
    FACT = "fact"
    HANDOFF = "handoff"
    DIARY = "diary"
    TRAIL = "trail"
    REPORT = "report"
    JOURNAL = "journal"
    HEARTBEAT = "heartbeat"
    BRIEFING = "briefing"
    MEMORIES = "memories"
    # Document 004: the three-file memory.
    ACTIVE_CONTEXT = "active_context"
    PATTERNS = "patterns"
    PROGRESS = "progress"


class Preset(NamedTuple):
    """``path`` is the store's folder under the project; ``roots`` names the logical roots. If other programs also keep
    files in that folder, it is ``shared``, and holdfast reads only folders with the preset's documents."""

    path: str
    documents: Mapping[Surface, str]
    shared: bool = False
    roots: Mapping[str, str] = {}
    facts: str = "facts.jsonl"


_DEFAULT = Preset(
    path=".holdfast",
    documents={
        Surface.MEMORY: "MEMORY.md",
        Surface.USER: "USER.md",
        Surface.PROFILE: "profile.md",
        Surface.DAILY: "memory/{date}.md",
        Surface.DIARY: "memory/dreams/{date}.md",
        Surface.HANDOFF: "continuity/active.md",
        Surface.TRAIL: "memory/summaries/{date}.md",
        Surface.REPORT: "memory/reports/{date}.md",
        Surface.HEARTBEAT: "heartbeat/",
        Surface.BRIEFING: "briefings/",
        Surface.MEMORIES: "memories/",
        Surface.ACTIVE_CONTEXT: "context/active_context.md",
        Surface.PATTERNS: "context/patterns.md",
        Surface.PROGRESS: "context/progress.md",
    },
)
PRESETS: Final[Mapping[str, Preset]] = {
    "default": _DEFAULT,
    # Document 003: one root owns curated memory, another the daily record.
    "timmy": Preset(
        path=".",
        roots={"curated": "timmy-config", "home": "timmy-home"},
        documents={
            **{surface: "{home}/" + name for surface, name in _DEFAULT.documents.items()},
            Surface.MEMORY: "{curated}/memories/MEMORY.md",
            Surface.USER: "{curated}/memories/USER.md",
            Surface.PROFILE: "{curated}/memories/profile.md",
            Surface.DAILY: "{home}/daily-notes/{date}.md",
            Surface.DIARY: "{home}/dreams/{date}.md",
            Surface.TRAIL: "{home}/daily-summaries/{date}.md",
            Surface.REPORT: "{home}/reports/{date}.md",
        },
        facts="{curated}/memories/facts.jsonl",
    ),
    # Document 004: everything under .opencode/, including the settings. Everything else there belongs to other
    # programs.
    "opencode": Preset(
        path=".opencode",
        shared=True,
        documents={
            **{surface: "holdfast/" + name for surface, name in _DEFAULT.documents.items()},
            Surface.ACTIVE_CONTEXT: "context/01_memory/active_context.md",
            Surface.PATTERNS: "context/01_memory/patterns.md",
            Surface.PROGRESS: "context/01_memory/progress.md",
        },
        facts="holdfast/facts.jsonl",
    ),
}


@frozen(kw_only=True, slots=False)
class Layout:
    """``[layout]``: a preset with the user's changes. Names are relative to the store, with ``/``."""

    preset: str = setting(
        "default",
        "Which documents exist and where: `default`, `timmy` or `opencode`.",
        check=one_of(*PRESETS),
        project=Allowed(
            "any preset whose private folder is the one with your state, or that finds none",
            lambda value, users: True,  # the state's own folder is compared elsewhere
        ),
    )
    roots: Mapping[str, str] = setting({}, "Folders of the preset's logical roots; `timmy` has `curated` and `home`.")
    documents: Mapping[str, str] = setting(
        {}, "Document name for each surface, to move documents elsewhere. Daily names contain `{date}`."
    )

    def __attrs_post_init__(self) -> None:
        for surface in self.documents:
            if surface not in set(Surface):
                raise ConfigError(
                    f"layout.documents.{surface} is not a surface.", next_step=f"Known surfaces: {', '.join(Surface)}."
                )
        try:
            names, _ = self.names, self.facts
        except (KeyError, IndexError, ValueError) as error:
            raise ConfigError(
                f"The layout names an unknown root: {error}.", next_step="Define it under [layout.roots]."
            ) from error
        for surface in (Surface.DAILY, Surface.DIARY, Surface.TRAIL, Surface.REPORT):
            if "{date}" not in names[surface]:
                raise ConfigError(
                    f"layout.documents.{surface} has no {{date}}.",
                    next_step="Add {date}, because there is one document per day.",
                )
        if self.documents or self.roots:
            self._check_names()

    def _check_names(self) -> None:
        from holdfast.text.stored import check_name

        for surface, name in self.names.items():
            try:
                check_name(name.replace("{date}", "2026-01-31").removesuffix("/"))
            except Refused as error:
                raise ConfigError(
                    f"layout.documents.{surface} cannot be used. {error.message}", next_step=error.next_step
                ) from error

    @cached_property
    def names(self) -> dict[str, str]:
        """Each surface's document; where there is one per day, its name contains ``{date}``."""
        templates: dict[str, str] = dict(self.base.documents) | dict(self.documents)
        return {surface: text.format(date="{date}", **self.root_names) for surface, text in templates.items()}

    @property
    def base(self) -> Preset:
        return PRESETS[self.preset]

    @property
    def facts(self) -> str:
        """The facts file's name, for backends that keep one."""
        return self.base.facts.format(**self.root_names)

    @property
    def root_names(self) -> dict[str, str]:
        return {**self.base.roots, **self.roots}

    def name(self, surface: Surface, day: date | None = None) -> str:
        """A surface's document; surfaces with one document per day need ``day``."""
        return self.names[surface].replace("{date}", day.isoformat() if day else "")

    def prefix(self, surface: Surface) -> str:
        """The common prefix of a surface's daily documents."""
        return self.names.get(surface, "").partition("{date}")[0]

    def day_of(self, surface: Surface, name: str) -> date | None:
        """A daily document's day, or None when ``name`` does not belong to that surface."""
        before, _, after = self.names.get(surface, "").partition("{date}")
        if not (name.startswith(before) and name.endswith(after)) or len(name) != len(before) + 10 + len(after):
            return None
        try:
            return date.fromisoformat(name[len(before) : len(name) - len(after)])
        except ValueError:
            return None

    def surface_of(self, name: str) -> Surface | None:
        for surface in self.base.documents:
            own = self.names[surface]
            if "{date}" in own:
                if self.day_of(surface, name) is not None:
                    return surface
            elif own == name or (own.endswith("/") and name.startswith(own)):
                return surface
        return None

    def prefixes(self) -> list[str]:
        """The name prefixes of documents: ``[""]`` when the store's folder is holdfast's own."""
        if self.base.shared:
            folders = {
                head + "/" if (head := p.rpartition("/")[0]) else p for p in map(self.prefix, self.base.documents)
            }
            return sorted(f for f in folders if not any(f != g and f.startswith(g) for g in folders))
        if self.base.path != ".":
            return [""]
        return sorted({self.prefix(s).split("/", 1)[0] + "/" for s in self.base.documents})
