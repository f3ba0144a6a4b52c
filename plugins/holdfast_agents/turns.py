"""Journals a turn as it happens, without opening a store or importing anything heavy.

A message's id is the same when the same event is delivered twice, because users may have installed the hooks twice. A
tool's call and result carry the call's id, so that :mod:`holdfast_agents.records.follow` recognises them in the
transcript.
"""

import os

from holdfast.clock import local_now
from holdfast.errors import ConfigError, Refused
from holdfast.fs import safeopen
from holdfast.gate import Gate
from holdfast.journal import capture
from holdfast.journal.journal import file_stem
from holdfast_agents import events
from holdfast_app.capture import hot_plugins, label
from holdfast_app.journal.journal import Journal
from holdfast_app.message_formats.leaves import (
    BACKGROUND,
    MAX_SAID_CHARS,
    call_text,
    clean,
    clip,
    is_outside,
    result_text,
    without_files,
    without_injected,
)

try:
    from _blake2 import blake2b  # the same function as hashlib.blake2b, without the 3 ms of loading OpenSSL
except ImportError:
    from hashlib import blake2b

#: Prefix of message ids that a hook assigned.
MARK = "hook-"


def journal(event: events.Event, root: str) -> tuple[str, ConfigError | None]:
    """Journal an event's text durably. Returns the private folder, and the error for an unreadable project file.

    Such a file does not stop the journal, because a clone must not prevent a turn from being saved. Where the user
    trusts the project's settings, nothing is journalled without them. Text refused by the gate is replaced by a line
    that names the rule. Raises: ConfigError, PluginError, Unavailable. Nothing was written then.
    """
    broken: ConfigError | None = None
    try:
        manager, state = hot_plugins(root)
    except ConfigError as error:
        from holdfast_app.project_settings import trust

        known = trust.record_of(root)
        if known is not None and known.settings:
            raise
        broken = error
        manager, state = hot_plugins(root, alone=True)
    gate, at = Gate(manager), local_now()
    records = []
    for role, text, given_id in _said(event):
        tool = event.tool if event.kind == events.TOOL and role != "system" else ""
        try:
            draft = capture.record(role, text, at=at, tool=clean(tool), failed=event.failed and role == "tool")
            [record] = capture.admitted(gate, root, [draft])
        except Refused as refused:
            [record] = capture.admitted(gate, root, [capture.record(role, withheld(refused), at=at)])
        turn = event.call or event.key or os.urandom(8).hex()
        record["id"] = label(gate, given_id) or MARK + digest(event.name, turn, record["role"], record["text"])
        if event.call and event.kind == events.TOOL:
            record["call"] = digest(event.call)
        records.append(record)
    if records:
        Journal(state, event.session).append(*records)
    return state, broken


def withheld(refused: Refused) -> str:
    """The journal's placeholder for a message that must not be stored. It names the rule that refused it."""
    rules = sorted({getattr(f, "rule", "") for f in refused.findings} - {""})
    return f"[a text was withheld: a validator refused it ({', '.join(rules) or 'no rule named'})]"


def gap(state: str, session: str) -> str:
    """The file that marks a session with an event missing from its journal, until its transcript has been read."""
    return os.path.join(state, "agents", f"{file_stem(session)}.gap")


def brief_due(state: str, session: str) -> str:
    """The file that marks a session whose brief comes with its next prompt."""
    return f"{gap(state, session)}-brief"


def digest(*parts: str | bytes) -> str:
    """20 hexadecimal digits. Part boundaries count: ("ab", "c") and ("a", "bc") differ. A client's tool call id is
    stored in this form."""
    whole = blake2b(digest_size=10)
    for part in parts:
        data = part.encode("utf-8", "replace") if isinstance(part, str) else part
        whole.update(b"%d:" % len(data) + data)
    return whole.hexdigest()


def is_from_outside(event: events.Event) -> bool:
    """Whether strangers wrote the call's result."""
    from holdfast_app.authorship import strangers

    call = call_text(event.tool, event.arguments, event.cwd)
    return is_outside(event.tool) or strangers.FETCHES.search(call) is not None


def is_unsafe(state: str, session: str) -> bool:
    """Whether the session has an UNSAFE marker, stated payloads or an entry in the reserve, all unparsed."""
    stem = file_stem(session)
    if any(os.path.exists(os.path.join(state, folder, f"{stem}.json")) for folder in ("unsafe", "stated")):
        return True
    try:
        return f" {stem} ".encode() in safeopen.read(os.path.join(state, "unsafe.reserve"))
    except OSError:
        return False


def _said(event: events.Event) -> list[tuple[str, str, str]]:
    """Role, text and id of each message to journal. The id is empty where the client has none."""
    injected: list[str] = []  # evidence of who said a sentence first
    if event.kind == events.TOOL:
        name = clean(event.tool) or "tool"
        text = result_text(event.output, lambda content: without_injected(content, injected), name)
        if event.agent:
            return [("system", text, "")]
        called = [] if event.tool == BACKGROUND else [("assistant", call_text(name, event.arguments, event.cwd), "")]
        messages = [*called, ("tool", text, "")]
    else:
        role = "user" if event.kind == events.PROMPT else "assistant"
        pairs = event.parts or (("", event.text),)
        cleaned = [(clean(part_id), without_injected(clean(text), injected)) for part_id, text in pairs]
        parts = [(part_id, without_files(text, injected)) for part_id, text in cleaned]
        messages = [(role, clip(text.strip(), MAX_SAID_CHARS), part_id) for part_id, text in parts if text.strip()]
    shown = "\n".join(injected).strip()
    return [*messages, ("system", shown, "")] if shown else messages
