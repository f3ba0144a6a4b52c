"""Compare claims in the notes with the forge, such as a flush that says "merged #7" while #7 is open there.

Checks only plain claims that a target is merged or closed. Each target costs the forge one request.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from holdfast.errors import HoldfastError
from holdfast_app.report.report import Line, Report

if TYPE_CHECKING:
    from holdfast_app.outbox.forge import Forge

_TARGET: Final = r"(?:[A-Za-z0-9._-]+/[A-Za-z0-9._-]+)?[#!][1-9][0-9]*|https?://\S+/(?:issues|pulls)/[0-9]+"
#: "merged #7", "closed owner/repo#7", "Merged pull request #7".
_SAID: Final = re.compile(rf"(?i)\b(merged|closed)\s+(?:the\s+)?(?:(?:pull request|issue|pr)\s+)?({_TARGET})")
#: A state change in the day's summary.
_CHANGE: Final = re.compile(rf"\*\*(\w+)\*\* ({_TARGET}): (.*)")
_VERB: Final = re.compile(r"(?i)(merged|closed)\b")
_FAILED: Final = re.compile(r"(?i)\b(not|fail\w*|block\w*|wait\w*|request\w*|ask\w*|will|should|open)\b|n't")
#: Words right before the verb, with which it is not a claim.
_DENIED: Final = re.compile(
    r"(?i)(\b(not|never|be|being|until|when|once|if|after|before|unless|gets?|is)|n't)\s+(\w+\s+)?$"
)


def findings(forges: Iterable[Forge], files: Report) -> Iterator[Line]:
    """One line for each claim that a forge contradicts. A forge that does not answer contradicts nothing."""
    claimed: dict[tuple[str, str], Line] = {}
    for lines in files.sections.values():
        for line in lines:
            for verb, target in _claims(line.text):
                claimed.setdefault((verb, target), line)
    targets = list(dict.fromkeys(target for _, target in claimed))
    for forge in forges if targets else ():
        try:
            states = forge.states(targets)
        except HoldfastError:
            continue
        except Exception:  # noqa: BLE001, S112 - a plugin's fault must not cost the report
            continue
        for (verb, target), line in claimed.items():
            state = states.get(target)
            if state is not None and state != verb and not (verb == "closed" and state == "merged"):
                text = f"The notes say that {target} is {verb}, but on {forge.title} it is {state}: {line.text}"
                yield Line(text=text, pointer=line.pointer)


def _claims(text: str) -> Iterator[tuple[str, str]]:
    """Verb (merged or closed) and target of each claim in a line."""
    change = _CHANGE.match(text)
    if change is not None:
        kind, target, text = change.groups()
        verb = _VERB.match(text)
        if verb is not None and not _SAID.match(text):  # "merged #8" on #7 is about #8
            yield verb[1].lower(), target
        elif verb is None and kind == "merge" and not _FAILED.search(text):
            yield "merged", target
    for found in _SAID.finditer(text):
        if not _DENIED.search(text[: found.start()]):
            yield found[1].lower(), found[2].rstrip(".,;:)")
