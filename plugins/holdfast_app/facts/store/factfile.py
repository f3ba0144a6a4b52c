"""Facts as a file: reads JSON and JSONL, and stores the rows. Problems are reported by row number."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Final, NamedTuple

from attrs import frozen

from holdfast.config.layout import Surface
from holdfast.config.serde import moment
from holdfast.errors import BadValue, ConfigError, Refused
from holdfast.models import AddOutcome, AddResult
from holdfast.text import untrusted
from holdfast.text.lazy import Lazy
from holdfast_app import progress
from holdfast_app.authorship import hostile, strangers
from holdfast_app.authorship.witness import REASON, Witness
from holdfast_app.base import Services
from holdfast_app.facts.rejected import REASON as REJECTED
from holdfast_app.facts.rejected import Rejected
from holdfast_app.facts.store.values import Value, check_category, check_confidence, check_content, check_source

_ID: Final = Lazy(r"fact_[0-9a-f]{8}")
#: Number of rows gated and stored together.
_BATCH = 500


class Row(NamedTuple):
    """One row of a file: its number (from 1; lines of a JSONL file, blank ones too), and its value."""

    number: int
    value: object


class BadRow(NamedTuple):
    """A skipped row, and the reason."""

    number: int
    why: str


@frozen(kw_only=True)
class ImportReport:
    """An import's outcome. ``added`` counts added rows, whether or not they were evicted later."""

    added: int
    duplicates: int
    evicted: int
    bad: tuple[BadRow, ...]


class _Good(NamedTuple):
    number: int
    created_at: datetime | None
    value: Value


def read_rows(text: str, name: str = "The file") -> Iterator[Row | BadRow]:
    """Rows from a JSON array, a JSON object with a list ``facts``, or JSON lines.

    A line that is not JSON is a bad row. Raises: ConfigError when a JSON array cannot be read.
    """
    text = text.lstrip("\ufeff")
    try:
        data = untrusted.from_json(text)
    except ValueError as error:
        if text.lstrip().startswith("["):
            step = "Use a JSON array, or one JSON object a line."
            raise ConfigError(f"{name} is not valid JSON: {error}.", next_step=step) from error
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip():
                try:
                    yield Row(number, untrusted.from_json(line))
                except ValueError:
                    yield BadRow(number, "the row cannot be read: it is not JSON")
        return
    rows = data.get("facts", [data]) if isinstance(data, dict) else data
    if not isinstance(rows, list):
        raise ConfigError(f"`facts` in {name} is not a list.", next_step="Make it a list of facts.")
    yield from (Row(number, value) for number, value in enumerate(rows, 1))


def import_rows(
    services: Services, add: Callable[[Sequence[Value]], list[AddResult]], rows: Iterable[object], *, is_archive: bool
) -> ImportReport:
    """See :meth:`holdfast_app.facts.store.lifecycle.Facts.import_`."""
    witness, rejected = Witness(services), Rejected(services)
    known = {fact.content for fact in services.store.known_facts(services.store.readable_facts())}
    numbered = (row if isinstance(row, Row | BadRow) else Row(n, row) for n, row in enumerate(rows, 1))
    bad: list[BadRow] = []
    outcomes: Counter[AddOutcome] = Counter()
    done = evicted = 0
    while batch := list(islice(numbered, _BATCH)):
        good: list[_Good] = []
        bad += [row for row in batch if isinstance(row, BadRow)]
        read = [g for row in batch if isinstance(row, Row) and (g := _read(services, row, bad))]
        for row in _admit(services, read, bad):
            text = content = row.value.content
            is_marked = hostile.is_marked(text)
            if not (is_marked or is_archive or text in known) and strangers.orders(text):
                content = hostile.MARK.format(name="an import") + text  # a file's words are not the user's
            if not is_marked and witness.is_hostile(text):
                bad.append(BadRow(row.number, REASON))
            elif rejected.has(text, row.created_at) or rejected.has(content, row.created_at):
                bad.append(BadRow(row.number, REJECTED))
            else:
                good.append(row._replace(value=row.value._replace(content=content)))
        for row, result in zip(good, add([row.value for row in good]), strict=True):
            outcomes[result.outcome] += 1
            evicted += len(result.evicted)
            if result.outcome is AddOutcome.REFUSED:
                bad.append(BadRow(row.number, result.reason))
        done += len(batch)
        progress.report(done, 0, "rows imported")
    added, duplicates = outcomes[AddOutcome.ADDED], outcomes[AddOutcome.DUPLICATE]
    return ImportReport(added=added, duplicates=duplicates, evicted=evicted, bad=tuple(sorted(bad)))


def _read(services: Services, row: Row, bad: list[BadRow]) -> _Good | None:
    try:
        if not isinstance(row.value, Mapping):
            raise BadValue("the row", "is not an object")
        value: Mapping[str, Any] = row.value
        if lacks := [name for name in ("content", "category", "confidence") if name not in value]:
            raise BadValue(lacks[0], "is missing")
        source, fact_id = check_source(value.get("source") or ""), value.get("id")
        if fact_id is not None and not (isinstance(fact_id, str) and _ID.fullmatch(fact_id)):
            raise BadValue("id", "is not `fact_` and 8 hex digits")
        stamp = value.get("createdAt")
        at = None if stamp is None else moment(stamp).astimezone(UTC)
        # Each row has its own time, by which a git merge keeps their order.
        return _Good(row.number, at, Value(
            check_content(value["content"]), check_category(value["category"]), check_confidence(value["confidence"]),
            source, at or services.clock(), id=fact_id,
        ))  # fmt: skip
    except BadValue as error:
        bad.append(BadRow(row.number, error.message.rstrip(".")))
    except (ValueError, TypeError, OverflowError):
        bad.append(BadRow(row.number, "createdAt is not an ISO-8601 time"))
    return None


def _admit(services: Services, rows: list[_Good], bad: list[BadRow]) -> list[_Good]:
    """The rows, with their content and source admitted by the gate."""
    try:
        strings = [text for row in rows for text in (row.value.content, row.value.source)]
        strings = services.gate.admit_all(strings, surface=Surface.FACT)
        return [
            row._replace(value=row.value._replace(content=check_content(content), source=source))
            for row, content, source in zip(rows, strings[::2], strings[1::2], strict=True)
        ]
    except (Refused, BadValue) as error:
        if len(rows) > 1:
            return [admitted for row in rows for admitted in _admit(services, [row], bad)]
        bad.append(BadRow(rows[0].number, error.message.rstrip(".")))
        return []
