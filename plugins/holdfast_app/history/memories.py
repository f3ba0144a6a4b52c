"""Reads other programs' memories, with one small function per format, recognised by a row's or a file's content.

A conversation becomes a session of its own. A memory becomes statements by an agent: dated ones in one session per
day, the others in one session per program. Each statement's id follows from its words, so importing a grown memory
adds only its new statements.

Formats, from documentation and public code: claude-mem 13, basic-memory 0.24, mem0 2, the MCP reference memory server,
Codex's memories, Claude Code's auto memory, and the data exports of ChatGPT and Claude.
"""

import json
import math
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from holdfast_app.authorship.ownwords import before_mail
from holdfast_app.authorship.strangers import directs
from holdfast_app.markdown.lines import BLANK, CODE, FENCE, HEADING, ITEM, RULE, TEXT, Line, Lines
from holdfast_app.message_formats.leaves import clean, is_outside
from holdfast_app.message_formats.messages import take_content
from holdfast_app.message_formats.reading import Reading, Transcript, mapping, moment_of, row_key
from holdfast_app.printable import some

PROGRAMS: Final = frozenset(
    {"basic-memory", "claude-mem", "claude-memory", "codex-memory", "mcp-memory", "mem0", "notes"}
)
"""The programs whose memory is read. Every other one recorded conversations."""
ATTACHMENT: Final = "attachment"
"""The tool name for what others wrote."""
#: A longer statement is kept and searchable, but does not become a fact. A shorter one needs its title.
_MOST_CHARS: Final = 500
_LEAST_WORDS: Final = 4
#: For a database, in 100,000 instructions of SQLite: about a minute.
_MOST_STEPS: Final = 5_000
_OBSERVATION: Final = re.compile(r"\[[^\[\]()]{1,60}\] \S")
_RELATION: Final = re.compile(r"(\S.*? )?\[\[([^\]]+)\]\](.*)")
_LINK: Final = re.compile(r"\[[^\]]*\]\([^)\s]+\.md\)")
#: A link to another note, and the reasons that Claude Code adds to a rule.
_ASIDE: Final = re.compile(rf"{_LINK.pattern}|\*\*(?:Why|How to apply):")
_TAGS: Final = re.compile(r"\s#[\w/-]+")
#: The kind of a block that the note's author did not write.
_QUOTED: Final = "quoted"
#: Sections that only point to other notes.
_POINTERS: Final = frozenset({"rollout_summary_files", "keywords", "relations"})


class Statement(NamedTuple):
    """A remembered statement. ``at`` is None when its program does not date it. One of others is quoted there, or
    directs its reader and has a page or the like for its source."""

    text: str
    at: datetime | None = None
    is_fact: bool = True
    is_others: bool = False


def sessions(program: str, statements: Iterable[Statement], at: datetime) -> list[Transcript]:
    """The statements as sessions. ``at`` dates the undated ones."""
    made: dict[str, Reading] = {}
    for text, own, is_fact, is_others in statements:
        session = f"{program}-{own:%Y-%m-%d}" if own else program
        reading = made.setdefault(session, Reading(session_id=session))
        text = clean(text).strip()
        aside = not is_fact or len(text) > _MOST_CHARS
        reading.at(own or at)
        if is_others:
            reading.answer(text, key=row_key("", 0, program, text), tool=ATTACHMENT)
        else:
            reading.say("assistant", text, key=row_key("", 0, program, text), aside=aside)
    return [reading.finish(program, next_offset=0, truncated=False) for reading in made.values()]


# --- JSON


def statements_of(row: Mapping[str, Any]) -> tuple[str, list[Statement]] | None:
    """A memory row's program and statements; None for any other row."""
    if isinstance(row.get("memory"), str) and "id" in row:
        others = any("://" in clean(value) for value in (row.get("source"), *mapping(row.get("metadata")).values()))
        is_others = others and directs(row["memory"])
        return "mem0", [Statement(row["memory"], moment_of(row.get("created_at")), is_others=is_others)]
    if {"from", "to", "relationType"} <= row.keys():
        return "mcp-memory", [Statement(f"{row['from']} {clean(row['relationType']).replace('_', ' ')} {row['to']}")]
    if "entityType" in row and isinstance(row.get("observations"), list):  # some servers leave the type out
        about, others = f"{clean(row.get('name'))}: ", is_outside(clean(row["entityType"]))
        seen = [text for text in row["observations"] if isinstance(text, str)]
        return "mcp-memory", [Statement(about + text, is_others=others and directs(text)) for text in seen]
    return None


