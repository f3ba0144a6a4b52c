"""Each tool's arguments as JSON Schema, and a check of clients' arguments, with errors that a model can act on."""

from collections.abc import Mapping
from typing import Any, Final

from holdfast.api import BadValue, MutationKind
from holdfast.flush.contract import HANDOFF_FIELDS, REQUIRED
from holdfast.text.stored import CATEGORIES, DEFAULT_CATEGORY, DEFAULT_CONFIDENCE
from holdfast_app.search import KINDS

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
    return {"type": "object", "properties": properties, **({"required": list(required)} if required else {})}


def _text(description: str = "", **more: Any) -> Schema:
    return {"type": "string", **({"description": description} if description else {}), **more}


def _list(description: str, kind: str = "string") -> Schema:
    return {"type": "array", "items": {"type": kind}, "description": description}


def _number(least: int, most: int, default: float, kind: str = "integer") -> Schema:
    return {"type": kind, "minimum": least, "maximum": most, "default": default}


FLUSH: Final = _object(
    REQUIRED,
    session=_text("Only if an error asks for it."),
    reason=_text(enum=list(REASONS), default="manual"),
    objective=_text("What the session is about."),
    facts=_list("Things learned or changed."),
    decisions=_list("With reasons."),
    blockers=_list("And open questions."),
    next_step=_text("Exact, or `none`."),
    artifacts=_list("Relative paths, URLs, issues."),
    follow_ups=_list("Promises to people."),
    needs_operator=_list("Only the user can do it."),
    rejected=_list("Approaches given up: `what` and `why`.", "object"),
    rules=_list("The user's standing rules, in their words."),
    state_mutations=_list(
        f"Changes on the forge: `kind` ({', '.join(MutationKind)}), `target` (o/r#12), `summary`.", "object"
    ),
    work_open={"type": "boolean", "description": "Default: is there a next step?"},
    handoff={
        **_object(HANDOFF_FIELDS, **{name: _text() for name in HANDOFF_FIELDS}),
        "description": "Needed while work is open. `none` is an answer.",
    },
    curated={
        "description": "`none`, or {memory: [], user: []}: lasting lines, or {text, replaces} to correct one.",
        "anyOf": [{"type": "string", "enum": ["none"]}, {"type": "object"}],
    },
)

LOAD: Final = _object(max_chars={"type": "integer", "minimum": 200, "default": LOAD_CHARS})

WORK: Final = _object(
    action=_text(enum=["list", "show", "close", "reopen"], default="list"),
    id=_text("From `list`."),
    because=_text("The reason."),
)

REMEMBER: Final = _object(
    ("content",),
    content=_text("One sentence that makes sense alone."),
    category=_text(enum=list(CATEGORIES), default=DEFAULT_CATEGORY),
    confidence=_number(0, 1, DEFAULT_CONFIDENCE, "number"),
    source=_text("Path, link, role."),
)

SEARCH_FACTS: Final = _object(
    query=_text("Words. Default: all facts."), category=_text(enum=list(CATEGORIES)), limit=_number(1, 100, 20)
)

SEARCH: Final = _object(
    ("question",),
    question=_text("Words, a question, a day like `last Tuesday`."),
    kind=_text(enum=list(KINDS)),
    session=_text("Only its turns."),
    since=_text("Like 3d or 2026-11-02."),
    until=_text(),
    limit=_number(1, 50, 10),
)

OPEN: Final = _object(("place",), name=_text("The hit's, if any."), place=_text("The hit's."), around=_number(0, 50, 3))

FORGET: Final = _object(("fact_id",), fact_id=_text("From `search_facts`."))

STATUS: Final = _object()


def check(arguments: Mapping[str, object], schema: Schema, tool: str) -> None:
    """Check names and the types of plain values. Core checks the content of lists and tables, with better messages.

    A flush may derive its missing keys. Raises: BadValue.
    """
    properties: Mapping[str, Schema] = schema["properties"]
    known = ", ".join(properties) or "no arguments"
    for name in schema.get("required", ()) if tool != "flush" else ():
        if name not in arguments:
            raise BadValue(f"`{name}`", "is missing", next_step=f"`{tool}` takes {known}.")
    for name, value in arguments.items():
        if name not in properties:
            raise BadValue(f"`{name[:60]}`", f"is not an argument of `{tool}`", next_step=f"It takes {known}.")
        own = properties[name]
        kind = own.get("type")
        if kind and (not isinstance(value, _KINDS[kind]) or (isinstance(value, bool) and kind != "boolean")):
            raise BadValue(f"`{name}`", f"is not of type {kind}", next_step=f"Give it as {kind}.")
        if kind and "enum" in own and value not in own["enum"]:
            raise BadValue(f"`{name}`", "is not a known value", next_step=f"Use one of: {', '.join(own['enum'])}.")
        least, most = own.get("minimum"), own.get("maximum")
        if isinstance(value, int | float) and not own.get("minimum", value) <= value <= own.get("maximum", value):
            span = f"from {least} to {most}" if most is not None else f"of {least} or more"
            raise BadValue(f"`{name}`", "is out of range", next_step=f"Give a number {span}.")
