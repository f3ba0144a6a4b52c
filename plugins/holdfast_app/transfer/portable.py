"""Reads and writes bundles of the Portable Memory format (``NAME.mem``, MacPaw, version 1.1).

A bundle is a folder: records by kind in ``items/KIND.jsonl``, deletions in ``audit/tombstones.jsonl``, checksums. What
holdfast has no place for is kept as it came, in ``portable.jsonl`` in the private folder, and leaves with the next
export. The records that state something become facts. Deletions go first, here and there, and nothing deleted returns.
"""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from importlib import metadata
from typing import Any, Final, NamedTuple

from attrs import define, field

from holdfast.config.serde import moment
from holdfast.errors import ConfigError, Conflict, Corrupt, Refused
from holdfast.fs import durable, private, safeopen
from holdfast.text import untrusted
from holdfast.text.stored import CATEGORIES, DEFAULT_CATEGORY
from holdfast_app.authorship.strangers import directs
from holdfast_app.authorship.witness import REASON, Witness
from holdfast_app.durable_queue import rows_of
from holdfast_app.message_formats.leaves import clean, is_outside
from holdfast_app.message_formats.reading import moment_of
from holdfast_app.privacy.transforms import map_texts
from holdfast_app.project import Holdfast
from holdfast_app.transfer.exporting import masks

SUFFIX: Final = ".mem"
_EPISODES: Final = "items/episode.jsonl"
_TOMBSTONES: Final = "audit/tombstones.jsonl"
_MOST_BYTES: Final = 256 << 20
_MOST_CHARS: Final = 500
_SPEC: Final = "https://github.com/MacPaw/portable-memory/blob/main/Spec/portable-memory-spec.md"
_CAPABILITIES: Final = ["bitemporal", "tombstones", "redaction", "ext", "passthrough"]
#: The specification's kinds. Every other file in ``items`` is a stranger's, whose lines stay as they are.
_KINDS: Final = frozenset(
    (
        "episode", "entity", "edge", "fact", "factLink", "episodeLink", "resource", "chunk", "core", "procedure",
        "context", "community", "category", "preference", "secretRef",
    )
)  # fmt: skip
#: Fields that name the record itself or a record that it needs.
_REFERENCES: Final = (
    "id", "resourceID", "srcEntityID", "dstEntityID", "episodeID", "srcFactID", "dstFactID", "srcEpisodeID",
    "dstEpisodeID",
)  # fmt: skip
_DERIVED: Final = ("factIDs", "edgeIDs", "entityIDs", "chunkIDs", "sentenceIDs")

Record = dict[str, Any]


class Statement(NamedTuple):
    """A record's statement. ``origin`` is KIND/ID."""

    origin: str
    text: str
    category: str
    confidence: float
    at: datetime | None
    is_others: bool
    """Whether it directs its reader and has a page or the like for its source."""


@define
class Merged:
    """An imported bundle: numbers of records by kind, deletions, and facts added, removed and left out."""

    records: dict[str, int]
    deletions: int = 0
    skipped: int = 0
    """Records that a deletion names."""
    added: int = 0
    removed: int = 0
    statements: list[str] = field(factory=list)
    left_out: list[str] = field(factory=list)


def is_bundle(path: str) -> bool:
    return os.path.isdir(path) and os.path.isfile(os.path.join(path, "manifest.json"))


def import_bundle(memory: Holdfast, path: str, *, dry_run: bool = False) -> Merged:
    """Merge a bundle by id. A second import changes nothing. Raises: Corrupt before anything is written."""
    kept, facts = _Kept(memory), {fact.id: fact for fact in memory.facts.list()}
    try:
        merged = _merged(kept, _read(path), facts)
        offered = [statement for statement in kept.statements() if statement.origin not in kept.facts]
    except (AttributeError, KeyError, TypeError, UnicodeError) as error:
        raise Corrupt("A record is not as the format says.", next_step="Export the bundle again.") from error
    witness = Witness(memory.services)
    hostile = {statement.origin for statement in offered if statement.is_others or witness.is_hostile(statement.text)}
    merged.left_out = [f"{statement.text[:80]}: {REASON}" for statement in offered if statement.origin in hostile]
    offered = [statement for statement in offered if statement.origin not in hostile]
    merged.statements = [statement.text for statement in offered]
    if dry_run:
        return merged
    made = {fact: origin.partition("/")[2] for origin, fact in kept.facts.items()}
    for fact_id in [fact_id for fact_id in facts if fact_id in kept.dead or made.get(fact_id) in kept.dead]:
        memory.facts.delete(fact_id)
        merged.removed += 1
    for origin, text, category, confidence, at, _ in offered:
        try:
            result = memory.facts.remember(text, category, confidence, f"mem:{origin}", at=at)
        except Refused as error:
            merged.left_out.append(error.message)
            continue
        if result.fact is not None:
            kept.facts[origin] = result.fact.id
            merged.added += result.duplicate_of is None
    kept.write()
    return merged