def conversation_of(row: Mapping[str, Any]) -> Transcript | None:
    """A conversation from an export of ChatGPT or Claude; None for any other row, and for an empty one."""
    reading = Reading(session_id=clean(row.get("uuid") or row.get("conversation_id") or row.get("id")))
    if isinstance(row.get("mapping"), dict):
        program = "chatgpt"
        reading.at(row.get("create_time"))
        for node in _branch(row["mapping"], row.get("current_node")):
            _take_chatgpt(mapping(node.get("message")), reading)
    elif isinstance(row.get("chat_messages"), list):
        program = "claude"
        reading.at(row.get("created_at"))
        for number, message in enumerate(map(mapping, row["chat_messages"])):
            role = "user" if message.get("sender") == "human" else "assistant"
            content, key = message.get("content") or message.get("text"), row_key(message.get("uuid"), number)
            reading.at(message.get("created_at"))
            take_content(reading, role, content, key=key)
            files = message.get("attachments")
            for extra, file in enumerate(map(mapping, files if isinstance(files, list) else ())):
                text = f"[{clean(file.get('file_name'))}]\n{clean(file.get('extracted_content'))}"
                reading.answer(text, key=f"{key}#file{extra}", tool=ATTACHMENT)
    else:
        return None
    return reading.finish(program, next_offset=0, truncated=False)


def _branch(nodes: Mapping[str, Any], last: object) -> list[Mapping[str, Any]]:
    """The nodes from the root to ``last``, without abandoned branches; all in order without a usable ``last``."""
    branch: list[Mapping[str, Any]] = []
    seen = set[object]()
    while isinstance(last, str) and last in nodes and last not in seen:
        seen.add(last)
        branch.append(mapping(nodes[last]))
        last = branch[-1].get("parent")
    return branch[::-1] or [mapping(node) for node in nodes.values()]


def _take_chatgpt(message: Mapping[str, Any], reading: Reading) -> None:
    author, content = mapping(message.get("author")), mapping(message.get("content"))
    role = clean(author.get("role"))
    reading.at(message.get("create_time"))
    parts = content.get("parts") or content.get("text") or content.get("thoughts")
    key = row_key(message.get("id"), len(reading.kept))
    if mapping(message.get("metadata")).get("is_visually_hidden_from_conversation") or role == "system":
        return
    if role == "tool":
        reading.answer(parts, key=key, tool=author.get("name"))
    elif clean(content.get("content_type")) in {"thoughts", "reasoning_recap"}:
        reading.think({"thinking": parts}, key=key)
    elif role == "assistant" and message.get("recipient", "all") != "all":
        reading.call(message.get("recipient"), parts, key=key)
    elif role in {"user", "assistant"}:
        shown = [_part(part) for part in parts] if isinstance(parts, list) else parts
        take_content(reading, role, shown, key=key)


def _part(part: object) -> object:
    """Spoken words as text, and a picture as an attachment, as other interfaces have them."""
    return part.get("text") or {"type": "attachment", **part} if isinstance(part, dict) else part


# --- SQLite


def is_claude_mem(path: str) -> bool:
    """Whether a database has claude-mem's tables. Raises: sqlite3.Error."""
    with closing(opened(path)) as database:
        plain = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE TABLE%'"
        return {"observations", "session_summaries"} <= {name for (name,) in database.execute(plain)}


def claude_mem(path: str, project: str) -> Iterator[Statement]:
    """The observations and summaries in claude-mem's database, which holds all projects of a user: those of ``project``
    if there are any, otherwise all. Raises: sqlite3.Error, also for another database; ValueError after a damaged
    row."""
    damaged: list[str] = []
    with closing(opened(path)) as database:
        database.text_factory = partial(str, encoding="utf-8", errors="replace")
        own = database.execute("SELECT 1 FROM observations WHERE project = ? LIMIT 1", (project,)).fetchone()
        chosen = ("WHERE ? IN (project, '') ORDER BY created_at_epoch, id", (project if own else "",))
        for row in map(dict, database.execute(f"SELECT * FROM observations {chosen[0]}", chosen[1])):  # noqa: S608
            at = moment_of(row["created_at_epoch"])
            try:
                facts = json.loads(clean(row.get("facts")) or "[]") or []
            except (ValueError, RecursionError):
                facts = None
            if not isinstance(facts, list):
                damaged.append(f"observation {row['id']}")
                continue
            texts = (clean(row.get(name)) for name in ("title", "subtitle", "narrative", "text"))
            yield Statement("\n".join(filter(None, texts)), at, not facts)
            yield from (Statement(fact, at) for fact in map(str, facts))
        for row in map(dict, database.execute(f"SELECT * FROM session_summaries {chosen[0]}", chosen[1])):  # noqa: S608
            texts = (f"{name.replace('_', ' ').capitalize()}: {row[name]}" for name in _SUMMARY if row.get(name))
            yield Statement("\n".join(texts), moment_of(row["created_at_epoch"]), is_fact=False)
    if damaged:
        raise ValueError(f"{len(damaged):,} of its rows could not be read ({some(damaged)}); the others were")


