"""Three-way merge of a memory file, for git. The result does not depend on which side is ours.

Facts are merged by id, notes by block, the handoff by session, and other documents by line. An item that only one side
changed is taken from that side. If both sides changed it, both versions stay. A fact or a note's block is removed when
a side has its tombstone. An absent item stays, because a crash, a full disk or an editor can lose it. Equal
facts are one fact with the origins of both.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from difflib import SequenceMatcher
from typing import TypeVar
from zlib import crc32

from attrs import evolve

from holdfast.errors import Corrupt
from holdfast.flush import handoff
from holdfast.models import Fact
from holdfast.storage import block_ids, tombstone
from holdfast.text.stored import duplicate_key
from holdfast_app.facts.store import origins
from holdfast_app.records import handoffs
from holdfast_app.records.blocks import buried, tombstones
from holdfast_file import conflicts, lines
from holdfast_file.lines import Operation

_Item = TypeVar("_Item")
_BLOCK = re.compile(r"^## .*\n<!-- holdfast:block id=(\S+) -->$", re.MULTILINE)
_GONE = re.compile(r"^<!-- holdfast:gone \S+ -->\n", re.MULTILINE)
_AT = re.compile(r"^<!-- at=(\S+) session=", re.MULTILINE)


def merge(base: str, ours: str, theirs: str, name: str) -> str:
    """The merged text of the file ``name``, whose extension decides the kind. Neither side has :func:`damage`."""
    if damage("", base, name):
        base = ""  # both sides have been repaired since, so both are kept
    if ours == theirs or theirs == base:
        return ours
    if ours == base:
        return theirs
    one, two = sorted((ours, theirs))
    if _is_facts(name):
        return _facts(base, one, two, name)
    if one.startswith("+++\n") and two.startswith("+++\n"):
        return _handoff(base, one, two, name)
    return (_notes if _BLOCK.search(one) or _BLOCK.search(two) else _lines)(base, one, two)


def damage(base: str, side: str, name: str) -> str:
    """Why ``side``, which came from ``base``, cannot be merged, as a sentence. Empty when it can."""
    if base.strip() and not side.strip():
        return f"{name} is empty on one side of the merge."
    grows = _is_facts(name) or _BLOCK.search(base)  # in other documents a user may remove the end
    if side != base and base.startswith(side) and (grows or not side.endswith("\n")):
        return f"{name} is cut off on one side of the merge."
    if "\0" in side:
        return f"{name} has zeros instead of text on one side of the merge."
    if conflicts.find(side):
        return f"{name} already has conflict markers on one side of the merge."
    try:
        if _is_facts(name):
            _live(side, name)
        elif base.startswith("+++\n") or side.startswith("+++\n"):
            handoff.parse(side, name)
    except Corrupt as error:
        return error.message
    return ""


def _is_facts(name: str) -> bool:
    return name.endswith("facts.jsonl")


def _sides(
    base: Mapping[str, _Item], sides: Sequence[Mapping[str, _Item]], gone: Sequence[Collection[str]]
) -> Iterator[dict[str, _Item]]:
    """Both sides' items. An item absent without a tombstone is as it was. An item that only the other side
    knows to be removed is left out. ``gone`` holds all tombstones of base and sides."""
    for side, own, other in ((sides[0], gone[1], gone[2]), (sides[1], gone[2], gone[1])):
        late = {*other} - {*gone[0]}
        new = {key: item for key, item in side.items() if key in base or tombstone(key) not in late}
        yield {**{key: item for key, item in base.items() if tombstone(key) not in own}, **new}


def _stones(gone: Sequence[Collection[str]], known: Iterable[str], left: Iterable[str]) -> list[str]:
    """The tombstones after the merge, first those of the base. ``known`` and ``left`` are ids before and after it."""
    here = set(map(tombstone, left))
    new = {*map(tombstone, known), *gone[1], *gone[2]} - {*gone[0]}
    return [stone for stone in (*gone[0], *sorted(new)) if stone not in here]


def _by_key(
    both: Callable[[_Item | None, _Item | None, _Item | None], Iterable[_Item]],
    base: Mapping[str, _Item],
    one: Mapping[str, _Item],
    two: Mapping[str, _Item],
) -> Iterator[_Item]:
    """The merged items. ``both`` decides about items that both sides changed."""
    for key in sorted({*one, *two}):
        was, a, b = base.get(key), one.get(key), two.get(key)
        chosen = (a,) if a == b or b == was else (b,) if a == was else both(was, a, b)
        yield from (item for item in chosen if item is not None)


# --- facts


def _facts(base: str, one: str, two: str, name: str) -> str:
    def both(was: Fact | None, a: Fact | None, b: Fact | None) -> Iterable[Fact]:
        if a is not None and b is not None:
            return a, b
        edited = [f for f in (a, b) if f is not None and was is not None and _key(f) != _key(was)]
        if any(_key(f) in shared for f in edited):
            return edited  # the side that removed it says the same by another fact
        # One side removed the fact. It stays only for machines that stated it since, unknown to that side.
        source = was.source if was is not None else ""
        stays = (evolve(f, source=origins.left(f.source, source)) for f in (a, b) if f is not None)
        return (f for f in stays if origins.of(f.source))

    live = [_live(text, name) for text in (base, one, two)]
    facts, gone = [{fact.id: fact for fact in side} for side in live], [side.gone for side in live]
    sides = [facts[0], *_sides(facts[0], facts[1:], gone)]
    shared = {_key(fact) for fact in sides[1].values()} & {_key(fact) for fact in sides[2].values()}
    merged: dict[str, Fact] = {}
    ids: set[str] = set()
    # The oldest first. Of two versions of one fact, the first is the stronger and keeps the id.
    versions = _by_key(both, *sides)
    for fact in sorted(versions, key=lambda f: (f.created_at, f.id, -f.confidence, lines.encode(Operation(f)))):
        key = _key(fact)
        if key in merged:
            merged[key] = evolve(merged[key], source=origins.joined(merged[key].source, fact.source))
            continue
        while fact.id in ids:
            fact = evolve(fact, id=f"fact_{crc32((fact.id + fact.content).encode()):08x}")
        merged[key] = fact
        ids.add(fact.id)
    was, mine, theirs = ([places[key] for key in merged] for places in map(_places, sides))
    withdrawn = (old - (a & b) for old, a, b in zip(was, mine, theirs, strict=True))
    stated = (_without(*pair) for pair in zip(merged.values(), withdrawn, strict=True))
    left = [fact for fact in stated if fact is not None]
    stones = _stones(gone, (known for side in facts for known in side), (fact.id for fact in left))
    operations = [*([Operation(gone=tuple(stones))] if stones else []), *map(Operation, left)]
    return b"".join(map(lines.encode, operations)).decode()


def _places(facts: Mapping[str, Fact]) -> defaultdict[str, frozenset[str]]:
    """Duplicate key -> the machines that state it, whatever the fact's id, as each machine draws its own."""
    places: defaultdict[str, frozenset[str]] = defaultdict(frozenset)
    for fact in facts.values():
        places[_key(fact)] |= origins.places(fact.source)
    return places


