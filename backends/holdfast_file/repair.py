"""Damage to ``facts.jsonl`` that a program can repair: both sides of a git merge, or an end that was cut off."""

import os

from attrs import evolve

from holdfast.fs import durable
from holdfast.storage import Damage
from holdfast_file import conflicts
from holdfast_file import mark as marks
from holdfast_file.lines import BEGINNINGS, Operation, decode, encode, index
from holdfast_file.place import Place, read_bytes

#: The next step for a damaged file of facts.
FIX = (
    "Restore the file from a copy, or repair it in an editor, or run `holdfast doctor --fix`, which keeps every whole "
    "line. Until then holdfast writes no facts."
)


def damage(place: Place) -> Damage | None:
    """The damage, or None. Raises: Corrupt, Refused, Unavailable."""
    data = read_bytes(place.inside(place.facts), place.facts)
    if data is None:
        return None
    if not data:
        return Damage(f"{place.facts} is empty because it was cut off.", FIX, data)
    if message := conflicts.described(place.facts, data.decode("utf-8", "replace")):
        return Damage(message, FIX, data)
    mark = marks.read(os.path.join(place.state, marks.FILE))
    whole = data.rfind(b"\n") + 1
    if whole < mark.size and whole < len(data) and _is_bad(data[whole:]):
        return Damage(f"{place.facts} was cut off in line {data.count(bytes([10])) + 1}.", FIX, data)
    last = data.rfind(b"\n", 0, max(0, whole - 1)) + 1
    if last >= mark.size and durable.may_be_torn(data[last:whole], *BEGINNINGS):
        whole = last  # a power cut kept the line's length but not all of its bytes
    for number, line in enumerate(data[:whole].split(b"\n"), 1):
        if line.strip() and _is_bad(line):
            return Damage(f"Line {number} of {place.facts} cannot be read.", FIX, data)
    return None


def lost(place: Place) -> int:
    """How many facts of a damaged file are in none of its whole lines."""
    return max(0, marks.read(os.path.join(place.state, marks.FILE)).items - len(index(_whole(place))))


def repair(place: Place) -> None:
    """Write the file with every whole line. The lock is held."""
    path, lines = place.inside(place.facts), _whole(place)
    marks.lower(os.path.join(place.state, marks.FILE), 0)
    if lines:
        durable.replace(path, b"\n".join(lines) + b"\n")
    else:
        durable.remove(path)


def _whole(place: Place) -> list[bytes]:
    """The whole lines of the file, of a conflict those of both sides."""
    data = read_bytes(place.inside(place.facts), place.facts) or b""
    text = data.decode("utf-8", "replace")
    ours, theirs = (side.encode() for side in conflicts.sides(text)) if conflicts.find(text) else (data, b"")
    lines = [line for line in ours.split(b"\n") if line.strip() and not _is_bad(line)]
    known = {line.strip() for line in lines}
    ids = {o.fact.id for o in map(decode, lines) if o.fact and not o.update}
    for line in theirs.split(b"\n"):
        if not line.strip() or line.strip() in known or _is_bad(line):
            continue
        known.add(line.strip())
        operation = decode(line)
        fact = operation.fact
        if fact and not operation.update and fact.id in ids:  # another text under the same id: both stay
            fact = evolve(fact, id=f"fact_{os.urandom(4).hex()}")
            line = encode(Operation(fact=fact, leaves=operation.leaves)).rstrip(b"\n")
        if fact:
            ids.add(fact.id)
        lines.append(line)
    return lines


def _is_bad(line: bytes) -> bool:
    try:
        decode(line)
    except ValueError:
        return True
    return False
