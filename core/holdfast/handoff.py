"""The handoff: the machine-readable restart point of unfinished work, one small document that is replaced, not grown.

TOML between two ``+++`` lines, read without any model, and below it the same for people. Several sessions may have
work open in one project; each has its own ``[[work]]`` entry, newest first. When work closes, its entry becomes a
closed marker, which goes when the next session writes.
"""

from __future__ import annotations

from collections.abc import Iterable

from attrs import evolve, field, fields, frozen

from holdfast.errors import Corrupt
from holdfast.plain import one_line

#: What one entry may hold. The daily note keeps everything; this document stays small (R181).
MAX_ENTRIES = 8
MAX_ITEMS = 20
MAX_CHARS = 2000

_FENCE = "+++"
HEADER = "# Handoff"


def _clip(text: str) -> str:
    text = text.strip()
    return text if len(text) <= MAX_CHARS else text[: MAX_CHARS - 1].rstrip() + "…"


def _clips(texts: Iterable[str]) -> tuple[str, ...]:
    items = tuple(_clip(t) for t in texts)
    if len(items) <= MAX_ITEMS:
        return items
    return (*items[: MAX_ITEMS - 1], f"… and {len(items) - MAX_ITEMS + 1} more in the daily note")


@frozen(kw_only=True)
class Work:
    """One entry. ``state`` is open or closed; ``note`` the daily note that tells the whole story; ``derived`` is true
    when the next action was derived, not stated."""

    session: str
    flush: str
    state: str = "open"
    note: str = ""
    agent: str = ""
    objective: str = field(default="", converter=_clip)
    active_task: str = field(default="", converter=_clip)
    branch: str = field(default="", converter=_clip)
    blocker: str = field(default="", converter=_clip)
    next_action: str = field(default="", converter=_clip)
    facts: tuple[str, ...] = field(default=(), converter=_clips)
    blockers: tuple[str, ...] = field(default=(), converter=_clips)
    artifacts: tuple[str, ...] = field(default=(), converter=_clips)
    follow_ups: tuple[str, ...] = field(default=(), converter=_clips)
    derived: bool = False

    @property
    def is_open(self) -> bool:
        return self.state == "open"


def render(work: Iterable[Work]) -> str:
    """The document's text. The same entries give the same bytes."""
    import tomli_w

    entries = list(work)
    table = {"version": 1, "work": [{k: v for k, v in _fields(w).items() if v not in ("", (), False)} for w in entries]}
    lines = [_FENCE, tomli_w.dumps(table, multiline_strings=False).rstrip("\n"), _FENCE, "", HEADER]
    for entry in entries:
        lines += ["", *_for_people(entry)]
    return "\n".join(lines) + "\n"


def _fields(work: Work) -> dict[str, object]:
    return {a.name: getattr(work, a.name) for a in fields(Work)}


def _for_people(work: Work) -> list[str]:
    title = one_line(work.active_task or work.objective or work.session)
    if not work.is_open:
        return [f"## Closed: {title}", "", f"Nothing is left to do here. Flush {work.flush}, {work.note or 'no note'}."]
    lines = [f"## Open: {title}", "", f"- **Next action:** {one_line(work.next_action)}"]
    for label, value in (("Branch or review", work.branch), ("Blocker", work.blocker), ("Objective", work.objective)):
        if value:
            lines.append(f"- **{label}:** {one_line(value)}")
    for label, values in (
        ("Facts that changed", work.facts),
        ("Artifacts", work.artifacts),
        ("Promised", work.follow_ups),
    ):
        if values:
            lines += [f"- **{label}:**", *(f"  - {one_line(v)}" for v in values)]
    lines.append(f"- **Whole story:** {work.note or 'the daily notes'}, block {work.flush}")
    return lines


def parse(text: str, name: str = "The handoff") -> tuple[Work, ...]:
    """The entries, newest first. Raises: Corrupt when the text is not a handoff; a damaged one is never "empty"."""
    import tomllib

    from holdfast.serde import structure

    problem = f"{name} cannot be read as a handoff"
    step = "Correct the TOML between the `+++` lines; the daily notes hold the same facts."
    parts = text.removeprefix("\ufeff").replace("\r\n", "\n").split(f"{_FENCE}\n", 2)
    if len(parts) != 3 or parts[0].strip():
        raise Corrupt(f"{problem}: it does not begin with TOML between `+++` lines.", next_step=step)
    try:
        table = tomllib.loads(parts[1])
    except tomllib.TOMLDecodeError as error:
        raise Corrupt(f"{problem}: {error}.", next_step=step) from error
    entries = table.get("work", [])
    if not isinstance(entries, list):
        raise Corrupt(f"{problem}: `work` is not a list of tables.", next_step=step)
    return tuple(structure(entry, Work, what=name, error=Corrupt) for entry in entries)


def put(entries: Iterable[Work], new: Work) -> tuple[Work, ...]:
    """``new`` first, then the other sessions' open work; the oldest beyond :data:`MAX_ENTRIES` leave."""
    others = [w for w in entries if w.session != new.session and w.is_open]
    return (new, *others)[:MAX_ENTRIES]


def closed(work: Work) -> Work:
    """The marker that stays in place of finished work."""
    return evolve(work, state="closed", blocker="", next_action="", blockers=(), follow_ups=())
