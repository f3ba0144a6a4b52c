"""The beginnings of all formats as a few RE2 expressions. Text that matches none of them has no known format.

Only ``build`` uses this. Whole expressions would work as well, but a single automaton for all of them has too many
states. Shared beginnings have few. A head matches whenever the whole expression does.
"""

from __future__ import annotations

import re
import re._constants as sre  # typeshed leaves the parser out
import re._parser as parser
from typing import Any

#: Characters that a head requires after the keyword, and characters of a format without a keyword.
_BEHIND, _ANYWHERE = 10, 34
#: Repeats up to this number are counted; larger ones become unbounded.
_COUNTED = 4
#: Where a format may begin that begins with a letter or digit, see ``exact``.
_START = r"(?:\A|[^0-9A-Za-z_]|\\[nrt]|%[0-9A-Fa-f]{2})"
_CLASSES = {sre.CATEGORY_SPACE: r"\t-\r ", sre.CATEGORY_DIGIT: "0-9", sre.CATEGORY_WORD: "0-9A-Za-z_"}
_REPEATS = (sre.MAX_REPEAT, sre.MIN_REPEAT)
_FOR_EVER = 1_000_000


def heads(rules: list[dict[str, Any]]) -> tuple[tuple[str, ...], ...]:
    """Expressions of which at least one matches every string with a known format. The first group may begin anywhere,
    the second begins with a word. Raises: ValueError for an expression more complex than a format needs."""
    groups: dict[tuple[str, str], list[str]] = {}
    for rule in rules:
        tree = parser.parse(rule["regex"])
        flags = "(?i)" if rule["regex"].startswith("(?i)") else ""
        after = rule.get("after", "")
        start = ""
        if after:
            start = f"[{''.join(map(_escaped, map(ord, after)))}]"
            start = rf"(?:\A|{start})" if "\n" in after else start
        begins = not start and not rule.get("before") and _begins_with_word(tree)
        groups.setdefault((_START if begins else "", flags), []).append(start + _head(rule, tree))
    written = {key: f"{key[1]}{key[0]}(?:{'|'.join(found)})" for key, found in sorted(groups.items())}
    return tuple(tuple(head for key, head in written.items() if key[0] == start) for start in ("", _START))


def _head(rule: dict[str, Any], tree: Any) -> str:
    """One rule's head. Leaves out bounded repeats before the keyword, because RE2 would count them from each
    character on."""
    if not rule["keywords"]:
        return _Head(_ANYWHERE).of(tree)
    room = min(map(len, rule["keywords"])) + _BEHIND
    return _Head(_FOR_EVER if rule.get("before") else room, counting=not rule.get("before")).of(tree)


class _Head:
    """Writes a parsed expression's beginning, at least ``room`` characters if it has them."""

    def __init__(self, room: int, *, counting: bool = True) -> None:
        self._room = room
        self._counting = counting

    def of(self, tree: Any) -> str:
        return self._sequence(tree, self._room)[0]

    def _sequence(self, tree: Any, room: int) -> tuple[str, int, bool]:
        """The expression, the fewest characters it matches, and whether it covers the whole sequence."""
        written: list[str] = []
        taken = 0
        for operator, argument in tree:
            if taken >= room:
                return "".join(written), taken, False
            text, least, whole = self._item(operator, argument, room - taken)
            written.append(text)
            taken += least
            if not whole:
                return "".join(written), taken, False
        return "".join(written), taken, True

    def _item(self, operator: Any, argument: Any, room: int) -> tuple[str, int, bool]:
        if operator is sre.LITERAL:
            return _escaped(argument), 1, True
        if operator is sre.NOT_LITERAL:
            return f"[^{_escaped(argument)}]", 1, True
        if operator is sre.IN:
            return _class(argument), 1, True
        if operator is sre.AT:
            return r"\b" if argument is sre.AT_BOUNDARY else "", 0, True
        if operator is sre.SUBPATTERN:
            text, least, whole = self._sequence(argument[3], room)
            return f"(?:{text})", least, whole
        if operator is sre.BRANCH:
            branches = [self._sequence(branch, room) for branch in argument[1]]
            text = f"(?:{'|'.join(text for text, _, _ in branches)})"
            return text, min(least for _, least, _ in branches), all(whole for _, _, whole in branches)
        if operator in _REPEATS:
            low, high, body = argument
            return self._repeat(low, high, body, room)
        raise ValueError(f"{operator} is more than a secret's format needs")

    def _repeat(self, low: int, high: int, body: Any, room: int) -> tuple[str, int, bool]:
        text, least, _ = self._sequence(body, _FOR_EVER)
        text = f"(?:{text})"
        if not self._counting:
            return text + ("+" if low else "*"), 1 if low else 0, True
        if least and low * least >= room:
            times = -(-room // least)
            return f"{text}{{{times}}}", times * least, False
        if high is sre.MAXREPEAT or high > _COUNTED:
            return f"{text}{{{low},}}", low * least, True
        return f"{text}{{{low},{high}}}", low * least, True


def _class(items: Any) -> str:
    negated = items[0][0] is sre.NEGATE
    written = []
    for operator, argument in items[1:] if negated else items:
        if operator is sre.LITERAL:
            written.append(_escaped(argument))
        elif operator is sre.RANGE:
            written.append("-".join(map(_escaped, argument)))
        elif operator is sre.CATEGORY and argument in _CLASSES:
            written.append(_CLASSES[argument])
        elif items == [(sre.CATEGORY, sre.CATEGORY_NOT_SPACE)]:
            return r"[^\t-\r ]"
        else:
            raise ValueError(f"a class with {argument} is more than a secret's format needs")
    return f"[{'^' if negated else ''}{''.join(written)}]"


def _escaped(code: int) -> str:
    character = chr(code)
    return character if re.fullmatch(r"[0-9A-Za-z_ ]", character) else rf"\x{{{code:x}}}"


def _begins_with_word(tree: Any) -> bool:
    """Whether the first character is always a letter, a digit or ``_``."""
    for operator, argument in tree:
        if operator is sre.AT:
            continue
        if operator is sre.LITERAL:
            return _is_word(argument)
        if operator is sre.IN:
            ranges = [(a, a) if o is sre.LITERAL else a for o, a in argument if o in (sre.LITERAL, sre.RANGE)]
            return len(ranges) == len(argument) and all(_is_word(a) and _is_word(z) for a, z in ranges)
        if operator is sre.SUBPATTERN:
            return _begins_with_word(argument[3])
        if operator is sre.BRANCH:
            return all(_begins_with_word(branch) for branch in argument[1])
        return operator in _REPEATS and argument[0] > 0 and _begins_with_word(argument[2])
    return False


def _is_word(code: int) -> bool:
    return code < 128 and (chr(code).isalnum() or code == ord("_"))