def export_bundle(memory: Holdfast, path: str, *, force: bool = False) -> dict[str, int]:
    """Write the facts, and everything kept of imported bundles, to a new folder. Returns the numbers by kind.

    Raises: Conflict for an existing folder without ``force``, or with other files; ConfigError."""
    if os.path.lexists(path) and not (force and is_bundle(path) and not os.path.islink(path)):
        raise Conflict(f"{path!r} exists.", next_step="Choose another name, or add --force to replace a bundle.")
    kept = _Kept(memory)
    origins = {fact: origin for origin, fact in kept.facts.items()}
    gone = (entry for entry in memory.facts.trail.entries() if entry.event == "deleted")
    kept.bury(_tombstone(origins.get(entry.id, f"episode/{entry.id}"), entry.at) for entry in gone)
    kept.write()
    for row in memory.facts.export():
        if row["id"] in origins:
            kept.say(origins[row["id"]], str(row["content"]))
        else:
            kept.put(_EPISODES, _canonical(_episode(row)))
    files = {name: ("\n".join(rows) + "\n").encode() for name, rows in kept.files().items() if rows}
    counts = {"tombstone" if name == _TOMBSTONES else _kind(name): data.count(b"\n") for name, data in files.items()}
    _write(path, files, counts, kept.coverage())
    return counts


class _Kept:
    """The records of imported bundles, by file and id, the deletions, and the facts made of them."""

    def __init__(self, memory: Holdfast) -> None:
        self._services = memory.services
        self._path = memory.services.private("portable.jsonl")
        self.rows: dict[str, dict[str, str]] = {}
        self.dead: dict[str, Record] = {}
        rows = list(rows_of(self._path))
        self.facts = {row["of"]: row["fact"] for row in rows if "fact" in row}
        self.bury(row["record"] for row in rows if row.get("file") == _TOMBSTONES)
        for row in rows:
            if row.get("file", _TOMBSTONES) != _TOMBSTONES:
                self.put(row["file"], row.get("line") or _canonical(row["record"]))

    def bury(self, stones: Iterable[Record]) -> int:
        """Note deletions and remove their targets. Returns the number of new ones."""
        new = 0
        for stone in stones:
            target, derived = str(stone.get("targetID")), stone.get("derived")
            new += target not in self.dead
            ids = [key for name in _DERIVED for key in derived.get(name, ())] if isinstance(derived, dict) else []
            for key in (target, *ids):
                self.dead.setdefault(str(key), stone)
        for name, rows in self.rows.items():
            if _is_known(name):
                self.rows[name] = {key: line for key, line in rows.items() if not self._is_dead(json.loads(line))}
        return new

    def _is_dead(self, record: Record) -> bool:
        return any(record.get(name) in self.dead for name in _REFERENCES if isinstance(record.get(name), str))

    def put(self, name: str, line: str) -> bool:
        """Add or replace a record, by its id. False for a deleted record. Raises: Corrupt."""
        record, key = _object(line, name), line
        if _is_known(name):
            if self._is_dead(record):
                return False
            line = _canonical(record)
            key = str(record.get("id") or record.get("key") or record.get("name") or line)
        self.rows.setdefault(name, {})[key] = line
        return True

    def say(self, origin: str, text: str) -> None:
        """Let an episode or a fact say ``text``, a correction made here."""
        kind, _, key = origin.partition("/")
        rows, name = self.rows.get(f"items/{kind}.jsonl", {}), {"episode": "details", "fact": "text"}.get(kind)
        if name and key in rows and _SAID[kind](json.loads(rows[key])).strip() != text:
            rows[key] = _canonical(json.loads(rows[key]) | {name: text})

    def statements(self) -> Iterator[Statement]:
        for kind, make in _SAID.items():
            for record in map(json.loads, self.rows.get(f"items/{kind}.jsonl", {}).values()):
                text, at = make(record).strip(), record.get("eventTime") or record.get("createdAt")
                if text and len(text) <= _MOST_CHARS and not record.get("deletedAt"):
                    sure, named = record.get("confidence"), [*record.get("categories", ()), kind]
                    yield Statement(
                        f"{kind}/{record.get('id') or record.get('key')}",
                        text,
                        named[0] if named[0] in CATEGORIES else DEFAULT_CATEGORY,
                        sure if isinstance(sure, int | float) and 0 <= sure <= 1 else 0.7,
                        moment_of(at),
                        is_outside(clean(record.get("sourceType"))) and directs(text),
                    )

    def coverage(self) -> Record | None:
        times = [json.loads(line).get("eventTime") for line in self.rows.get(_EPISODES, {}).values()]
        stated = sorted(time for time in times if isinstance(time, str))
        return {"from": stated[0], "to": stated[-1]} if stated else None

    def files(self) -> dict[str, list[str]]:
        """Each file's lines in the specification's order: episodes by id, others by line, a stranger's as they came."""
        made = {name: sorted(r.values()) if _is_known(name) else list(r.values()) for name, r in self.rows.items()}
        if episodes := self.rows.get(_EPISODES):
            made[_EPISODES] = [line for _, line in sorted(episodes.items())]
        stones = {stone["id"]: stone for stone in self.dead.values() if "id" in stone}
        made[_TOMBSTONES] = sorted(_canonical(stone) for stone in stones.values())
        return made

    def write(self) -> None:
        """Raises: Unavailable, PluginError."""
        rows: list[Record] = [{"fact": fact, "of": origin} for origin, fact in self.facts.items()]
        for name, lines in self.files().items():
            if name == _TOMBSTONES or _is_known(name):
                rows += [{"file": name, "record": json.loads(line)} for line in lines]
            else:
                rows += [{"file": name, "line": line} for line in lines]
        masked = map_texts(rows, masks(self._services.gate, rows).__getitem__)
        data = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in masked)
        private.make(self._services.state)
        durable.replace(self._path, data.encode())