def _without(fact: Fact, gone: frozenset[str]) -> Fact | None:
    """The fact without the machines that one side removed from its text; None when no machine is left."""
    if not gone or not origins.of(fact.source):
        return fact
    left = origins.left(fact.source, origins.signed("", ", ".join(sorted(gone))))
    return evolve(fact, source=left) if origins.of(left) else None


def _key(fact: Fact) -> str:
    return duplicate_key(fact.content)


def _live(text: str, name: str) -> lines.FactIndex:
    """The facts, and the tombstones. Raises: Corrupt."""
    facts = lines.FactIndex()
    for number, line in enumerate(text.split("\n"), 1):
        try:
            if line.strip():
                facts.follow(lines.decode(line.encode()))
        except ValueError as error:
            step = f"Repair the line on its branch, then merge again: {error}."
            raise Corrupt(f"Line {number} of {name} is not a fact.", next_step=step) from error
    return facts


# --- documents


def _handoff(base: str, one: str, two: str, name: str) -> str:
    def both(was: handoff.Work | None, a: handoff.Work | None, b: handoff.Work | None) -> Iterable[handoff.Work]:
        # The newer state of a session replaces the older one, as on one machine; its notes keep both. A date after
        # tomorrow proves nothing, or it would hide all work to come.
        return (max((w for w in (a, b) if w), key=lambda w: (w.at[:10] <= tomorrow, w.at, handoff.render([w]))),)

    tomorrow = (datetime.now(UTC) + timedelta(days=1)).date().isoformat()
    parsed = (handoff.parse(text, name) if text.startswith("+++\n") else () for text in (base, one, two))
    was, a, b = ({work.session: work for work in reversed(entries)} for entries in parsed)
    return handoff.render(handoffs.newest(sorted(_by_key(both, was, a, b), key=lambda work: work.session)))


