"""Closes the open work of an earlier session that a later session goes on with, because the later one's entry tells
how it stands now.

A session takes up the newest open entry when its user first only says to go on, and each entry whose words come back in
a sentence of the user's first requests, or of a later request whose answer finished it. Entries with a stated next step
stay, because who stated it also closes it.
"""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from itertools import islice
from typing import Final

from holdfast.config.serde import moment
from holdfast.errors import Conflict, HoldfastError
from holdfast.flush.handoff import Work
from holdfast.text.lazy import log
from holdfast_app.authorship.ownwords import own_words
from holdfast_app.base import Services
from holdfast_app.journal.journal import Journal
from holdfast_app.offline import asked, ending
from holdfast_app.offline.asked import Kind
from holdfast_app.records import handoffs, work_log
from holdfast_app.search import words
from holdfast_app.work.worklist import WorkList

logger = log(__name__)

#: Numbers of a session's first messages to read, and of its first requests, which also take up what they leave open.
_MESSAGES: Final = 1_000
_REQUESTS: Final = 2
_BYTES: Final = 10_000  # of an earlier journal's end
#: The least share of a sentence's words in the entry, and that of a sentence with one such word.
_SHARE: Final = 0.3
_ONE_WORD: Final = 0.5


def close(services: Services, session: str) -> None:
    """Close what ``session``, which has just been flushed, took up. Never fails: the work stays open then."""
    try:
        work = WorkList(services)
        entries = [entry for entry in work.list() if entry.session != session and entry.derived]
        for entry in _taken_up(services, session, entries) if entries else ():
            decided = work_log.of_flush(services.state, entry.session, entry.flush)
            if decided is None or decided.by:  # otherwise a person decided
                with suppress(Conflict):  # it goes on itself
                    work.close(entry.session, handoffs.GOES_ON.format(session))
    except HoldfastError as error:
        logger.warning("earlier work could not be closed: %s", error.message)


def _taken_up(services: Services, session: str, entries: Sequence[Work]) -> list[Work]:
    rows = islice(Journal(services.state, session).of_kinds("message"), _MESSAGES)
    records = [row.record for row in rows if row.record["role"] in ("user", "assistant") and not row.record.get("tool")]
    begun = next((moment(str(record["at"])) for record in records if record["role"] == "user"), None)
    earlier = [entry for entry in entries if begun and entry.when and entry.when < begun]
    if begun is None or not earlier:
        return []
    asks: list[tuple[str, str]] = []  # what the user said, with the last answer to it
    for record in records:
        own = own_words(record["text"]) if record["role"] == "user" else ""
        if own and asked.kind_of_words(own) is not Kind.COURTESY:
            asks.append((own, ""))
        elif asks and record["role"] == "assistant":
            asks[-1] = (asks[-1][0], record["text"])
    if asked.goes_on(asked.kind_of_words(own) for own, _ in asks[:_REQUESTS]):
        return [*islice((entry for entry in earlier if not _runs(services, entry, begun)), 1)]
    first = [(asked.requesting(own), "") for own, _ in asks[:_REQUESTS]]
    later = [(asked.requesting(own), answer) for own, answer in asks[_REQUESTS:] if answer]
    return [entry for entry in earlier if _is_named(entry, [*first, *later]) and not _runs(services, entry, begun)]


def _is_named(work: Work, asks: Sequence[tuple[Sequence[str], str]]) -> bool:
    """Whether a sentence of a request is about the work, and its answer, if one is given, leaves nothing open."""
    stems = words.stems(f"{work.objective} {work.active_task} {work.next_action}")
    named = (answer for sentences, answer in asks if any(_names(sentence, stems) for sentence in sentences))
    return any(not (answer and ending.waits(answer)) for answer in named)


def _runs(services: Services, work: Work, since: datetime) -> bool:
    """Whether the work's own session has said something ``since``, so that both run at once."""
    rows = list(Journal(services.state, work.session).of_kinds("message", start=-_BYTES))
    return bool(rows) and moment(str(rows[-1].record["at"])) > since


def _names(sentence: str, stems: set[str]) -> bool:
    """Whether the sentence is about the work with these ``stems``."""
    mentioned = words.stems(sentence)
    common = mentioned & stems
    least = _SHARE if len(common) > 1 else _ONE_WORD
    names = (len(word) == words.STEM or not word.isalpha() or min(word) > "ゟ" for word in common)  # no hiragana
    return len(common) >= least * len(mentioned) and any(names)
