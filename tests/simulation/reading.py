"""What a person or an agent reads after a crash, compared with a small model of what was stated."""

import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from functools import cached_property
from hashlib import sha256
from itertools import chain
from typing import Any

from attrs import frozen

from holdfast.models import Receipt

#: None of them says the same as another.
RULES = ("Never push on Friday", "Ask before a deletion", "Write short sentences", "Keep the tests green")
#: A block's parts: the lines' label, the label without content (a part whose label is empty is left out), the field.
PARTS = {
    "Rules of the user": [("Rule", "", "rules")],
    "What happened": [("Fact", "Facts", "facts")],
    "What changed": [("Decision", "Decisions", "decisions"), ("State", "State changes", "state_mutations")],
    "What was given up": [("Rejected", "", "rejected")],
    "What is blocked": [("Blocker", "Blockers", "blockers")],
    "What is needed from the operator": [("Needed", "", "needs_operator")],
    "What should happen next": [("Next step", "", "next_step"), ("Promised", "Promised follow-ups", "follow_ups")],
    "Where the proof lives": [("Artifact", "Artifacts", "artifacts")],
}
BLOCK = re.compile(
    r"\n(## (Session Notes|Trimmed Context) \((?P<time>..:..)\)\n<!-- holdfast:block id=(?P<id>\S+) -->\n"
    r"<!-- at=(?P<at>(?P<day>[^T]+)\S+) session=(?P<session>\S+) reason=(?P<reason>\S+) -->\n\n(?P<body>.*?)"
    r"(?P<overrides>\n\n\*\*Operator override:\*\* an operator said so)*\n)(?=\n## |\Z)",
    re.DOTALL,
)
AFTER = re.compile(
    r"(\n\n### Stated before, in a flush that was refused\n(\n- [^\n]+)+)?"
    r"(\n\n### Summary\n\n<m\d+q>( <m\d+q>)*(\n\nThe last request:\n- m\d+q( long)*…?)?)?"
)
#: The fields that a block names as derived or not stated when nobody stated any; blockers may still stand from before.
DERIVED = {"artifacts", "blockers", "decisions", "facts", "follow_ups", "next_step", "objective"}
NAMED = re.compile(r"(?:_(?:Derived|Nothing) [^\n]*:|,) (\w+?)(?: \([^)]*\))?(?=, |\._)")
#: Lists of an entry in the handoff, those that closed work has not, and what people read of open work.
LISTS = ("facts", "artifacts", "rejected", "blockers", "follow_ups", "needs_operator")
OF_OPEN = {"next_action", "blocker", "blockers", "follow_ups", "needs_operator"}
OF_DECISIONS = {*OF_OPEN, "state", "ended", "because", "derived"}
SHOWN = ("objective", "next_action", "branch", "blocker", "facts", "rejected", "artifacts", "follow_ups", "rules")


#: A change of a state.
CHANGED = {"kind": "status", "target": "issue", "summary": "is new"}


