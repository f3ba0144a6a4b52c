"""A flush on the command line: its session, its payload and its receipt.

Flags override fields from a file or stdin, which holds JSON, or the flags as lines like ``fact: TEXT``: Claude Code
refuses to run a command with JSON in a here-document (observed with 2.1.332), and lines need no quoting.
"""

from __future__ import annotations

import re
from argparse import Namespace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from holdfast.config.serde import payload_from, stamp, unstructure
from holdfast.errors import FlushRefused, HoldfastError
from holdfast.fs import paths
from holdfast.journal import safety
from holdfast.text.humanize import ago, count, nearest
from holdfast.text.lazy import log
from holdfast_app.journal.journal import Journal
from holdfast_app.printable import size
from holdfast_app.project_settings import files
from holdfast_app.sessions.lookup import begun, unknown
from holdfast_app.trust import statefolders
from holdfast_cli.command import UsageError, argument, one_of
from holdfast_cli.stdin import parse_json, read_file, read_if_any

if TYPE_CHECKING:
    from holdfast import Holdfast
    from holdfast.models import Payload, Receipt
    from holdfast_cli.terminal import Term

logger = log(__name__)

LISTS = {
    "fact": ("facts", "something learned or changed"),
    "decision": ("decisions", "something decided"),
    "blocker": ("blockers", "a reason why the work cannot continue"),
    "artifact": ("artifacts", "a pointer to proof: path, issue or URL"),
    "follow_up": ("follow_ups", "something promised"),
    "needs_operator": ("needs_operator", "something that only the operator can do or decide"),
    "rejected": ("rejected", "an abandoned approach, as `WHAT: WHY`"),
    "rule": ("rules", "a standing rule of the user, verbatim"),
}
HANDOFF = {
    "active_task": ("active_task", "the open task"),
    "branch": ("branch", "its branch or review"),
    "handoff_blocker": ("blocker", "its blocker"),
    "next_action": ("next_action", "the first action"),
}
#: The names of lines. Those without a list have one value.
_SINGLE = ("objective", "next_step", "curated", *HANDOFF)
_NAMES = (*_SINGLE, *LISTS, "mutation", "memory", "user")
_MUTATION = re.compile(r"(?P<kind>[^:]*):(?P<target>https?://[^\s:]+(?::\d+)?[^\s:]*|[^:]*):(?P<summary>.*)", re.DOTALL)
_FILE = "payload from a file"
_FLAGS = "payload by flags, which win; repeat them, or pass `none` once"


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _option(name: str, text: str, **options: Any) -> Any:
    return argument(_flag(name), metavar="TEXT", help=text, group=_FLAGS, **options)


#: A flag for each field.
ARGUMENTS = (
    argument("--payload", metavar="FILE", help="JSON, or lines like `fact: TEXT`; `-` waits for stdin", group=_FILE),
    _option("objective", "the session's subject"),
    *(_option(name, text, action="append") for name, (_, text) in LISTS.items()),
    _option("next_step", "the next step"),
    argument(
        "--mutation",
        metavar="KIND:TARGET:SUMMARY",
        action="append",
        help="changed state; KIND is status, review, assignment, merge or decision",
        group=_FLAGS,
    ),
    *one_of(
        argument("--open", dest="work_open", action="store_true", default=None, help="work goes on", group=_FLAGS),
        argument("--closed", dest="work_open", action="store_false", default=None, help="work is done", group=_FLAGS),
    ),
    *(_option(name, f"handoff: {text}") for name, (_, text) in HANDOFF.items()),
    argument("--curated", choices=("none",), help="decide to change nothing in curated memory", group=_FLAGS),
    _option("memory", "a standing line for MEMORY.md", action="append"),
    _option("user", "a standing line for USER.md", action="append"),
)


def payload(args: Namespace, *, ask_stdin: bool) -> Payload | None:
    """The payload; None without one. Stdin is read only when no option gives a payload.

    Flags alone are not a complete statement. If they do not decide on curated memory, ``none`` is derived for them.
    Raises: UsageError; ConfigError naming each bad key.
    """
    flags = _flags(args)
    text, source = None, "The payload on stdin"
    if args.payload is not None:
        text = read_file(args.payload, "The payload")
        source = source if args.payload == "-" else f"The payload {args.payload}"
    elif ask_stdin and not flags:
        text = read_if_any()
        text = text if text and text.strip() else None
    if lines := _lines(text or ""):
        text, flags = None, {**_flags(Namespace(**{"curated": None, **lines})), **flags}
    if text is None and not flags:
        return None
    data = parse_json(text, source, '{"objective": "..."}') if text is not None else {}
    if not isinstance(data, dict):
        return payload_from(data, source)  # reports the error
    made = payload_from(_merged(data, flags), source if text is not None else "The payload")
    return made if text is not None or made.curated else made.evolve(curated="none", derived=["curated"])