def _notes(base: str, one: str, two: str) -> str:
    heads: list[str] = []
    blocks: list[dict[str, str]] = []
    gone = [tombstones(text) for text in (base, one, two)]
    when: dict[str, str] = {}
    for text in (base, one, two):
        text = _GONE.sub("", text)
        matches = list(_BLOCK.finditer(text))
        heads.append((text[: matches[0].start()] if matches else text).rstrip("\n") + "\n")
        mine: dict[str, str] = {}
        at = ""
        for block, end in zip(matches, [*(m.start() for m in matches[1:]), len(text)][: len(matches)], strict=True):
            part = text[block.start() : end].rstrip("\n")
            stated = _AT.search(part)
            at = stated[1] if stated else at
            when[block[1]] = max(when.get(block[1], ""), at)
            mine[block[1]] = part if block[1] not in mine else f"{mine[block[1]]}\n\n{part}"
        blocks.append(mine)

    def both(was: str | None, a: str | None, b: str | None) -> Iterable[str]:
        return (_lines(was or "", a, b),) if a is not None and b is not None else ()  # purged lines stay purged

    merged = list(_by_key(both, blocks[0], *_sides(blocks[0], blocks[1:], gone)))
    merged.sort(key=lambda part: ((m := _BLOCK.match(part)) and (when.get(m[1], ""), m[1])) or ("", ""))
    head = heads[1] if heads[1] == heads[2] else _lines(*heads)
    text = "\n\n".join([head.rstrip("\n"), *merged]) + "\n"
    return buried(text, _stones(gone, [block for side in blocks for block in side], block_ids(text)))


def _lines(base: str, one: str, two: str) -> str:
    """A line of ``base`` stays when both sides kept it. Insertions between two such lines stay too, first those of
    ``one``, then those of ``two``, without the lines that ``one`` put in the same place."""
    end = "\r\n" if "\r\n" in f"{base}{one}{two}" else "\n"
    was, a, b = (_split(text, end) for text in (base, one, two))
    (kept_a, new_a), (kept_b, new_b) = _changes(was, a), _changes(was, b)
    out: list[str] = []
    for number in range(len(was) + 1):
        out += _union(new_a.get(number, []), new_b.get(number, []))
        if number in kept_a and number in kept_b:
            out.append(was[number])
    ended_was, ended_a, ended_b = (text.endswith("\n") or not text for text in (base, one, two))
    text = "".join(out)
    if ended_b if ended_a == ended_was else ended_a:
        return text
    return text.removesuffix("\n").removesuffix("\r")


def _split(text: str, end: str) -> list[str]:
    """The lines with their ends. The last one gets ``end`` when it has none."""
    if text and not text.endswith("\n"):
        text += end
    return [f"{line}\n" for line in text.split("\n")[:-1]]


def _changes(was: list[str], now: list[str]) -> tuple[set[int], dict[int, list[str]]]:
    """The numbers of the lines of ``was`` that are still there, and the new lines by the place in ``was``."""
    kept, new = set[int](), dict[int, list[str]]()
    for kind, old, end, start, stop in SequenceMatcher(None, was, now, autojunk=False).get_opcodes():
        if kind == "equal":
            kept.update(range(old, end))
        elif start < stop:
            new[old] = now[start:stop]
    return kept, new


def _union(one: list[str], two: list[str]) -> Iterator[str]:
    """All lines of both in their order. A shared line is kept as often as in the side that has more of it."""
    steps = SequenceMatcher(None, one, two, autojunk=False).get_opcodes()
    twice = Counter(line for line in one if line.strip()) & Counter(two)
    for kind, a, end_a, _, _ in steps:
        if kind == "equal":
            twice.subtract(one[a:end_a])
    for kind, a, end_a, b, end_b in steps:
        yield from one[a:end_a]
        for line in two[b:end_b] if kind != "equal" else ():
            if twice[line] > 0:
                twice[line] -= 1
            else:
                yield line
