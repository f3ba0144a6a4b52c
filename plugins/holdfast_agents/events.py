"""What a client's hook says and what it is answered, free of any client's dialect.

A dialect module turns a payload into an :class:`Event` and a :class:`Reply` into an :class:`Answer`; what happens in
between knows no client. Part of the hot path: no attrs, nothing imported that is not needed.
"""

from __future__ import annotations

from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Protocol

    class Dialect(Protocol):
        """A module that speaks as one client does."""

        @property
        def CLIENT(self) -> str:  # noqa: N802 - a module's constant
            """The client's name on the command line."""

        @property
        def LIMITS_S(self) -> Mapping[str, float]:  # noqa: N802 - a module's constant
            """Seconds that the client grants to a kind of event, less what it takes to answer."""

        @property
        def GATED(self) -> tuple[bytes, ...]:  # noqa: N802 - a module's constant
            """What the payload of a compaction cannot do without, for payloads that cannot be read."""

        def parse(self, payload: Mapping[str, object]) -> Event:
            """The event that a payload tells of. Never raises: what is missing or of a wrong type is left empty."""

        def answer(self, kind: str, reply: Reply) -> Answer:
            """``reply`` as the client wants it."""


#: The kinds of event. Only COMPACTING is a gate; CONFIG is a wish that can be refused.
START, PROMPT, TOOL, STOP, COMPACTING, COMPACTED, END, CONFIG, OTHER = (
    "start",
    "prompt",
    "tool",
    "stop",
    "compacting",
    "compacted",
    "end",
    "config",
    "other",
)

_MAX_ID_CHARS = 120
#: How clients begin the line that names an exit status, and how far into a text it can be.
_STATUS_MARKS = ("Process exited with code", "Command exited with non-zero status code", "Exit code")
_STATUS_CHARS = 500


class Event(NamedTuple):
    """One call of a client's hook. What the client did not say is empty.

    ``session`` is the id of the holdfast session; ``key`` what the client calls the turn, the same when it delivers an
    event twice; ``text`` a prompt, what the model said last, or the summary of a compaction; ``source`` what caused
    the event (startup, resume, clear, compact, manual, auto, ...). ``transcripts`` are paths where the conversation may
    be recorded, the likeliest first; ``exit_status`` is a command's, where the client names it; ``messages`` is a
    conversation given in the payload itself. ``parts`` are texts with ids of their own, the same that the transcript
    has. ``tokens`` are in the context, of the ``window``'s.
    """

    client: str
    kind: str
    name: str = ""
    session: str = ""
    native: str = ""
    agent: str = ""
    cwd: str = ""
    transcripts: tuple[str, ...] = ()
    source: str = ""
    key: str = ""
    text: str = ""
    tool: str = ""
    arguments: object = None
    output: object = None
    call: str = ""
    failed: bool = False
    exit_status: int | None = None
    parts: tuple[tuple[str, str], ...] = ()
    messages: tuple[object, ...] = ()
    path: str = ""
    tokens: int = 0
    window: int = 0


class Reply(NamedTuple):
    """``block`` is why not, with what to do about it; ``context`` is put before the model; ``notice`` is shown to the
    person. Empty where there is nothing to say."""

    block: str = ""
    context: str = ""
    notice: str = ""


class Answer(NamedTuple):
    """What the process leaves behind."""

    stdout: str = ""
    stderr: str = ""
    code: int = 0


SILENCE = Reply()


def session_of(client: str, native: str, agent: str = "") -> str:
    """The holdfast session of a client's session, or of a sub-agent in it: ``CLIENT-ID`` or ``CLIENT-ID-agent-ID``.

    Characters that no id can have become ``_``; a very long id is cut and gets a digest. Without an id it is the
    client's name alone.
    """
    whole = "-".join(filter(None, (client, native, f"agent-{agent}" if agent else "")))
    safe = "".join(c if c.isprintable() and not c.isspace() else "_" for c in whole)
    if len(safe) > _MAX_ID_CHARS:
        import hashlib

        digest = hashlib.sha256(whole.encode("utf-8", "replace")).hexdigest()[:16]
        safe = f"{safe[:_MAX_ID_CHARS]}-{digest}"
    return safe


def refusal(message: str, next_step: str, session: str) -> str:
    """Why compaction is blocked and what to do, for the person at the client."""
    way_past = f'`holdfast override --session {session} --reason "..."` lets it go once, unsaved.'
    return " ".join(filter(None, ["holdfast keeps the context:", message, next_step, way_past]))


def text(payload: Mapping[str, object], *names: str) -> str:
    """The first of the values that is a text with something in it."""
    for name in names:
        value = payload.get(name)
        if isinstance(value, str) and value.strip():
            return value
    return ""


def exit_status(*places: object) -> int | None:
    """The exit status of a command that the client names in one of ``places``: a member of an object, or the beginning
    of a text, like ``Exit code: 1``. None when no place names one."""
    for place in places:
        if isinstance(place, dict):
            values = [place.get(name) for name in ("exit", "exit_code", "exitCode", "exit_status")]
            found = next((v for v in values if isinstance(v, int) and not isinstance(v, bool)), None)
            found = exit_status(place.get("metadata")) if found is None else found
        else:
            found = _told_status(place) if isinstance(place, str) else None
        if found is not None:
            return found
    return None


def _told_status(said: str) -> int | None:
    head = said[:_STATUS_CHARS].partition("Output:\n")[0]
    for line in head.splitlines():
        for mark in _STATUS_MARKS:
            before, found, rest = line.partition(mark)
            number = rest.strip(": .").split(" ")[0]
            if found and not before.strip() and number.removeprefix("-").isdecimal():
                return int(number)
    return None


def json_text(value: Mapping[str, object]) -> str:
    """Compact JSON, in ASCII: no client can trip over an encoding."""
    import json

    return json.dumps(value, separators=(",", ":"))