def _lines(text: str) -> dict[str, Any]:
    """The flags in lines like ``fact: TEXT``, without those left as dots. Other lines continue the item before them,
    and a bullet is another item. Empty for JSON. Raises: UsageError for a field's misspelt name."""
    flags: dict[str, list[str]] = {}
    name = ""
    for line in filter(None, map(str.strip, text.splitlines())):
        head, colon, value = line.partition(":")
        known = re.sub(r"[ -]", "_", head.strip().casefold())
        known = known if known in _NAMES else known.removesuffix("s")
        if colon and known in _NAMES:
            name = known
            flags.setdefault(name, []).append(value.strip())
        elif colon and not head.startswith(("{", "[")) and (near := nearest(known, _NAMES, 0.75)):
            field = near.replace("_", " ")
            raise UsageError(f"{head.strip()!a} is no field of a payload.", next_step=f"Did you mean `{field}:`?")
        elif not name:
            return {}
        elif line.startswith(("- ", "* ")) and name not in _SINGLE:
            flags[name].append(line[2:])
        else:
            flags[name][-1] += f" {line}"
    items = {
        name: [item for item in items if item and not item.startswith(("...", "…"))] for name, items in flags.items()
    }
    return {name: " ".join(texts) if name in _SINGLE else texts for name, texts in items.items() if texts}


def _flags(args: Namespace) -> dict[str, Any]:
    flags = {name: value for name, value in vars(args).items() if value is not None}
    data: dict[str, Any] = {name: flags[name] for name in ("objective", "next_step", "work_open") if name in flags}
    data |= {name: _list(flags[option]) for option, (name, _) in LISTS.items() if option in flags}
    if "mutation" in flags:
        data["state_mutations"] = [_mutation(text) for text in _list(flags["mutation"])]
    if handoff := {key: flags[dest] for dest, (key, _) in HANDOFF.items() if dest in flags}:
        data["handoff"] = handoff
    lines = {name: _list(flags[name]) for name in ("memory", "user") if name in flags}
    if args.curated and lines:
        raise UsageError("--curated none and --memory or --user contradict each other.", next_step="Leave one out.")
    if args.curated or lines:
        data["curated"] = {name: strings for name, strings in lines.items() if strings} or "none"
    return data


def _list(strings: list[str]) -> list[str]:
    return [] if len(strings) == 1 and strings[0].strip().casefold() == "none" else strings


def _mutation(text: str) -> dict[str, str]:
    match = _MUTATION.fullmatch(text)
    parts = {name: value.strip() for name, value in match.groupdict("").items()} if match else {"kind": ""}
    if not all(parts.values()):
        raise UsageError(
            f"--mutation {text!a} is not KIND:TARGET:SUMMARY.",
            next_step='Write it like `--mutation "status:owner/repo#12:in review"`.',
        )
    return parts


def _merged(data: dict[str, Any], flags: dict[str, Any]) -> dict[str, Any]:
    """Merge field by field. Missing handoff fields are derived from the other fields."""
    merged = {**data, **flags}
    if handoff := flags.get("handoff"):
        stated, blockers = data.get("handoff"), merged.get("blockers")
        merged["handoff"] = {
            "active_task": merged.get("objective") or "",
            "branch": "none",
            "blocker": "; ".join(map(str, blockers)) if isinstance(blockers, list) and blockers else "none",
            "next_action": merged.get("next_step") or "",
            **(stated if isinstance(stated, dict) else {}),
            **handoff,
        }
    return merged


#: Up to this many missing fields count as forgotten. With more, the session's name is probably wrong.
_FEW = 3


