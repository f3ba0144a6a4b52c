"""The payload from the command line. Flags override fields from a file or stdin."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from holdfast.errors import ConfigError
from holdfast.text import untrusted
from holdfast_cli.args import file_name
from holdfast_cli.problem import UsageError
from holdfast_cli.stdin import decode, read_if_any, read_text

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from holdfast.models import Payload

LISTS = {
    "fact": ("facts", "something learned or changed"),
    "decision": ("decisions", "something decided"),
    "blocker": ("blockers", "a reason why the work cannot continue"),
    "artifact": ("artifacts", "a pointer to proof: path, issue or URL"),
    "follow_up": ("follow_ups", "something promised"),
    "needs_operator": ("needs_operator", "something that only the operator can do or decide"),
}
HANDOFF = {
    "active_task": ("active_task", "--active-task", "the open task"),
    "branch": ("branch", "--branch", "its branch or review"),
    "handoff_blocker": ("blocker", "--handoff-blocker", "its blocker"),
    "next_action": ("next_action", "--next-action", "the first action"),
}
_MUTATION = re.compile(r"(?P<kind>[^:]*):(?P<target>https?://[^\s:]+(?::\d+)?[^\s:]*|[^:]*):(?P<summary>.*)", re.DOTALL)


def add_arguments(parser: ArgumentParser) -> None:
    """A flag for each field."""
    source = parser.add_argument_group("payload from a file")
    source.add_argument(
        "--payload", metavar="FILE", type=file_name, help="JSON with the fields below; `-` waits for stdin"
    )
    fields = parser.add_argument_group(
        "payload by flags", "They override the file. For lists, repeat the flag, or pass `none` once."
    )
    fields.add_argument("--objective", metavar="TEXT", help="the session's subject")
    for flag, (_, text) in LISTS.items():
        fields.add_argument(f"--{flag.replace('_', '-')}", metavar="TEXT", action="append", help=text)
    fields.add_argument("--next-step", metavar="TEXT", help="the next step")
    fields.add_argument(
        "--mutation",
        metavar="KIND:TARGET:SUMMARY",
        action="append",
        help="changed state; KIND is status, review, assignment, merge or decision",
    )
    state = fields.add_mutually_exclusive_group()
    state.add_argument("--open", dest="work_open", action="store_true", default=None, help="work goes on")
    state.add_argument("--closed", dest="work_open", action="store_false", help="work is done")
    for dest, (_, flag, text) in HANDOFF.items():
        fields.add_argument(flag, dest=dest, metavar="TEXT", help=f"handoff: {text}")
    fields.add_argument("--curated", choices=("none",), help="decide to change nothing in curated memory")
    fields.add_argument("--memory", metavar="LINE", action="append", help="a standing line for MEMORY.md")
    fields.add_argument("--user", metavar="LINE", action="append", help="a standing line for USER.md")


def payload(args: Namespace, *, ask_stdin: bool) -> Payload | None:
    """The payload; None without one. Stdin is read only when no option gives a payload.

    Flags alone are no complete statement. If they do not decide on curated memory, ``none`` is derived for them.
    Raises: UsageError; ConfigError naming each bad key.
    """
    from holdfast.config.serde import payload_from

    flags = _flags(args)
    text, source = None, "The payload on stdin"
    if args.payload == "-":
        text = read_text()
    elif args.payload is not None:
        text, source = _read_file(args.payload), f"The payload {args.payload}"
    elif ask_stdin and not flags:
        text = read_if_any()
        text = text if text and text.strip() else None
    if text is None and not flags:
        return None
    data = _parse(text, source) if text is not None else {}
    if not isinstance(data, dict):
        return payload_from(data, source)  # reports the error
    try:
        made = payload_from(_merged(data, flags), source if text is not None else "The payload")
        return made if text is not None or made.curated else made.evolve(curated="none", derived=["curated"])
    except ConfigError as error:
        error.next_step = error.next_step or "The fields and their form: `holdfast flush --help`."
        raise


def _flags(args: Namespace) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for name in ("objective", "next_step", "work_open"):
        if getattr(args, name) is not None:
            data[name] = getattr(args, name)
    for flag, (name, _) in LISTS.items():
        if getattr(args, flag) is not None:
            data[name] = _list(getattr(args, flag))
    if args.mutation is not None:
        data["state_mutations"] = [_mutation(text) for text in _list(args.mutation)]
    handoff = {key: getattr(args, dest) for dest, (key, _, _) in HANDOFF.items() if getattr(args, dest) is not None}
    if handoff:
        data["handoff"] = handoff
    lines = {name: _list(getattr(args, name)) for name in ("memory", "user") if getattr(args, name) is not None}
    if args.curated and lines:
        raise UsageError("--curated none and --memory or --user contradict each other.", next_step="Leave one out.")
    if args.curated or lines:
        data["curated"] = {name: texts for name, texts in lines.items() if texts} or "none"
    return data


def _list(texts: list[str]) -> list[str]:
    return [] if len(texts) == 1 and texts[0].strip().casefold() == "none" else texts


def _mutation(text: str) -> dict[str, str]:
    match = _MUTATION.fullmatch(text)
    parts = {name: value.strip() for name, value in match.groupdict().items()} if match else {}
    if not parts or not all(parts.values()):
        raise UsageError(
            f"--mutation {text!a} is not KIND:TARGET:SUMMARY.",
            next_step='Write it like `--mutation "status:owner/repo#12:in review"`.',
        )
    return parts


def _merged(data: dict[str, Any], flags: dict[str, Any]) -> dict[str, Any]:
    """Merge field by field. Missing handoff fields are derived from the other fields."""
    merged = {**data, **flags}
    handoff = flags.get("handoff")
    if handoff:
        stated = data.get("handoff")
        blockers = merged.get("blockers")
        merged["handoff"] = {
            "active_task": merged.get("objective") or "",
            "branch": "none",
            "blocker": "; ".join(map(str, blockers)) if isinstance(blockers, list) and blockers else "none",
            "next_action": merged.get("next_step") or "",
            **(stated if isinstance(stated, dict) else {}),
            **handoff,
        }
    return merged


def _parse(text: str, source: str) -> Any:
    try:
        return untrusted.from_json(text)
    except ValueError as error:
        raise UsageError(
            f"{source} is not valid JSON: {error}.", next_step='It should begin like {"objective": "..."}.'
        ) from error


def _read_file(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return decode(file.read(), f"The payload {path}")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(
            f"The payload {path!r} cannot be read: {reason}.",
            next_step="Pass a JSON file's path, or `-` for stdin.",
        ) from error
