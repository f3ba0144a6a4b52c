"""Compares journals, documents and facts with what their receipts and this machine's own records say.

A journal is private, so any change not by holdfast is a finding. Documents and facts are the user's to edit, so text
typed there is shown as such. A store on a server records no passages, so only receipts are compared there.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from attrs import field, frozen

from holdfast.config.layout import Surface
from holdfast.errors import Corrupt
from holdfast.flush import verify
from holdfast.text.humanize import count
from holdfast_app import data_loss
from holdfast_app.base import Services
from holdfast_app.journal import chain
from holdfast_app.journal.chain import Head
from holdfast_app.journal.journal import Journal, every
from holdfast_app.printable import cut
from holdfast_app.records import work_log
from holdfast_app.records.blocks import blocks
from holdfast_app.trust.provenance import Provenance

TAMPERED: Final = "tampered with"
CHANGED: Final = "changed after its receipt"
FOREIGN: Final = "not from this machine's holdfast"


@frozen(kw_only=True)
class Finding:
    """Data that is not as it was written. ``state`` is one of the three above, ``what`` a sentence."""

    name: str
    state: str
    what: str


@frozen(kw_only=True)
class Verified:
    """The numbers of compared ``journals`` and ``proofs``: documents or blocks that receipts prove."""

    journals: int
    proofs: int
    findings: tuple[Finding, ...] = field(converter=tuple[Finding, ...])


def verify_all(services: Services) -> Verified:
    """Everything on this machine and in the store. Raises: Unavailable, PluginError."""
    journals = list(every(services.state, packed=True))
    findings = [*_journals(services, journals)]
    receipts = data_loss.proofs(services)
    newest = {(receipt.session_id, written.surface): receipt for receipt, _ in receipts for written in receipt.written}
    proofs = 0
    for receipt, flushed in receipts:
        try:
            proof = verify.check(services, receipt, flushed)
        except Corrupt as error:
            findings.append(Finding(name=receipt.written[0].name, state=CHANGED, what=error.message))
            continue
        proofs += len(proof.whole) + len(proof.lost)
        what = f"The part that {receipt.flush_id} wrote on {receipt.at:%Y-%m-%d at %H:%M} was edited or removed."
        blocks = (Surface.DAILY, Surface.TRAIL)
        lost = [w for w in proof.lost if w.surface in blocks or newest[receipt.session_id, w.surface] is receipt]
        findings += [Finding(name=written.name, state=CHANGED, what=what) for written in lost]
    known = {receipt.flush_id.partition("-")[0] for receipt, _ in receipts}
    known.update(*map(work_log.block_ids, journals))
    findings += _typed(services, known)
    return Verified(journals=len(journals), proofs=proofs, findings=dict.fromkeys(findings))


# journals


def _journals(services: Services, journals: Sequence[Journal]) -> Iterator[Finding]:
    noted = chain.heads(services.state)
    for journal in journals:
        for what in _broken(journal, noted.pop(chain.name_of(journal.stem), None)):
            yield Finding(name=journal.shown, state=TAMPERED, what=what)
    if missing := sum(head.chain != chain.GONE for head in noted.values()):
        yield Finding(name="state/sessions", state=TAMPERED, what=f"Lost: {count(missing, 'journal')} with receipts.")


def _broken(journal: Journal, noted: Head | None) -> Iterator[str]:
    """Defects in a journal's rows, each with its place."""
    data, heads = journal.data(), set[chain.Head]()
    try:
        for entry in journal.entries():
            record = entry.record
            if record["kind"] != "checkpoint" or "chain" not in record:
                continue
            heads.add(chain.Head(entry.start, record["chain"]))
            if chain.digest(data[record["since"] : entry.start]) != record["chain"]:
                proof = f"receipt {record['receipt']['flush_id']}" if record.get("receipt") else "the record after them"
                yield (f"The rows from byte {record['since']:,} to {entry.start:,} are not those that {proof} covers: "
                       "changed, moved, cut, forged or played again.")  # fmt: skip
    except Corrupt as error:
        yield error.message
    if noted is not None and noted.chain not in ("", chain.GONE) and noted not in heads:
        yield f"It lacks the record at byte {noted.start:,} that this machine wrote last: an older copy was put back."


# documents and facts


def _typed(services: Services, known: set[str]) -> Iterator[Finding]:
    provenance = services.store.provenance
    for name in services.store.names():
        try:
            document = services.store.read(name)
        except Corrupt as error:
            yield Finding(name=name, state=CHANGED, what=error.message)
            continue
        text = document.text if document else ""
        for block in blocks(text) if services.layout.day_of(Surface.DAILY, name) else ():
            if block.id.partition("-")[0] not in known:
                yield Finding(name=name, state=FOREIGN, what=f"No receipt here proves the block {block.id}.")
        if not isinstance(provenance, Provenance):
            continue
        foreign = provenance.unrecorded(name, text)
        for passage in foreign:
            text = cut(passage.text.strip().partition("\n")[0], 100)
            yield Finding(name=name, state=FOREIGN, what=f"Line {passage.line}: {text}")
        if not foreign and not provenance.is_as_written(name, text):
            yield Finding(name=name, state=CHANGED, what="holdfast wrote its lines, but some were removed or moved.")
    if isinstance(provenance, Provenance):
        name = data_loss.facts_name(services)
        try:
            for fact in provenance.unrecorded_facts(services.store.backend.facts()):
                yield Finding(name=fact.id, state=FOREIGN, what=fact.content[:100])
            yield from (Finding(name=name, state=CHANGED, what=loss.message) for loss in data_loss.lost_facts(services))
        except Corrupt as error:
            yield Finding(name=name, state=CHANGED, what=error.message)
