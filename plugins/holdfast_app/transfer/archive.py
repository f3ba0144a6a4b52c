"""The archive's format, and its checked reading. docs/export.md describes it.

A zip file of JSON Lines. An archive may come from anyone: member names are fixed, sizes are limited, nothing is
extracted to disk, and everything is checked before the first row is used. A SQLite database is read like an archive.
"""

import hashlib
import hmac
import json
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from typing import IO, Any, Final

from holdfast.config.serde import fact_out
from holdfast.errors import ConfigError, HoldfastError
from holdfast.fs import ownership_mark
from holdfast.fs.records import decode
from holdfast.journal.journal import file_stem
from holdfast.plugin import discovery
from holdfast.storage import check_name
from holdfast.text import untrusted
from holdfast_app.privacy.transforms import is_database

#: The format's version. A reader refuses every other one.
FORMAT: Final = 1
MANIFEST: Final = "manifest.json"
DOCUMENTS: Final = "documents.jsonl"
FACTS: Final = "facts.jsonl"
EVENTS: Final = "fact-log.jsonl"
JOURNALS: Final = "journals/"
#: Limits against archives that unpack to more than any project holds: bytes of a line, of the manifest, of all members
#: together, and the number of members.
MAX_LINE: Final = 64 << 20
MAX_MANIFEST: Final = 16 << 20
MAX_TOTAL: Final = 8 << 30
MAX_MEMBERS: Final = 100_000

_JOURNAL = re.compile(r"journals/[a-z0-9_-]{1,80}(~[0-9a-f]{12})?\.jsonl")
_FACT = ("id", "content", "category", "createdAt", "source")
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError)


def seal(members: Mapping[str, Mapping[str, object]]) -> str:
    """What shows that this user exported the members, in hex; empty without the user's key. Raises: Unavailable."""
    key = ownership_mark.secret(make=False)
    return hmac.new(key, json.dumps(members, sort_keys=True).encode(), hashlib.sha256).hexdigest() if key else ""


