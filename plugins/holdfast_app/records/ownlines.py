"""Recognises lines that holdfast writes for its own layout.

They say nothing about the project, so they are never indexed, quoted, extracted or dreamt. Every writer formats its
lines from the templates here and in :mod:`holdfast.text.ownlines`, and :func:`is_own` is generated from them, so the
two cannot drift apart. A document itself keeps all its lines, including a user's line that looks like these.
"""

import re
from functools import cache
from typing import Final

from holdfast.text.ownlines import *
from holdfast.text.ownlines import GIVEN_UP, OTHER_TITLE, QUESTIONS, RULES, STATE_TITLE, TITLES

ARCHIVE_HEADER: Final = "# Archived Memory"
ARCHIVED_TITLE: Final = "Archived"
ARCHIVED_BLOCK: Final = "## {title} ({day} {time})"
LATER_TITLE: Final = "Summary"
CLOSED_TITLE: Final = "Work Closed"
REOPENED_TITLE: Final = "Work Reopened"
DREAM_TITLE: Final = "Dream"
NOT_APPLIED_TITLE: Final = "Dream not applied"
UNDONE_TITLE: Final = "Dream undone"
TAKEN_OUT_TITLE: Final = "Lines taken out"
DROPPED_TITLE: Final = "Not Published"
OF_BLOCK: Final = "_Of block {any}, by {any}._"
LABELS: Final = (
    "Facts", "Decisions", "State changes", "Blockers", "Needed", "Next step", "Promised follow-ups", "Artifacts",
)  # fmt: skip

# --- a payload and a summary without a model -----------------------------------------------------------------------
NO_TEXT: Final = "(the session holds no text)"
NOT_SUMMARISED: Final = "_Not summarised. What was said, shortened:_"
MORE: Final = "- … {number} more in the journal"
QUOTED: Final = "_{number} {any} of the user, {number} {any}. Quoted; (id) begins the lines of a message._"
SAID_LAST, TASKS, ASKED_LAST, REQUEST, USER_SAID, COMPACTED, COMPACTED_BEFORE, SAID_EARLIER, COMMITS = QUOTING = (
    "The agent said last",
    "Task list",
    "The last request",
    "The last request, where it goes on",
    "The user also said, newest first",
    "The client's own summary, at its last compaction",
    "The client's own summary at its compaction, older than the lines above",
    "The agent said earlier, the most specific first",
    "Commits",
)

FIELDS: Final = (
    "Next action", "Branch or review", "Blocker", "Objective", "Facts that changed", "Artifacts", "Promised",
    "Needed from the operator", "Given up", RULES,
)  # fmt: skip

# --- profile and three files ----------------------------------------------------------------------------------------
PROFILE: Final = "# Profile"
PROFILE_SECTIONS: Final = ("Work", "Personal", "Current Focus", "Recent", "Earlier", "Background")
#: The three files, each with its headings.
THREE: Final = (
    ("# Active Context", ("## Current Focus", "## Decisions", "## Open Questions", "## Next Steps")),
    ("# Patterns", ("## Conventions", "## Gotchas", "## Approved Practices")),
    ("# Progress", ("## Verified Deliverables", "## Evidence Links", "## Deferred Items")),
)
NONE_YET: Final = "- None yet"

# --- diary and archive ---------------------------------------------------------------------------------------------
DIARY_HEADER: Final = "# Dream Diary: {day}"
READ, KEPT, ADDED, JUDGED, FROM_NOTES, MERGED, REPLACED, ARCHIVED, DROPPED, REFUSED, WARNINGS = DIARY = (
    "What was read",
    "What was kept",
    "What was added",
    "What a model judged to be in the notes",
    "What was quoted from the notes",
    "What was merged",
    "What was replaced",
    "What was archived",
    "What was dropped",
    "What was refused",
    "Warnings",
)
ONE_STAYS: Final = "1 item stays as it was"
ITEMS_STAY: Final = "{number} items stay as they were"
COUNTS: Final = "Items: {any}."
NO_MODEL: Final = "No model was used. Facts and decisions from {any} were proposed unchanged: {any}."
LAST_SAID: Final = "Last said on {day}."
NOT_READ: Final = "{document}: not read, there was too much"
UNDO: Final = "The {any} of {day} {time} was undone."
TAKEN_OUT: Final = "Lines of MEMORY.md that were removed or replaced outside of a dream: {number}."

