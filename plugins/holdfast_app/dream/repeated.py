"""Proposes sentences that the user said in several sessions. Repetition alone promotes nothing. A person decides.

The proposal waits for ``holdfast dream review``, as a dream's own result does with ``[dream] apply = "propose"``.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from holdfast.config.layout import Surface
from holdfast.errors import HoldfastError, Refused
from holdfast.storage import ABSENT
from holdfast.text.humanize import count
from holdfast.text.plain import same_key
from holdfast_app.authorship import ownwords
from holdfast_app.base import Services
from holdfast_app.dream import dreamlog, memorytext, when
from holdfast_app.dream.dreamlog import DreamResult, Proposal, Status
from holdfast_app.dream.write import diff, new_id
from holdfast_app.facts.rejected import Rejected
from holdfast_app.journal import journal
from holdfast_app.records import journals
from holdfast_app.sentences import lasting
from holdfast_app.sentences.splitting import split

#: A sentence that surely asks for something now, or surely says nothing lasting, is not worth a person's time.
_ASKS, _LASTS = 0.9, 0.1
#: Names the proposer where a dream's plugin is named.
PROPOSER: Final = "repetition"
#: Number of sessions in which a sentence must have been said, and of newest sessions that are read.
LEAST, _NEWEST = 3, 60
#: A sentence's length in words, and a message's in characters. Longer messages are mostly pasted.
_WORDS: Final = range(4, 31)
_MAX_CHARS: Final = 600
_MOST: Final = 10
_HEADING: Final = "## Said repeatedly"


def propose(services: Services) -> None:
    """Let the sentences that were said in :data:`LEAST` sessions wait for review, instead of an earlier such proposal.
    Never raises, because the dream itself is done."""
    with suppress(HoldfastError):
        waiting = dreamlog.proposal(services.state)
        if waiting is not None and waiting.result.plugin != PROPOSER:
            return
        if proposal := _proposal(services):
            dreamlog.propose(services.state, proposal)
        elif waiting is not None:
            dreamlog.clear_inbox(services.state)


def _proposal(services: Services) -> Proposal | None:
    name = services.layout.name(Surface.MEMORY)
    document = services.store.read(name)
    if document is not None and services.store.sifted(document).withheld:
        return None
    old = document.text if document is not None else ""
    known = {same_key(item.text) for item in memorytext.read(old, prose_is_item=True).items}
    known |= {same_key(fact.content) for fact in services.store.backend.facts()}
    known |= {same_key(t) for r in dreamlog.entries(services.state) if r.status is Status.REJECTED for t in r.added}
    rejected = Rejected(services)
    new = [text for key, text in _said(services).items() if key not in known and not rejected.has(text)][:_MOST]
    if not new:
        return None
    text = "\n".join([f"{old.rstrip() or memorytext.TITLE}\n", f"{_HEADING}\n", *(f"- {one}" for one in new), ""])
    try:
        services.gate.admit(text, surface=Surface.MEMORY, name=name, previous=old or None)
    except Refused:
        return None
    result = DreamResult(
        id=new_id(),
        at=services.now(),
        status=Status.PROPOSED,
        plugin=PROPOSER,
        reason=f"{count(len(new), 'sentence')} said in {LEAST} sessions or more. Only you can add them.",
        added=new,
        lines=[dreamlog.Supported(text=one) for one in new],
        diff="".join(diff(old, text, name)),
    )
    base = document.revision if document is not None else ABSENT
    return Proposal(result=result, name=name, text=text, base=base, digest=when.mark(services.state).digest)


def _said(services: Services) -> dict[str, str]:
    """Key -> sentence, of those said in enough sessions, the most frequent first."""
    sessions, first = Counter[str](), dict[str, str]()
    for path in journals.by_age(services.state)[-_NEWEST:]:
        found = {same_key(text): text for text in _sentences(services, path)}
        sessions.update(found.keys())
        first = found | first
    return {key: first[key] for key, number in sessions.most_common() if number >= LEAST}


def _sentences(services: Services, path: str) -> Iterator[str]:
    session = journal.session_id_of(path)
    if session is None:
        return
    for entry in journal.Journal(services.state, session).of_kinds("message"):
        record = entry.record
        if record["role"] != "user" or len(record["text"]) > _MAX_CHARS:
            continue
        for line in ownwords.own_words(record["text"]).splitlines():
            for text in (one.strip() for _, one in split(line.strip())):
                if len(text.split()) not in _WORDS or text.endswith(("?", ":")) or "[REDACTED" in text:
                    continue
                judged = lasting.judge(text)
                if judged.asks < _ASKS and judged.lasting > _LASTS:
                    yield text
