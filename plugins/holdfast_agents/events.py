"""Events from client hooks and the replies to them, independent of any client.

:mod:`holdfast_agents.dialects` turns a payload into an :class:`Event`, and a :class:`Reply` into an :class:`Answer`.
The code between is the same for all clients. Part of the hot path, so without attrs and unneeded imports.
"""

from collections.abc import Mapping
from typing import NamedTuple

#: Kinds of events. Only COMPACTING is a gate. CONFIG is a change of settings that can be refused.
START, PROMPT, TOOL, STOP = "start", "prompt", "tool", "stop"
COMPACTING, COMPACTED, END, CONFIG, OTHER = "compacting", "compacted", "end", "config", "other"

_MAX_ID_CHARS = 120
#: Clients that wait for the flush, then compact even if it failed.
UNSTOPPABLE = frozenset({"qwen", "gemini", "copilot", "kimi"})


class Event(NamedTuple):
    """One call of a client's hook. Fields that the client did not send are empty.

    ``session`` is the holdfast session's id. ``key`` is the client's id of the turn, the same when an event is
    delivered twice. ``text`` is a prompt, the model's last answer, or a compaction's summary. ``source`` is the cause
    of the event (startup, resume, clear, compact, manual, auto, ...). ``transcripts`` are paths where the conversation
    may be recorded, the likeliest first. ``messages`` is a conversation in the payload itself. ``parts`` are messages
    with the ids that the transcript uses. ``tokens`` is the number of tokens in the context, ``window`` the model's
    limit. ``unsummarised``: the client compacted without a summary of its own. ``answers``: it takes a summary from us.
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
    parts: tuple[tuple[str, str], ...] = ()
    messages: tuple[object, ...] = ()
    path: str = ""
    tokens: int = 0
    window: int = 0
    unsummarised: bool = False
    answers: bool = False


class Reply(NamedTuple):
    """``block`` is the reason for a refusal, with the next step. ``context`` goes to the model, ``notice`` to the user.
    Empty strings mean nothing."""

    block: str = ""
    context: str = ""
    notice: str = ""


class Answer(NamedTuple):
    """The output and exit status of the hook process."""

    stdout: str = ""
    stderr: str = ""
    code: int = 0


NO_REPLY = Reply()


def session_of(client: str, native: str, agent: str = "") -> str:
    """The holdfast session of a client's session, or of a sub-agent in it: ``CLIENT-ID`` or ``CLIENT-ID-agent-ID``.

    Characters not allowed in ids become ``_``. A very long id is cut and gets a digest. Without an id it is the
    client's name alone.
    """
    whole = "-".join(filter(None, (client, native, f"agent-{agent}" if agent else "")))
    safe = "".join(c if c.isprintable() and not c.isspace() else "_" for c in whole)
    if len(safe) > _MAX_ID_CHARS:
        from holdfast.text.digests import sha256_of

        safe = f"{safe[:_MAX_ID_CHARS]}-{sha256_of(whole.encode('utf-8', 'replace'))[:16]}"
    return safe


def unsaved(client: str) -> str:
    """What happens to a context that is not saved."""
    if client in UNSTOPPABLE:
        return "holdfast has not saved this context, and this client compacts anyway:"
    return "holdfast keeps the context:"


def until(client: str) -> str:
    """What holds until a failure is repaired."""
    return f"Until then {'a compaction is not saved first' if client in UNSTOPPABLE else 'compaction is blocked'}."


def refusal(client: str, message: str, next_step: str, session: str) -> str:
    """The reason why the context is not saved and the next step, for the client's user."""
    override = f'`holdfast override --session {session} --reason "..."` lets it go once, unsaved.'
    return " ".join(filter(None, (unsaved(client), message, next_step, "" if client in UNSTOPPABLE else override)))


def text(payload: Mapping[str, object], *names: str) -> str:
    """The first value that is a non-blank string."""
    for name in names:
        value = payload.get(name)
        if isinstance(value, str) and value.strip():
            return value
    return ""


def json_text(value: Mapping[str, object]) -> str:
    """Compact JSON in ASCII, so that encodings do not matter."""
    import json

    return json.dumps(value, separators=(",", ":"))
