"""Lines that holdfast writes for its own layout: headings, labels without content, and notices.

They say nothing about the project. Every writer formats its lines from these templates, so an application can recognise
them.
"""

import re
from typing import Final

# --- notes and summaries -------------------------------------------------------------------------------------------
NOTE_HEADER: Final = "# Daily Memory: {day}"
SUMMARY_HEADER: Final = "# Daily Summary: {day}"
#: Titles of the origin's daily blocks, by the flush's reason. Source: reading A24.
TITLES: Final = {
    "compaction": "Trimmed Context",
    "trim": "Trimmed Context",
    "overflow": "Context Overflow Recovery",
    "daily": "Daily Summary",
}
OTHER_TITLE: Final = "Session Notes"
STATE_TITLE: Final = "State changes"
BLOCK: Final = "## {title} ({time})"
OPEN: Final = "Work is open."
CLOSED: Final = "Work is closed."
SUMMARY: Final = "### Summary"
BEFORE: Final = "### Stated before, in a flush that was refused"
CURATED_NONE: Final = "curated memory changes: none"
CURATED: Final = "curated memory changes:"
DERIVED: Final = "_Derived from the session, not stated by it: {any}._"
NOTHING_STATED: Final = "_Nothing was stated about: {any}._"
SOURCE: Final = "Source: {any}, block {word}"
#: The questions that a block answers. Source: R099, R128-R133.
WHAT_HAPPENED, WHAT_CHANGED, WHAT_IS_BLOCKED, WHAT_IS_NEEDED, WHAT_NEXT, PROOF = QUESTIONS = (
    "What happened",
    "What changed",
    "What is blocked",
    "What is needed from the operator",
    "What should happen next",
    "Where the proof lives",
)
#: Parts omitted when they are empty.
RULES: Final = "Rules of the user"
GIVEN_UP: Final = "What was given up"
PART: Final = "### {part}"
#: A label without content, and the replacement for a missing label.
NONE: Final = "- {label}: none"
NOT_STATED: Final = "not stated"

# --- the handoff ---------------------------------------------------------------------------------------------------
HANDOFF: Final = "# Handoff"
FIELD: Final = "- **{field}:**"
QUOTES: Final = "- **Quoted from messages:** {any}"
STORY: Final = "- **Whole story:** {any}, block {word}"
LEFT: Final = "Nothing is left to do here. Flush {word}, {document}."
WAS_CLOSED: Final = " It was closed."


def line(template: str, *values: str) -> str:
    """A line of the layout: ``template`` with its fields filled in order."""
    return re.sub(r"\{\w+\}", "{}", template).format(*values)
