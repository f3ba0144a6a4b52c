"""Refused payloads: kept redacted in the UNSAFE marker, used again, and recorded in the next note.

Nothing stated disappears silently. A flush without a payload uses the newest refused one. The note block of a payload
stated later also holds content that only the earlier ones had. A payload refused by the gate has to be stated again.
"""

import json
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from attrs import evolve

from holdfast.config.serde import payload_from, unstructure
from holdfast.errors import FlushRefused, HoldfastError, PluginError
from holdfast.flush import contract, notes
from holdfast.fs import paths
from holdfast.journal import safety
from holdfast.journal.safety import Marker, Stated
from holdfast.models import Payload
from holdfast.models.payload import OPTIONAL
from holdfast.services.services import Services
from holdfast.storage import sha256
from holdfast.text.plain import is_none

#: Label of a line about a payload that could not be kept.
NOT_KEPT = "Not kept"


def not_begun(state: str, marker: Marker, stated: Iterable[Stated], error: HoldfastError, root: str) -> None:
    """Record in the marker that a flush could not begin, and its payload. Raises: Unavailable."""
    marker = evolve(marker, stated=joined(marker.stated, *stated))
    message = f"The flush could not begin: {paths.rewrite(error.message, root)} Context is kept."
    safety.failed(state, marker, error=message, next_step=error.next_step, target="state")


def form(payload: Payload) -> dict[str, Any]:
    """The payload as JSON data, without its sources. A field added by later versions is included only when it is not
    empty."""
    table: dict[str, Any] = unstructure(payload)
    del table["sources"]
    return {k: v for k, v in table.items() if k not in OPTIONAL or v is not None}


def digest(payload: Payload) -> str:
    return sha256(json.dumps(form(payload), sort_keys=True))  # ASCII: a lone surrogate has a digest, too


def kept(services: Services, stated: Stated, payload: Payload, error: HoldfastError) -> Stated:
    """``stated`` with the redacted payload, if the gate admits it. It is not asked again when it was what failed: a
    validator that hangs would do so twice."""
    if stated.payload is not None:
        return stated
    why = error.message
    if not isinstance(error, PluginError):
        try:
            return evolve(stated, payload=form(contract.admitted(services, payload, "", [])[0]))
        except HoldfastError as second:
            why = second.message
    return evolve(stated, why=paths.rewrite(why, services.root))


def joined(there: Iterable[Stated], *new: Stated) -> tuple[Stated, ...]:
    """``there`` with ``new`` ones as the newest; data kept earlier for the same payload stays."""
    entries = {entry.digest: entry for entry in there}
    for entry in new:
        same = entries.pop(entry.digest, entry)
        entries[entry.digest] = evolve(entry, payload=same.payload) if entry.payload is None else entry
    return tuple(entries.values())


def others(marker: Marker, current: Stated | None) -> list[Stated]:
    return [each for each in marker.stated if current is None or each.digest != current.digest]


def newest(standing: Sequence[Stated]) -> Stated | None:
    """The payload that a flush without one takes up, among those that no operator overrode; None when there is none.

    Raises: FlushRefused when such a payload could not be kept.
    """
    for entry in standing:
        if entry.payload is None:
            why = f" when it was refused: {entry.why}" if entry.why else "."
            raise FlushRefused(
                f"A payload stated at {entry.at[:16].replace('T', ' ')} UTC is not stored, and could not be kept{why}",
                next_step="State the payload again, or let an operator run `holdfast override`.",
                target="payload",
            )
    return standing[-1] if standing else None


def payload_of(stated: Stated) -> Payload | None:
    """The kept payload. Raises: ConfigError when it cannot be read."""
    if stated.payload is None:
        return None
    return payload_from(stated.payload, "A stated payload").evolve(derived=tuple(stated.payload.get("derived", ())))


def completed(payload: Payload | None, earlier: Sequence[Stated]) -> Payload | None:
    """``payload``, with fields that it lacks from refused payloads that lacked some, too, the newest first. A complete
    payload is another statement. Raises: ConfigError when one cannot be read."""
    for entry in reversed(earlier) if payload is not None else ():
        before = None if entry.waived else payload_of(entry)
        if payload is not None and before is not None and contract.missing(contract.stated(before)):
            payload = contract.filled(payload, before)
    return payload


def beyond(earlier: Iterable[Stated], there: Iterable[str]) -> list[str]:
    """Lines for a block that has ``there``: content of earlier payloads that is not among it, each once."""
    content = dict.fromkeys(line for entry in earlier for line in _content(entry))
    return [line for line in content if line not in there]


def covered(stated: Iterable[Stated], there: Collection[str]) -> list[str]:
    """The digests of the payloads whose content is all ``there``."""
    return [entry.digest for entry in stated if set(_content(entry)) <= set(there)]


def _content(stated: Stated) -> list[str]:
    """The payload's lines, or one line that names a payload that could not be kept."""
    payload = payload_of(stated)
    if payload is not None:
        return lines(payload)
    at = stated.at[:23].replace("T", " ")
    return [f"{NOT_KEPT}: a payload stated at {at} UTC was refused before it could be stored"]


def lines(payload: Payload) -> list[str]:
    """All content of a payload, one labelled line each, with a block's labels."""
    rows = [("Objective", payload.objective)]
    rows += [(label, item) for label, items in notes.by_label(payload).items() for item in items]
    if payload.handoff is not None:
        rows += [(f"Handoff {n.replace('_', ' ')}", getattr(payload.handoff, n)) for n in contract.HANDOFF_FIELDS]
    if payload.curated is not None:
        for name, entries in (("memory", payload.curated.memory), ("user", payload.curated.user)):
            instead = ((e, f" (instead of: {e.replaces})" if e.replaces else "") for e in entries)
            rows += [(f"Curated {name}", e.text + tail) for e, tail in instead]
    return [f"{label}: {' '.join(text.split())}" for label, text in rows if text and not is_none(text)]