def opened(path: str) -> sqlite3.Connection:
    """Read-only, with nothing run that the file defines, values of 16 MiB, and for a minute at most."""
    database = sqlite3.connect(f"{Path(path).resolve().as_uri()}?mode=ro", uri=True)
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 16 << 20)
    database.row_factory = sqlite3.Row
    database.execute("PRAGMA trusted_schema = OFF")
    steps = iter(range(_MOST_STEPS))  # a damaged file can have more rows than bytes
    database.set_progress_handler(lambda: next(steps, None) is None, 100_000)
    return database


_SUMMARY: Final = ("request", "investigated", "learned", "completed", "next_steps", "notes")


# --- Markdown


def markdown(text: str, name: str) -> tuple[str, list[Statement]]:
    """The program that wrote the Markdown file ``name``, and the file's items and paragraphs as statements."""
    fields, body = dict[str, str](), text.removeprefix("\ufeff")
    begin, _, rest = body.partition("\n")
    head, closed, after = rest.partition("\n---")
    if begin.strip() == "---" and closed:  # the front matter
        pairs = (line.partition(":") for line in head.splitlines())
        fields, body = {key.strip(): value.strip().strip("'\"") for key, _, value in pairs if value.strip()}, after
    at = moment_of(fields.get("created") or fields.get("created_at"))
    title = fields.get("title") or fields.get("name") or Path(name).stem.replace("_", " ").replace("-", " ")
    statements, program, heading, links = list[Statement](), "notes", "", 0
    if "permalink" in fields:
        program = "basic-memory"
    elif {"name", "description"} <= fields.keys():
        program = "claude-memory"
        statements.append(Statement(fields["description"], at, is_fact=False))
    for kind, block in _blocks(body):
        relation = _RELATION.fullmatch(block) if kind == ITEM else None
        if kind == HEADING:
            heading = block
            program = "codex-memory" if block.startswith("Task Group:") else program
            title = heading if heading.startswith("Task Group:") else title
        elif relation and program == "basic-memory":
            verb = (relation[1] or "relates to").replace("_", " ").strip()
            statements.append(Statement(f"{title} {verb} {relation[2]}{relation[3]}", at))
        elif kind == ITEM and _OBSERVATION.match(block) and program in ("basic-memory", "notes"):
            program = "basic-memory"
            statements.append(Statement(f"{title}: {_TAGS.sub('', block.partition('] ')[2])}", at))
        elif kind in (ITEM, TEXT):
            links += bool(_LINK.match(block))
            words = len(block.split())
            shown = block if words >= _LEAST_WORDS else f"{heading or title}: {block}"
            is_fact = words > 1 and heading.casefold() not in _POINTERS and not _ASIDE.match(block)
            statements.append(Statement(shown, at, is_fact))
        else:
            statements.append(Statement(block, at, is_fact=False, is_others=kind == _QUOTED))
    if program == "notes" and links and name == "MEMORY.md":  # the index of Claude Code's auto memory
        program = "claude-memory"
    return ("codex-memory" if name == "memory_summary.md" else program), statements


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """The headings, items, paragraphs and code of a document, each with its kind: ``_QUOTED`` for a mail, a quotation,
    and, up to the next heading, what follows an address with a colon."""
    kind, block, is_others, own = "", list[str](), False, before_mail(text)
    most = own.count("\n") if own != text else math.inf
    for line in (*Lines(text), Line(BLANK, 0, "")):
        if block and (line.kind not in (TEXT, CODE) or (line.kind == CODE) != (kind == CODE)):
            whole = ("\n" if kind == CODE else " ").join(block)
            yield _QUOTED if is_others or whole.startswith(">") else kind, whole
            is_others |= "://" in whole and whole.endswith(":") and len(whole.split()) < _LEAST_WORDS
            block = []
        is_others = line.number > most or (is_others and line.kind != HEADING)
        if line.kind not in (BLANK, RULE, FENCE):
            kind = kind if block else line.kind
            block.append(line.text)
        if line.kind == HEADING:
            yield HEADING, block.pop()
