"""An answer for agents: one line per hit, in a limited number of characters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from holdfast.text import recall
from holdfast.text.plain import cut
from holdfast_app.search.answer import bare

if TYPE_CHECKING:
    from holdfast_app.search.hits import SearchHit
    from holdfast_app.search.searching import Hits

#: Maximum characters of an answer, and of a hit's text.
MOST: Final = 1_500
_LINE: Final = 200
_HOLDS, _SAID = "What holds now:", "Where it was said:"
_MORE: Final = "{count} more: add words, a kind or a day."


def in_short(found: Hits, kept: str) -> str:
    """The answer between the tags of recalled text, at most :data:`MOST` characters. ``kept`` says how long turns are
    kept."""
    unread = recall.defuse(", ".join(found.unread))
    damage = f"Searched only up to the damage in {unread}. `holdfast doctor` checks it." if unread else ""
    notes = [line for line in (found.warning, damage) if line]
    if not found:
        nothing = f"No stored content matches. Try other words, or fewer conditions. {kept}"
        return "\n".join(filter(None, (found.heading, nothing, *notes)))[:MOST]
    instead = f"No exact match; showing results for {found.corrected!r}." if found.corrected else ""
    head = " ".join(filter(None, (instead, found.heading, "`open` takes `name` and `place` and shows the whole.")))
    room = MOST - len("\n".join([head, recall.fence(""), _MORE, *notes])) - 5
    lines: list[str] = []
    for hit in found:
        title = (_HOLDS if hit.holds else _SAID) if found[0].holds else ""
        new = [*([title] if title and title not in lines else []), recall.defuse(_line(hit))]
        if sum(map(len, lines + new)) + len(lines + new) > room:
            break
        lines += new
    shown = sum(line.startswith("- ") for line in lines)
    more = [_MORE.format(count=len(found) - shown)] if shown < len(found) else []
    return "\n".join([head, recall.fence("\n".join(lines)), *more, *notes])[:MOST]


def _line(hit: SearchHit) -> str:
    from holdfast_app.sessions.lookup import short

    name, place = (short(hit.name), short(hit.place)) if hit.kind == "turn" else (hit.name, hit.place)
    at = " ".join(filter(None, (hit.kind, hit.role, when(hit))))
    newer = f" (replaced by: {cut(hit.replaced_by, _LINE // 2)})" if hit.replaced_by else ""
    project = f" project={hit.project!r}" if hit.project else ""
    text = cut(said(hit), _LINE)
    return f"- [{at}] name={name!r} place={place!r}{project}: {text}{newer}"


def said(hit: SearchHit) -> str:
    """The matching part; of a statement that holds, without its marks and label."""
    return bare(hit.excerpt) if hit.holds else hit.excerpt


def when(hit: SearchHit) -> str:
    """When a turn or fact was recorded; for a line, its document's day. Empty when unknown."""
    timed = hit.kind in ("turn", "fact")
    return f"{hit.at:{'%Y-%m-%d %H:%M' if timed else '%Y-%m-%d'}}" if hit.at else ""