def payload(token: str, fact: str, *, plain: bool = True) -> dict[str, Any]:
    """What a client states. The number of its token decides which fields are empty; without a fact it lacks some.
    A ``plain`` one only adds lines to MEMORY.md."""
    n = int(token[1:-1])
    table: dict[str, Any] = {
        "objective": f"Reach o{n}", "decisions": [f"Take {token}"], "next_step": f"Do n{n}",
        "blockers": [f"Wait for b{n}"] if n % 2 else [], "artifacts": [f"src/a{n}.py", "README.md"] if n % 3 else [],
        "follow_ups": [f"Send p{n}"] if n % 5 else [],
        "state_mutations": [{**CHANGED, "target": f"issue-{n}", "summary": f"is s{n}"}] if n % 4 == 1 else [],
        "curated": {"memory": [f"Know c{n}"]} if n % 5 == 2 else "none",
    }  # fmt: skip
    if not plain and n % 5 == 4:
        table["curated"] = {"user": [f"Like u{n}"]}
    elif not plain and n % 10 == 7:
        table["curated"]["memory"] = [{"text": f"Know c{n}", "replaces": "Know c2"}]
    if n % 7 == 3:
        table["work_open"] = False
    else:
        names = ("active_task", "branch", "blocker", "next_action")
        table["handoff"] = {name: f"{name[:3]}{n}" for name in names}
    if fact:
        table["facts"] = [f"The {fact} is green"]
        table["rules"] = [RULES[n // 3 % 4]] if n % 3 == 0 else []
        table["rejected"] = [f"Not r{n}"] if n % 4 == 3 else []
        table["needs_operator"] = [f"Press k{n}"] if n % 4 == 2 else []
    return table


#: Of a change of state, and of a line instead of another.
FORMS = ("{kind} of {target}: {summary}", "{text} (instead of: {replaces})")
#: Curated documents by field.
DOCUMENTS = {"memory": "MEMORY.md", "user": "USER.md"}


def items(stated: Any, name: str) -> list[str]:
    found = [] if stated == "none" else stated.get(name) or []
    found = [found] if isinstance(found, str) else found
    return [one if isinstance(one, str) else FORMS["replaces" in one].format(**one) for one in found]


def curated(stated: Any, document: str) -> list[str]:
    """The decided lines of that document."""
    fields = [field for field, name in DOCUMENTS.items() if name == document]
    return [f"- {one.partition(' (instead')[0]}\n" for field in fields for one in items(stated, field)]


def statements(stated: Mapping[str, Any]) -> list[str]:
    """The texts of a payload's lists and of its next step."""
    return [one for rows in PARTS.values() for _, _, name in rows for one in items(stated, name)]


def body(stated: Mapping[str, Any]) -> str:
    """The beginning of a block's text."""
    texts = [f"**Objective:** {stated['objective']}", f"Work is {'open' if 'handoff' in stated else 'closed'}."]
    for title, rows in PARTS.items():
        lines = []
        for label, empty, name in rows:
            lines += [f"- {label}: {one}" for one in items(stated, name)] or [f"- {empty}: none"] * bool(empty)
        texts += ["\n".join([f"### {title}", "", *lines])] * bool(lines)
    kept = [f"- {name}: {one}" for name in DOCUMENTS for one in items(stated["curated"], name)]
    texts.append("\n".join(["curated memory changes:", "", *kept]) if kept else "curated memory changes: none")
    return "\n\n".join(texts)


def entry(stated: Mapping[str, Any], block: re.Match[str], note: str) -> dict[str, Any]:
    """The entry in the handoff, without rules."""
    is_open = "handoff" in stated
    texts = stated["handoff"] if is_open else {"active_task": stated["objective"], "branch": "none"}
    found = {
        "session": block["session"], "flush": block["id"], "state": "open" if is_open else "closed", "note": note,
        "objective": stated["objective"], **texts, **{name: items(stated, name) for name in LISTS}, "at": block["at"],
        "ended": "" if is_open else "finished",
    }  # fmt: skip
    return {name: value for name, value in found.items() if value and (is_open or name not in OF_OPEN)}


@frozen(slots=False)
class Reader:
    """``documents`` by name; ``stated`` are all payloads by the token of their decision; ``decided`` are sessions whose
    work was closed or reopened by command."""

    documents: Mapping[str, str]
    stated: Mapping[str, Mapping[str, Any]]
    decided: Collection[str] = ()

    @cached_property
    def blocks(self) -> dict[str, tuple[re.Match[str], str]]:
        """The blocks of notes by id, each with its note's name."""
        notes = ((name, text) for name, text in self.documents.items() if re.match(r"memory/\d", name))
        return {one["id"]: (one, name) for name, text in notes for one in BLOCK.finditer(text)}

    def token(self, block: re.Match[str]) -> str:
        """Of the payload that the block is for; empty for one that nobody stated."""
        found = re.search(r"^- Decision: Take (\w+)$", block["body"].partition("\n### Stated")[0], re.MULTILINE)
        return found[1] if found and found[1] in self.stated else ""

    @cached_property
    def table(self) -> dict[str, Any]:
        """The handoff as people and tools read it."""
        return tomllib.loads(self.documents.get("continuity/active.md", "+++\nversion = 1\n+++\n").split("+++\n", 2)[1])

    @cached_property
    def work(self) -> dict[str, dict[str, Any]]:
        """The handoff's entries by session."""
        return {one["session"]: one for one in self.table.get("work", [])}

    def faults(self, receipts: list[tuple[Receipt, Any]]) -> Iterator[str]:
        """What differs from what was stated, or from a receipt."""
        for block, note in self.blocks.values():
            stated = self.stated.get(self.token(block), {})
            wanted = body(stated) if "facts" in stated else block["body"]
            if (
                (note, block["time"]) != (f"memory/{block['day']}.md", block["at"][11:16])
                or (block["reason"] in ("compaction", "trim")) != (block[2] == "Trimmed Context")
                or not block["body"].startswith(wanted)
                or not AFTER.fullmatch(block["body"][len(wanted) :])
                or not (self.token(block) or {"blockers", *NAMED.findall(block["body"])} == DERIVED)
            ):
                yield f"a block in {note} differs from what was stated: {block[1]}"
        for receipt, flushed in receipts:
            if receipt.flush_id in self.blocks:
                yield from self._proves(receipt, flushed["payload"], *self.blocks[receipt.flush_id])
        yield from self._handoff()

    def _proves(self, receipt: Receipt, recorded: Any, block: re.Match[str], note: str) -> Iterator[str]:
        about = (receipt.session_id, receipt.reason, receipt.at, receipt.summary)
        daily = next(one for one in receipt.written if one.surface == "daily")
        digest = sha256(block[1].encode()[: daily.size]).hexdigest()
        if (daily.name, daily.sha256, *about) != (
            note, digest, block["session"], block["reason"], datetime.fromisoformat(block["at"]), block["body"],
        ):  # fmt: skip
            yield f"a receipt differs from its block: {receipt} {block[1]}"
        stated = self.stated.get(self.token(block), {})
        if [name for name in stated if name != "curated" and stated[name] != recorded.get(name)]:
            yield f"the journal has {recorded} instead of {stated}"
        source = f"\n\nSource: {note}, block {block['id']}\n"
        lines = [
            (note.replace("/", "/summaries/"), f"- **{one['kind']}** {one['target']}: {one['summary']}{source}")
            for one in stated.get("state_mutations", ())
        ]
        lines += [(name, line) for name in DOCUMENTS.values() for line in curated(stated.get("curated", {}), name)]
        replaced = any(one in self.documents.get("MEMORY.md", "") for one in ("Know c7", "Know c17", "Know c27"))
        lines = [(name, line) for name, line in lines if not (replaced and line == "- Know c2\n")]
        yield from (f"{name} lacks {line!r}" for name, line in lines if line not in self.documents.get(name, ""))

    def _handoff(self) -> Iterator[str]:
        text, work = self.documents.get("continuity/active.md", ""), self.work.values()
        if text.count("[[work]]") != len(work) or self.table["version"] != 1:
            yield f"a session has two entries, or the version is not 1: {text}"
        rules = {rule for one in work for rule in one.get("rules", ())}
        for one in work:
            block, note = self.blocks.get(one["flush"], (None, ""))
            if block is None:
                yield f"the block of {one} is not in the notes"
            elif "facts" in (stated := self.stated.get(self.token(block), {})):
                free = {"agent", "rules", "short", *(OF_DECISIONS if one["session"] in self.decided else ())}
                mine = {name: value for name, value in one.items() if name not in free}
                wanted = {name: value for name, value in entry(stated, block, note).items() if name not in free}
                wanted = {name: wanted[name] for name in wanted if name in mine or "short" not in one}
                handed_over = block["reason"] == "handoff" and "handoff" in stated
                if mine != wanted or (handed_over and not one.get("agent")) or not {*stated["rules"]} <= rules:
                    yield f"the handoff differs from what was stated: {one} {rules} {stated}"
            shown = [one.get(name) or [] for name in SHOWN if one["state"] == "open" or name == "rules"]
            texts = chain.from_iterable([value] if isinstance(value, str) else value for value in shown)
            if missing := [one for one in texts if f" {one}\n" not in text]:
                yield f"the handoff does not show {missing}"