class Archive:
    """An opened archive. :meth:`check` it before anything else, and ``close`` it."""

    def __init__(self, path: str) -> None:
        """Raises: ConfigError when ``path`` is not a readable zip file."""
        self._path = path
        try:
            self._zip = zipfile.ZipFile(path)
        except _BROKEN as error:
            raise _damaged(path, f"it cannot be read as a zip file ({error})") from error
        self.close = self._zip.close
        self._members: dict[str, str] = {}  # their digests, as the manifest says
        self.is_own = False  # this user exported it, on this machine or with the same key; known after the check

    def check(self) -> None:
        """Read everything once and compare it with the manifest. Raises: ConfigError for any difference."""
        try:
            self._check_members()
            self._read_manifest()
            for name, digest in self._members.items():
                self._check_member(name, digest)
        except ConfigError:
            raise
        except (*_BROKEN, KeyError, TypeError, AttributeError, HoldfastError) as error:
            raise _damaged(self._path, str(error).rstrip(".") or type(error).__name__) from error

    def rows(self, name: str) -> Iterator[dict[str, Any]]:
        """The objects in a JSON Lines member, in order. Empty when the archive lacks the member."""
        if name in self._members:
            with self._zip.open(name) as file:
                yield from (untrusted.from_json(line.decode("utf-8")) for line in _lines(file))

    def journals(self) -> Iterator[tuple[str, bytes]]:
        return ((name, self._zip.read(name)) for name in self._members if name.startswith(JOURNALS))

    def _check_members(self) -> None:
        infos = self._zip.infolist()
        if len(infos) > MAX_MEMBERS or sum(info.file_size for info in infos) > MAX_TOTAL:
            raise _damaged(self._path, "it is larger than an archive may be")
        names = [info.filename for info in infos]
        if len(set(names)) != len(names):
            raise _damaged(self._path, "it has two members of one name")
        for info in infos:
            known = info.filename in (MANIFEST, DOCUMENTS, FACTS, EVENTS) or _JOURNAL.fullmatch(info.filename)
            if not known or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or info.flag_bits & 1:
                raise _damaged(self._path, f"it has an unknown member {info.filename[:80]!r}")
        if MANIFEST not in names or self._zip.getinfo(MANIFEST).file_size > MAX_MANIFEST:
            raise _damaged(self._path, "it has no manifest of a usable size")

    def _read_manifest(self) -> None:
        manifest = untrusted.from_json(self._zip.read(MANIFEST).decode("utf-8"))
        if manifest["format"] != FORMAT:
            raise ConfigError(
                f"{self._path} has the archive format {str(manifest['format'])[:20]}; this version reads {FORMAT}.",
                next_step="Update holdfast, or export it again with this version. Nothing was changed.",
            )
        self._members = {str(name): str(member["sha256"]) for name, member in manifest["members"].items()}
        own, stated = seal(manifest["members"]).encode(), str(manifest.get("seal")).encode()
        self.is_own = bool(own) and hmac.compare_digest(own, stated)
        if {*self._members, MANIFEST} != set(self._zip.namelist()):
            raise _damaged(self._path, "its members do not match the manifest")

    def _check_member(self, name: str, wanted: str) -> None:
        digest, session = hashlib.sha256(), ""
        with self._zip.open(name) as file:
            for line in _lines(file):
                digest.update(line)
                if name.startswith(JOURNALS):
                    record = decode(line[:-1]) if line.endswith(b"\n") else None
                    if record is None or (not session and record.get("kind") != "session"):
                        raise ValueError("a journal has a damaged line")
                    session = session or str(record["id"])
                else:
                    _check_row(name, untrusted.from_json(line.decode("utf-8")))
        if digest.hexdigest() != wanted:
            raise _damaged(self._path, f"{name} does not match the manifest")
        if name.startswith(JOURNALS) and name != f"{JOURNALS}{file_stem(session)}.jsonl":
            raise _damaged(self._path, f"{name} is the journal of another session")


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    while line := file.readline(MAX_LINE + 1):
        if len(line) > MAX_LINE:
            raise ValueError("a line is too long")
        yield line


def _check_row(name: str, row: Any) -> None:
    if name == DOCUMENTS:
        check_name(row["name"])
        strings = [row["text"]]
    else:
        strings = [row[key] for key in (_FACT if name == FACTS else ("at", "event", "id", "why"))]
    plain = all(value is None or isinstance(value, str | int | float) for value in row.values())
    if name == EVENTS:
        strings += [row.get("content") or "", row.get("source") or ""]
    if not plain or not all(isinstance(text, str) for text in strings):
        raise ValueError(f"{name} has a row with a value of another type")


def _damaged(path: str, why: str) -> ConfigError:
    return ConfigError(
        f"{path} is not a complete archive, so nothing was changed: {why}.",
        next_step="Use a file that `holdfast export` wrote, or copy it again. For facts: `holdfast facts import`.",
    )


def opened(path: str) -> "Archive | Database":
    """The archive or database at ``path``, unchecked. Raises: as both."""
    return Database(path) if is_database(path) else Archive(path)


class Database:
    """The database's rows, with the methods of :class:`Archive` that an import uses."""

    is_own = False  # it may be any project's

    def __init__(self, path: str) -> None:
        module: Any = discovery.import_object(discovery.choose(discovery.scan(), discovery.BACKENDS, "sqlite"))
        self.store = module.foreign_store(path)  # which checks its schema
        self.close = self.store.close

    def check(self) -> None:
        """Read everything once. Raises: Corrupt for damaged data."""
        for _ in (*self.store.facts(), *self.store.documents()):
            pass

    def rows(self, name: str) -> Iterator[dict[str, Any]]:
        if name == DOCUMENTS:
            yield from ({"name": name, "text": text} for name, text in self.store.documents())
        elif name == FACTS:
            yield from (dict(fact_out(fact)) for fact in self.store.facts())

    def journals(self) -> Iterator[tuple[str, bytes]]:
        return iter(())