def _merged(kept: _Kept, files: Mapping[str, bytes], facts: Container[str]) -> Merged:
    """Merge the files' records into ``kept``, the deletions first, without those made of our own ``facts``."""
    lines = {name: data.decode("utf-8").splitlines() for name, data in files.items()}
    merged = Merged({_kind(name): len(rows) for name, rows in lines.items() if name.startswith("items/")})
    merged.deletions = kept.bury(_object(line, _TOMBSTONES) for line in lines.pop(_TOMBSTONES, ()))
    for name, rows in lines.items():
        foreign = [line for line in rows if line.strip() and _object(line, name).get("id") not in facts]
        merged.skipped += sum(not kept.put(name, line) for line in foreign)
    return merged


def _kind(name: str) -> str:
    return name.partition("/")[2].removesuffix(".jsonl")


def _is_known(name: str) -> bool:
    return name.startswith("items/") and _kind(name) in _KINDS


_SAID: Final[dict[str, Callable[[Record], str]]] = {
    "episode": lambda record: str(record.get("details") or record.get("summary") or ""),
    "fact": lambda record: str(record.get("text") or "") if not record.get("prunedAt") else "",
    "preference": lambda record: f"{record.get('key')}: {record.get('value')}",
    "core": lambda record: str(record.get("content") or ""),
}


