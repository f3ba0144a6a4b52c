"""Each tool's arguments as JSON Schema, and the check of a client's arguments, with errors that a model can act on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from holdfast.errors import BadValue
from holdfast.flush.contract import HANDOFF_FIELDS, REQUIRED
from holdfast.models import MutationKind
from holdfast.text.stored import CATEGORIES, DEFAULT_CATEGORY, DEFAULT_CONFIDENCE

Schema = Mapping[str, Any]

REASONS: Final = ("compaction", "end", "handoff", "switch", "manual")
#: Maximum characters of one result. The smallest known limit of a client is near 10,000.
LOAD_CHARS: Final = 9_000

_KINDS: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}


def _object(required: tuple[str, ...] = (), **properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def _text(description: str, **more: Any) -> Schema:
    return {"type": "string", "description": description, **more}


def _texts(description: str) -> Schema:
    return {"type": "array", "items": {"type": "string"}, "description": description}


_ENTRIES: Final[Schema] = {
    "type": "array",
    "items": {
        "anyOf": [
            {"type": "string"},
            _object(("text",), text=_text("The line."), replaces=_text("The stored line that it corrects.")),
        ]
    },
}

FLUSH: Final = _object(
    REQUIRED,
    session=_text("Which session this is. Leave it out unless an error asks for it."),
    reason=_text("Why now.", enum=list(REASONS), default="manual"),
    objective=_text("What this session is about."),
    facts=_texts("Things learned or changed. [] when none."),
    decisions=_texts("Decisions, each with its reason. [] when none."),
    blockers=_texts("Blockers and open questions. [] when none."),
    next_step=_text("The exact next step, or `none`."),
    artifacts=_texts("Proof: relative paths, URLs, issue or pull request numbers. Never absolute paths."),
    follow_ups=_texts("Promises made to people. [] when none."),
    needs_operator=_texts("Work only the operator can do or decide. Leave it out when none."),
    rejected={
        "type": "array",
        "description": "Approaches that failed or were given up, so that they are not tried again.",
        "items": _object(("what", "why"), what=_text("The approach."), why=_text("Why it was given up.")),
    },
    rules=_texts("Standing rules that the user stated, in their words. Leave it out when none."),
    state_mutations={
        "type": "array",
        "description": "Changes on the forge: status, review, assignment, merge or decision. [] when none.",
        "items": _object(
            ("kind", "target", "summary"),
            kind=_text("The kind of state.", enum=[str(k) for k in MutationKind]),
            target=_text("For example owner/repo#12."),
            summary=_text("The change."),
        ),
    },
    work_open={
        "type": "boolean",
        "description": "Whether work continues. When left out, a next step means that it does.",
    },
    handoff={
        **_object(HANDOFF_FIELDS, **{name: _text("Not blank; `none` is an answer.") for name in HANDOFF_FIELDS}),
        "description": "Needed while work is open: everything another agent needs to continue.",
    },
    curated={
        "description": "The decision about lasting memory: `none`, or standing lines for MEMORY.md and USER.md.",
        "anyOf": [{"type": "string", "enum": ["none"]}, _object(memory=_ENTRIES, user=_ENTRIES)],
    },
)

LOAD: Final = _object(
    max_chars={
        "type": "integer",
        "minimum": 200,
        "default": LOAD_CHARS,
        "description": "Maximum number of characters. The most important parts come first.",
    }
)

WORK: Final = _object(
    action=_text("The action.", enum=["list", "show", "close", "reopen"], default="list"),
    id=_text("For show, close and reopen: the session's id from the list."),
    because=_text("For close and reopen: the reason, for the daily note."),
)

REMEMBER: Final = _object(
    ("content",),
    content=_text("One fact, in one sentence that makes sense without this conversation. No secrets."),
    category=_text("The kind of fact.", enum=list(CATEGORIES), default=DEFAULT_CATEGORY),
    confidence={
        "type": "number",
        "minimum": 0,
        "maximum": 1,
        "default": DEFAULT_CONFIDENCE,
        "description": "The confidence in it.",
    },
    source=_text("Its origin: a path, a link, a person's role."),
)

SEARCH_FACTS: Final = _object(
    query=_text("Words that a fact must contain, in any order. When left out, all facts match."),
    category=_text("Only this kind.", enum=list(CATEGORIES)),
    limit={"type": "integer", "minimum": 1, "maximum": 100, "default": 20, "description": "Maximum number of facts."},
)

SEARCH: Final = _object(
    ("question",),
    question=_text("Words or a question. A day in it counts: `last Tuesday`, `in March`."),
    kind=_text("Only of this kind.", enum=["turn", "note", "decision", "memory", "fact", "document"]),
    session=_text("Only turns of this session."),
    since=_text("Not older than this, a span like 3d or a date like 2026-11-02."),
    until=_text("Older than this, like 3d or 2026-11-02."),
    limit={"type": "integer", "minimum": 1, "maximum": 50, "default": 10, "description": "Maximum number of hits."},
)

OPEN: Final = _object(
    ("place",),
    name=_text("The hit's `name`: a session or a document. Left out for a fact."),
    place=_text("The hit's `place`: a message id, a line or a fact's id."),
    around={
        "type": "integer",
        "minimum": 0,
        "maximum": 50,
        "default": 3,
        "description": "Messages or lines to show before and after it.",
    },
)

FORGET: Final = _object(("fact_id",), fact_id=_text("The id, like fact_0a1b2c3d, from `search_facts`."))

STATUS: Final = _object()


def check(arguments: Mapping[str, object], schema: Schema, tool: str) -> None:
    """Check names and the types of plain values. Core checks the content of lists and tables, with better messages.

    Missing keys are not checked here, because a flush may derive them. Raises: BadValue.
    """
    properties: Mapping[str, Schema] = schema["properties"]
    known = ", ".join(properties) or "no arguments"
    for name, value in arguments.items():
        if name not in properties:
            raise BadValue(f"`{name[:60]}`", f"is not an argument of `{tool}`", next_step=f"It takes {known}.")
        _check_value(name, value, properties[name])


def _check_value(name: str, value: object, one: Schema) -> None:
    kind = one.get("type")
    if kind is None:
        return
    if not isinstance(value, _KINDS[kind]) or (isinstance(value, bool) and kind != "boolean"):
        raise BadValue(f"`{name}`", f"is not of type {kind}", next_step=one.get("description", ""))
    if "enum" in one and value not in one["enum"]:
        raise BadValue(f"`{name}`", "is not a known value", next_step=f"Use one of: {', '.join(one['enum'])}.")
    if isinstance(value, int | float) and not one.get("minimum", value) <= value <= one.get("maximum", value):
        least, most = one.get("minimum"), one.get("maximum")
        span = f"from {least} to {most}" if most is not None else f"of {least} or more"
        raise BadValue(f"`{name}`", "is out of range", next_step=f"Give a number {span}.")
