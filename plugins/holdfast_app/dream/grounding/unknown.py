"""Inventions: claims of a line that no source has, and that do not follow from those it has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from holdfast_app.dream.grounding import counting
from holdfast_app.dream.grounding.lexicon import (
    GENERIC,
    GIVEN_NAMES,
    PAST,
    PERSON_VERBS,
    STOP,
    TOOL_NAMES,
    USUAL_ACRONYMS,
    canonical,
    is_german,
    is_ordinary,
)
from holdfast_app.dream.grounding.line import Line
from holdfast_app.dream.grounding.tokens import Token, is_content, words_of

_QUOTED: Final = re.compile(r"""(?<!\w)["“”„«]([^"“”„«»]{2,300})["“”»](?!\w)|(?<![\w'])'([^'\n]{3,200})'(?!\w)""")
_CODE: Final = re.compile(r"(?<!`)`+([^`\n]{1,300})`+")


def unknown(line: Line) -> Iterator[tuple[str, str]]:
    """(kind, text) of each claim without a source."""
    german = is_german(words_of(line.body))
    for index, token in enumerate(line.tokens):
        if token.is_claim:
            if not _is_known(line, index):
                yield _kind(line, token), token.text
        elif token.wants and not line.evidence.offers(token.wants) and _is_sibling(line, token):
            yield "identifier", token.wants[0][2:]
        elif not line.is_heading and _is_new_name(line, index, german=german):
            yield "name", token.text


def misquoted(line: Line) -> Iterator[tuple[str, str]]:
    """(kind, text) of each quotation and code span that no source has in this form."""
    for pattern, kind in ((_QUOTED, "quote"), (_CODE, "identifier")):
        for found in pattern.finditer(line.body):
            said = next(g for g in found.groups() if g is not None)
            words = words_of(said)
            if not words or line.evidence.has_phrase(said):
                continue
            if len(words) > 1 or not line.evidence.has_word(words[0]):
                yield kind, said


def _kind(line: Line, token: Token) -> str:
    if token.kind == "number" and token.group != "number:":
        values = [f"#{w[1:]}" for w in token.wants if w[0] == "="]
        return "unit" if line.evidence.offers(values) else "number"
    return token.kind


def _is_known(line: Line, index: int) -> bool:
    token, evidence = line.tokens[index], line.evidence
    if evidence.offers(token.wants):
        return True
    if token.kind == "number":
        listed = index + 2 < len(line.tokens) and counting.is_listed(token, line.body)
        return (
            _is_spaced(line, index)
            or listed
            or counting.is_reckoned(token, line.body, line.matches)
            or counting.is_rest(token, line.body, line.matches)
        )
    if token.kind in ("identifier", "path", "name") and not token.text.startswith(("-", "#", "!")):
        low = token.text.lower()
        if token.text.isalpha() and evidence.has_word(low):
            return True
        if token.kind == "path" and all(p.isalpha() and evidence.has_word(p) for p in low.split("/")):
            return True  # west/CMake: two things, not a path
        if counting.is_share(low, line.matches):
            return True
        return (not low.isdigit() and evidence.has_phrase(token.text)) or _is_initialism(line, token.text)
    return False


def _is_initialism(line: Line, text: str) -> bool:
    """``DLQ`` where the supporting units say "dead letter queue"."""
    if not (text.isalpha() and text.isupper()):
        return False
    for match in line.matches[:6]:
        initials = "".join(t.text[:1].lower() for t in match.unit.tokens if len(text) > 2 or is_content(t))
        if text.lower() in initials:
            return True
    return False


def _is_spaced(line: Line, index: int) -> bool:
    """Part of ``48 210``, where a source says 48,210; or with zeros before it, as a part of a name: ``0017``."""
    text = line.tokens[index].text
    for first in (index - 1, index):
        pair = [t.text for t in line.tokens[max(first, 0) : first + 2]]
        joined = "".join(pair)
        if len(pair) == 2 and len(pair[1]) == 3 and joined.isdigit() and line.evidence.offers((f"#{joined}",)):
            return True
    return text.startswith("0") and text in line.evidence.words


def _is_sibling(line: Line, token: Token) -> bool:
    """``billing-api`` where the sources know other names that end in ``-api`` and no ``billing``."""
    whole = token.wants[0][2:]
    first, _, last = whole.rpartition("-")
    is_new = not all(line.evidence.has_word(part) for part in whole.split("-") if len(part) > 1)
    return is_new and line.evidence.has_compound(first, last)


def _is_new_name(line: Line, index: int, *, german: bool) -> bool:
    token = line.tokens[index]
    low = token.text.lower().removesuffix("'s").strip("'")
    if (
        not token.text[:1].isupper()
        or len(low) < 2
        or low in STOP
        or low in USUAL_ACRONYMS
        or line.evidence.has_word(low)
    ):
        return False
    if low in GIVEN_NAMES or low in TOOL_NAMES:
        return True
    is_label = token.opens and line.body[token.at + len(token.text) :].startswith(":")
    if german or is_label or canonical(low) in GENERIC:
        return False
    if not token.opens:
        return not is_ordinary(low, inside=True)
    if is_ordinary(low) or index + 1 == len(line.tokens):
        return False
    after = line.tokens[index + 1]
    verb = after.text.lower()
    acts = (
        verb in PERSON_VERBS
        or verb in PAST
        or (after.text.islower() and verb.endswith("ed"))
        or (after.kind == "word" and verb.endswith("s") and not verb.endswith("ss"))
    )
    named = after.text[:1].isupper() and after.kind == "word" and not is_ordinary(after.text.lower(), inside=True)
    return acts or named or token.text.endswith("'s")