def require_session(memory: Holdfast, session_id: str, payload: Payload | None = None) -> str:
    """The whole id of the session with this id or short id.

    Raises: NotFound when the session has neither a journal nor an UNSAFE marker, because a mistyped id must not look
    like a successful flush; with a payload, which can begin a session, FlushRefused when it is incomplete. Checked
    before the flush begins, so that a session that never existed does not remain as UNSAFE."""
    from holdfast.flush import contract

    missing = contract.missing(payload) if payload is not None else ()
    begins = payload is not None and not missing
    if whole := begun(memory, session_id, printed=begins):
        return whole
    session_id = memory.services.gate.identifier(session_id)
    if begins:
        return session_id
    error = unknown(memory, session_id)
    if payload is None:
        raise error
    names = ", ".join(f"`{name}`" for name in missing)
    raise FlushRefused(
        f"The payload lacks {names}, and session {session_id!r} does not exist, so nothing can be derived.",
        next_step=how_to_give(missing) if len(missing) <= _FEW else error.next_step,
        missing=missing,
        target="payload",
    )


def how_to_give(missing: tuple[str, ...]) -> str:
    """The next step for a payload that lacks fields."""
    return f"Run the same command again with `{flags_for(missing)}`, or with text instead of `none`."


def flags_for(missing: tuple[str, ...]) -> str:
    """The flags of missing fields, each with ``none``, which is an answer."""
    options = {field: [option] for option, (field, _) in LISTS.items()} | {"state_mutations": ["mutation"]}
    options |= {f"handoff.{key}": [option] for option, (key, _) in HANDOFF.items()} | {"handoff": [*HANDOFF]}
    return " ".join(f"{_flag(option)} none" for name in missing for option in options.get(name, [name]))


def receipt_table(receipt: Receipt) -> dict[str, Any]:
    """The receipt with ``ok`` first: true when everything is written and read back."""
    return {"ok": not receipt.overridden, **unstructure(receipt)}


def show_receipt(out: Term, receipt: Receipt, *, now: datetime) -> None:
    session = out.bold(out.plain(receipt.session_id))
    if receipt.overridden:
        out.say(
            f"{out.mark('fail')} {out.red('not saved', bold=True)}: session {session} continues by operator's override"
        )
        out.fill(receipt.overridden, "    reason: ")
    elif receipt.repeated:
        out.say(f"{out.mark('ok')} session {session} is flushed already, {ago(receipt.at, now)}; no new messages since")
    else:
        where = "to this machine" if receipt.spooled else "and was read back"
        mark = out.mark("warn" if receipt.spooled else "ok")
        out.say(f"{mark} session {session} is flushed ({receipt.reason}) {where}")
    if receipt.flush_id:
        out.say(f"  {out.dim(receipt.flush_id + f' at {receipt.at:%Y-%m-%d %H:%M %Z}'.rstrip())}")
    if receipt.written:
        ok = out.mark_cell("ok")
        rows = [(ok, w.surface, w.name, size(w.size), (w.sha256[:12], "dim")) for w in receipt.written]
        out.say()
        out.say(out.table(rows, right=(3,)))
    for item in receipt.evidence:
        if item.pointer:
            out.say(f"  {out.mark('ok')}  {out.plain(item.target)}  {out.plain(item.pointer)}")
    remarks = list(receipt.warnings)
    if receipt.spooled:
        remarks.append(
            f"Kept on this machine, not yet on {receipt.spooled}. It is written there by the next flush, session start "
            "or `holdfast spool send`; until then only this machine has it."
        )
    if receipt.pending:
        remarks.append(
            f"Degraded: {count(receipt.pending, 'item')} to be published later (`holdfast outbox`); until then the "
            "daily summary lists them."
        )
    for label, names in (("derived from the messages", receipt.derived), ("nothing was said about", receipt.not_found)):
        if names:
            out.fill(", ".join(name.replace("_", " ") for name in names), f"  {label}: ", "    ")
    for remark in remarks:
        out.note("warn", remark, indent="  ")


def unopened(root: str | None, session_id: str, payload: Payload, error: HoldfastError) -> None:
    """Note in the session's marker that ``payload`` was refused before the project could even be opened, or its
    messages read. Guesses whatever depends on the settings. Never raises."""
    from holdfast.flush import contract
    from holdfast.flush.refused_payloads import digest, not_begun

    try:
        folder = files.find_root(root)
        state = statefolders.of_files(folder)
        old = safety.read(state, session_id)
        if contract.missing(payload) and old is None and not Journal(state, session_id).exists():
            return  # a session that never existed must not be left as UNSAFE
        at = stamp(datetime.now(UTC))
        stated = safety.Stated(digest=digest(payload), at=at, why=paths.rewrite(error.message, folder))
        not_begun(state, old or safety.Marker(session=session_id, at=at, reason="manual"), [stated], error, folder)
    except HoldfastError as second:
        logger.warning("a refused payload could not be recorded: %s", second.message)
