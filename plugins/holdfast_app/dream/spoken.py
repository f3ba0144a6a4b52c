"""After a dream: what the user said in the newest sessions, beside MEMORY.md.

Sentences said in several sessions are proposed. Repetition alone promotes nothing: the proposal waits for ``holdfast
dream review``, as a dream's own result does with ``[dream] apply = "propose"``. A sentence that may have ended an item
without replacing it is recorded, so that a brief quotes it beside the item. No line changes for it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import islice
from typing import Final, NamedTuple

from attrs import evolve

from holdfast.config.layout import Surface
from holdfast.errors import HoldfastError, Refused
from holdfast.storage import ABSENT
from holdfast.text.humanize import count
from holdfast.text.plain import same_key
from holdfast_app.authorship import ownwords
from holdfast_app.authorship.sessions import message
from holdfast_app.authorship.witness import readings
from holdfast_app.base import Services
from holdfast_app.dream import confirmed, dreamlog, memorytext, when
from holdfast_app.dream.consolidate import MOST_ITEMS
from holdfast_app.dream.dreamlog import DreamResult, Proposal, Status
from holdfast_app.dream.write import diff, new_id
from holdfast_app.facts.rejected import Rejected, key_of
from holdfast_app.journal import journal
from holdfast_app.records import journals
from holdfast_app.sentences import lasting, succession
from holdfast_app.sentences.relation import Known
from holdfast_app.sentences.splitting import split
from holdfast_app.sentences.statement import reports_change

#: A sentence that surely asks for something now, or surely says nothing lasting, is not worth a person's time.
_ASKS, _LASTS = 0.9, 0.1
#: Names the proposer where a dream's plugin is named.
PROPOSER: Final = "repetition"
#: Number of sessions in which a sentence must have been said, and of newest sessions that are read.
LEAST, _NEWEST = 3, 60
#: A repeated sentence's length in words, and a message's in characters. Longer messages are mostly pasted.
_WORDS: Final = range(4, 31)
_MAX_CHARS: Final = 600
_MOST: Final = 10
_HEADING: Final = "## Said repeatedly"
#: Least probability that a sentence lasts, and that it has ended an item, without and with the report of a change. The
#: quotation lets its reader judge, so they are low.
_MAY_LAST, _MAY_END, _CHANGE_MAY_END = 0.05, 0.15, 0.03
#: Number of pairs of a sentence and an item that are compared, the newest sentences first.
_MOST_PAIRS: Final = 20_000


class Spoken(NamedTuple):
    """A sentence of the user."""

    text: str
    at: datetime
    session: str


def review(services: Services) -> None:
    """Propose what was repeated and record what may have ended. Never raises, because the dream itself is done."""
    with suppress(HoldfastError):
        spoken = [*_spoken(services)]
        _propose(services, spoken)
        if all(services.plugins.extractors().values()):  # a model, which is slow, was asked what still holds
            _doubt(services, spoken)


def _propose(services: Services, spoken: Sequence[Spoken]) -> None:
    """Let the sentences that were said in :data:`LEAST` sessions wait for review, instead of an earlier such
    proposal."""
    waiting = dreamlog.proposal(services.state)
    if waiting is not None and waiting.result.plugin != PROPOSER:
        return
    if proposal := _proposal(services, spoken):
        dreamlog.propose(services.state, proposal)
    elif waiting is not None:
        dreamlog.clear_inbox(services.state)


def _doubt(services: Services, spoken: Sequence[Spoken]) -> None:
    """Record for each item of MEMORY.md the later sentence that most likely ended it."""
    record = confirmed.load(services.state)
    document = services.store.read(services.layout.name(Surface.MEMORY))
    items = [item.text for item in memorytext.read(document.text).items] if document is not None else []
    known = Known((text, text) for text in items[:MOST_ITEMS])
    most, latest = dict.fromkeys(items, 1.0), dict[str, Spoken]()
    may_last = (sentence for sentence in reversed(spoken) if _may_last(sentence.text, _MAY_LAST))
    pairs = ((new, old) for new in may_last for old in known.near(new.text))
    for new, old in islice(pairs, _MOST_PAIRS):
        held = record.get(key_of(old))
        if held is None or held.last >= new.at or same_key(old) in map(same_key, readings(new.text)):
            continue
        least = _CHANGE_MAY_END if reports_change(new.text) else _MAY_END
        if (odds := succession.likelihood(new.text, old) / least) > most[old]:
            most[old], latest[old] = odds, new
    quoted = services.gate.outgoing_all([new.text for new in latest.values()], surface=Surface.JOURNAL)
    for (old, new), text in zip(latest.items(), quoted, strict=True):
        record[key_of(old)] = evolve(record[key_of(old)], doubt=text, doubted=new.at)
    if latest:
        confirmed.save(services.state, record)


def _proposal(services: Services, spoken: Iterable[Spoken]) -> Proposal | None:
    name = services.layout.name(Surface.MEMORY)
    document = services.store.read(name)
    if document is not None and services.store.sifted(document).withheld:
        return None
    old = document.text if document is not None else ""
    known = {same_key(item.text) for item in memorytext.read(old, prose_is_item=True).items}
    known |= {same_key(fact.content) for fact in services.store.backend.facts()}
    known |= {same_key(t) for r in dreamlog.entries(services.state) if r.status is Status.REJECTED for t in r.added}
    rejected = Rejected(services)
    new = [text for key, text in _repeated(spoken).items() if key not in known and not rejected.has(text)][:_MOST]
    if not new:
        return None
    text = "\n".join([f"{old.rstrip() or memorytext.TITLE}\n", f"{_HEADING}\n", *(f"- {line}" for line in new), ""])
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
        lines=[dreamlog.Supported(text=line) for line in new],
        diff="".join(diff(old, text, name)),
    )
    base = document.revision if document is not None else ABSENT
    return Proposal(result=result, name=name, text=text, base=base, digest=when.mark(services.state).digest)


def _repeated(spoken: Iterable[Spoken]) -> dict[str, str]:
    """Key -> sentence, of those said in enough sessions, the most frequent first."""
    worthy = (entry for entry in spoken if len(entry.text.split()) in _WORDS and _may_last(entry.text, _LASTS))
    sentences = {(entry.session, same_key(entry.text)): entry.text for entry in worthy}
    sessions = Counter(key for _, key in sentences)
    texts = {key: text for (_, key), text in reversed(sentences.items())}
    return {key: texts[key] for key, number in sessions.most_common() if number >= LEAST}


def _may_last(text: str, least: float) -> bool:
    judged = lasting.judge(text)
    return judged.asks < _ASKS and judged.lasting > least


def _spoken(services: Services) -> Iterator[Spoken]:
    """The user's sentences in the newest sessions, oldest first, without questions."""
    for path in journals.by_age(services.state)[-_NEWEST:]:
        session = journal.session_id_of(path) or ""
        for entry in journal.Journal(services.state, session).of_kinds("message") if session else ():
            said = message(entry.record)
            if said.role != "user" or len(said.text) > _MAX_CHARS:
                continue
            for line in ownwords.own_words(said.text).splitlines():
                for text in (part.strip() for _, part in split(line.strip())):
                    if not text.endswith(("?", "？", ":", "：")) and "[REDACTED" not in text:
                        yield Spoken(text, said.at, session)