def _read(path: str) -> dict[str, bytes]:
    """The listed files, each as its checksum says. Raises: ConfigError, Corrupt."""
    try:
        manifest = untrusted.from_json(_bytes(path, "manifest.json"))
        listed = {str(file["path"]): str(file["sha256"]) for file in manifest["files"]}
        version = str(manifest["format"])
    except (ValueError, KeyError, TypeError) as error:
        problem = f"{path!r} is not a bundle of Portable Memory."
        raise ConfigError(problem, next_step="Its manifest has no files.") from error
    if version.partition(".")[0] != "1":
        raise ConfigError(f"{path!r} has the format {version}.", next_step="holdfast reads version 1.")
    files: dict[str, bytes] = {}
    for folder in ("items", "audit", "embeddings"):
        inside = os.path.join(path, folder)
        for name in sorted(os.listdir(inside)) if os.path.isdir(inside) and not os.path.islink(inside) else ():
            if f"{folder}/{name}" not in listed:
                raise Corrupt(f"{folder}/{name} is not in the manifest.", next_step="Export the bundle again.")
    for name, digest in listed.items():
        if name.count("/") != 1 or name.split("/")[0] not in ("items", "audit", "embeddings"):
            raise Corrupt(f"The manifest names {name!r}.", next_step="Nothing was read. Export the bundle again.")
        data = _bytes(path, name)
        if hashlib.sha256(data).hexdigest() != digest:
            raise Corrupt(f"{name} is not as its checksum says.", next_step="Export the bundle again.")
        if name.endswith(".jsonl"):
            files[name] = data
    return files


def _bytes(path: str, name: str) -> bytes:
    file = os.path.join(path, *name.split("/"))
    if os.path.islink(file) or not os.path.isfile(file) or os.path.getsize(file) > _MOST_BYTES:
        raise Corrupt(f"{name} is missing, a link, or larger than 256 MiB.", next_step="Export the bundle again.")
    return safeopen.read(os.path.join(os.path.realpath(path), *name.split("/")), _MOST_BYTES, private=False)


def _object(line: str, where: str) -> Record:
    if (record := untrusted.table(line)) is None:
        raise Corrupt(f"A line of {where} is not a JSON object.", next_step="Export the bundle again.")
    return record


def _write(path: str, files: Mapping[str, bytes], counts: Mapping[str, int], coverage: Record | None) -> None:
    """Write the folder next to its place, then move it there."""
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in sorted(files.items())}
    checksums = "".join(f"{digest}  {name}\n" for name, digest in digests.items()).encode()
    manifest = {
        "format": "1.1.0", "specURL": _SPEC, "generator": f"holdfast/{metadata.version('holdfast-memory')}",
        "conformanceLevel": "L1", "createdAt": _second(datetime.now(UTC)), "exportMode": "full", "schemaVersion": 1,
        "embeddingModel": "", "embeddingDim": 0, "embeddingsIncluded": False, "capabilities": _CAPABILITIES,
        "counts": dict(counts), "bundleDigest": hashlib.sha256(checksums).hexdigest(),
        "files": [{"path": name, "sha256": digests[name], "bytes": len(files[name])} for name in digests],
    }  # fmt: skip
    if coverage:
        manifest["coverage"] = coverage
    place = os.path.abspath(path)
    with durable.reporting(place, "write"):
        made = tempfile.mkdtemp(prefix=".holdfast-", dir=os.path.dirname(place))
    try:
        for name, data in {**files, "CHECKSUMS": checksums, "manifest.json": _canonical(manifest).encode()}.items():
            file = os.path.join(made, *name.split("/"))
            os.makedirs(os.path.dirname(file), exist_ok=True)
            durable.replace(file, data)
        if os.path.isdir(place):
            shutil.rmtree(place)
        os.rename(made, place)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _episode(row: Mapping[str, Any]) -> Record:
    at = _second(moment(str(row["createdAt"])))
    return {
        "id": row["id"], "summary": row["content"], "details": row["content"], "sourceType": "note", "actors": [],
        "eventTime": at, "mentionTime": at, "ingestionTime": at, "sensitivity": "low", "importance": 0.5,
        "confidence": row["confidence"], "categories": [row["category"]], "metadata": {"source": row["source"]},
        "lifecycleState": "HOT", "extractionState": "done", "accessCount": 0, "pinned": False, "vaultRefs": [],
    }  # fmt: skip


def _tombstone(origin: str, at: datetime) -> Record:
    kind, _, target = origin.partition("/")
    derived = {**{name: [] for name in _DERIVED}, "embeddingCacheKeys": [], "episodeLinkCount": 0}
    return {"id": f"tomb_{target}", "op": "delete", "targetKind": kind, "targetID": target, "deletedAt": _second(at),
            "actor": "user", "derived": derived}  # fmt: skip


def _second(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _canonical(value: object) -> str:
    return json.dumps(_plain(value), ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _plain(value: Any) -> Any:
    """Whole numbers without a decimal point, as the specification says."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e16:
        return int(value)
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value