_TITLES: Final = (
    *TITLES.values(), OTHER_TITLE, LATER_TITLE, CLOSED_TITLE, REOPENED_TITLE, STATE_TITLE, DREAM_TITLE,
    NOT_APPLIED_TITLE, UNDONE_TITLE, TAKEN_OUT_TITLE, DROPPED_TITLE, ARCHIVED_TITLE,
)  # fmt: skip
_LINES: Final = (
    NOTE_HEADER, SUMMARY_HEADER, BLOCK, OPEN, CLOSED, SUMMARY, BEFORE, CURATED_NONE, CURATED, DERIVED, NOTHING_STATED,
    SOURCE, PART, NONE, f"- Next step: {NOT_STATED}", f"**Objective:** {NO_TEXT}", "**Objective:**", NOT_SUMMARISED,
    MORE, HANDOFF, FIELD, f"{FIELD} none", f"{FIELD} {NOT_STATED}", QUOTES, STORY, LEFT, LEFT + WAS_CLOSED,
    ARCHIVE_HEADER, ARCHIVED_BLOCK, *(line for title, lines in THREE for line in (title, *lines)),
    PROFILE, "## {section}", NONE_YET, OF_BLOCK,
    QUOTED, "{quoting}:", "{quoting} ({any}):", DIARY_HEADER, f"- {ONE_STAYS}", f"- {ITEMS_STAY}", COUNTS,
    f"> {COUNTS}", f"> {NO_MODEL}", LAST_SAID, "- {document}", f"- {NOT_READ}", UNDO, TAKEN_OUT,
)  # fmt: skip
_FIELDS: Final = {
    "any": r".{1,2000}?",
    "word": r"\S+",
    "day": r"\d{4}-\d\d-\d\d",
    "time": r"\d\d:\d\d",
    "number": r"[\d,]+",
    "document": r"(?:\S+\.md|no note)",
    "title": "|".join(map(re.escape, _TITLES)),
    "part": "|".join(map(re.escape, (*QUESTIONS, RULES, GIVEN_UP, *DIARY))),
    "label": "|".join(map(re.escape, LABELS)),
    "section": "|".join(PROFILE_SECTIONS),
    "quoting": "|".join(map(re.escape, QUOTING)),
    "field": "|".join(map(re.escape, FIELDS)),
}


def is_own(line: str) -> bool:
    """Whether holdfast wrote ``line`` for its layout, as blank lines, rules and comments too, without others' words."""
    return _own().fullmatch(line.strip()) is not None


def without(text: str) -> str:
    """``text`` with its :func:`is_filler` lines emptied, so that the other ones keep their numbers."""
    return "\n".join("" if is_filler(line) else line for line in text.split("\n"))


def is_filler(line: str) -> bool:
    """Whether :func:`is_own` holds and ``line`` is not a heading or comment, which structure the text around them."""
    return not line.lstrip().startswith(("#", "<!--")) and is_own(line)


@cache
def _own() -> re.Pattern[str]:
    """All lines in one expression, compiled on first use."""
    patterns = []
    for template in _LINES:
        parts = re.split(r"\{(\w+)\}", template)
        patterns.append("".join(f"(?:{_FIELDS[part]})" if n % 2 else re.escape(part) for n, part in enumerate(parts)))
    return re.compile("|".join([r"[-=*_#>` |:]*", r"<!-- .* -->", *patterns]))
