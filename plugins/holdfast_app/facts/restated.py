"""Changes in the handoff by a model that has read a session's messages: what its work is, and which rules are none."""

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from attrs import evolve

from holdfast.config.layout import Surface
from holdfast.config.serde import flushed_payload, receipt_from
from holdfast.errors import HoldfastError, NotFound
from holdfast.flush import handoff
from holdfast.flush.apply import Documents
from holdfast.flush.handoff import Work
from holdfast.fs import paths
from holdfast.models import Fact, HandoffFields, Payload, Receipt, Turn
from holdfast.storage import sha256
from holdfast.text.lazy import log
from holdfast.text.plain import is_open, one_line, same_key
from holdfast.text.stored import DEFAULT_CONFIDENCE
from holdfast_app.authorship.witness import Witness
from holdfast_app.base import Services
from holdfast_app.facts.rejected import Rejected, key_of
from holdfast_app.journal.journal import Journal
from holdfast_app.records import handoffs, work_log
from holdfast_app.records.work_log import Decision

logger = log("holdfast.facts")

#: How the ids of rules begin.
RULE: Final = "rule_"

# work


def restate(
    services: Services, session: str, flush: str, covers: Collection[str], *, by: str, read: Payload, heard: Witness
) -> None:
    """Put what the plugin ``by`` read in the messages ``covers``, the end of ``flush``, in place of what was derived
    from them: the objective, the next step, and whether work is open. Nothing changes if these were stated, or if the
    session was flushed or its work decided since. Raises: Refused, PluginError; Corrupt, Unavailable; Conflict."""
    receipt, payload = last_flush(services, session)
    if receipt is None or receipt.flush_id != flush or receipt.spooled:  # a server must have it first
        return
    if "next_step" not in payload.derived or read.work_open is None:
        return
    is_decided = work_log.of_flush(services.state, session, flush) is not None
    if is_decided or _last_message(services, session, flush) not in covers:
        return

    def admitted(name: str) -> str:
        text = paths.rewrite(one_line(getattr(read, name) or ""), services.root)
        if not text or name not in payload.derived:
            return getattr(payload, name) or ""
        return services.gate.admit(heard.marked(text, is_report=True), surface=Surface.DAILY)

    stated = payload.evolve(**dict.fromkeys(payload.derived))
    is_settled = stated.work_open is not None or is_open(stated)
    opens = is_open(payload) if is_settled else read.work_open
    objective, step = admitted("objective"), admitted("next_step")
    before = payload.handoff or HandoffFields(active_task="", branch="none", blocker="none", next_action="")
    fields = evolve(before, active_task=objective, next_action=step) if opens else None
    facts = () if "facts" in payload.derived else payload.facts  # the facts that the plugin did not retire are stored
    payload = payload.evolve(objective=objective, work_open=opens, handoff=fields, facts=facts, sources=())
    work = handoffs.entry(receipt, payload)
    decision = Decision(session, flush, opens, "", services.now(), work, by)
    Journal(services.state, session).append(work_log.record(decision))
    Documents(services=services, session_id=session).change_handoff(lambda there: handoffs.put(there, work))


def last_flush(services: Services, session: str) -> tuple[Receipt | None, Payload]:
    """A session's last receipt and its payload, unless they were purged. Raises: Unavailable."""
    checkpoint = Journal(services.state, session).last_checkpoint()
    row = checkpoint.record if checkpoint else {}
    if not row.get("receipt") or not row.get("flush"):
        return None, Payload()
    return receipt_from(row["receipt"]), flushed_payload(row["flush"])


def _last_message(services: Services, session: str, flush: str) -> str:
    """The id of the newest message that ``flush`` covers, of user or agent. Raises: Unavailable."""
    last = ""
    for entry in Journal(services.state, session).of_kinds("message", "checkpoint"):
        row = entry.record
        if row["kind"] == "checkpoint":
            if (row["receipt"] or {}).get("flush_id") == flush:
                break
        elif row["role"] in ("user", "assistant") and not row.get("tool"):
            last = row["id"]
    return last


# rules


def rules(services: Services) -> dict[str, str]:
    """See :meth:`holdfast_app.work.worklist.WorkList.rules`."""
    name = services.layout.name(Surface.HANDOFF)
    document = services.recalled(name)
    entries = handoff.parse(document.text, name) if document else ()
    return {rule_id(rule): rule for entry in entries for rule in reversed(entry.rules)}


def taken_from(services: Services, turns: Sequence[Turn]) -> list[Fact]:
    """The standing rules that the user states in these turns without a label, as facts of the category ``rule``: a
    model may say that one is none. Never raises, because a model can work without them."""
    try:
        standing = rules(services)
    except HoldfastError as error:
        logger.warning("rules could not be shown to the extractors: %s", type(error).__name__)
        return []
    typed = [(m.at, " ".join(m.text.split())) for turn in turns for m in turn.messages if m.role == "user"]
    return [
        Fact(id=name, content=rule, category="rule", confidence=DEFAULT_CONFIDENCE, created_at=at)
        for name, rule in standing.items()
        for at, text in typed
        if (start := text.find(rule)) >= 0 and not text[:start].rstrip(" *_").endswith(":")
    ]


def remove_rule(services: Services, name: str) -> None:
    """See :meth:`holdfast_app.work.worklist.WorkList.remove_rule`."""
    removed = ""

    def without(there: Iterable[Work]) -> tuple[Work, ...]:
        nonlocal removed
        entries = tuple(there)
        removed = next((rule for entry in entries for rule in entry.rules if rule_id(rule) == name), "")
        if not removed:
            raise NotFound(f"No rule has the id {name!r}.", next_step="Run `holdfast work` to list the rules.")
        return handoffs.without_rule(entries, removed)

    Documents(services=services, session_id="").change_handoff(without)
    Rejected(services).add([key_of(removed)], services.now())
    services.retract([removed])


def rule_id(rule: str) -> str:
    """A rule's id: :data:`RULE` and 8 hex digits."""
    return f"{RULE}{sha256(same_key(rule))[:8]}"
