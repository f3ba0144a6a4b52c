"""Forgetting on request, and masking content stored before a rule could recognise it: remove, prove the removal, and
leave a tombstone that reveals nothing about the content.

Calling a purge again with the same arguments completes an interrupted one. No file ever names the purged content: the
tombstone identifies it by a keyed digest only. A scrub holds secrets in memory only.
"""

import json
import os
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from datetime import UTC, date
from hashlib import blake2s
from typing import Any

from attrs import asdict, evolve, frozen

from holdfast.config.layout import Surface
from holdfast.config.serde import stamp
from holdfast.errors import BadValue, HoldfastError, must_be
from holdfast.fs import durable, private
from holdfast.models import Fact
from holdfast.text.humanize import count
from holdfast.validation import ValidationRequest, mask
from holdfast_app.base import Services
from holdfast_app.journal import journal
from holdfast_app.privacy import transforms
from holdfast_app.privacy.selectors import Before, BySession, BySubject, Everything
from holdfast_app.privacy.sweep import TOMBSTONE_KEY, TOMBSTONES, Walk, alone, carry_out
from holdfast_app.privacy.transforms import Edit, Left, Needle, Report
from holdfast_file import gitrun

#: Maximum time to count the commits that hold documents, in seconds.
_GIT_S = 10.0


@frozen(kw_only=True)
class PurgeReport(Report):
    """A purge's outcome."""

    kind: str


def purge(
    services: Services, forget: Callable[[], None], named: Mapping[str, Any], *, dry_run: bool = False
) -> PurgeReport:
    """Remove one kind of data from every place and verify the removal: the one of ``named`` that is not None.
    ``forget`` removes it from derived files. See docs/retention.md.

    A place that cannot be edited is reported, and the other places are still edited. Raises: BadValue; Unavailable
    when the tombstone cannot be written, or another purge is running.
    """
    kind, value, edit = _chosen(services, {name: value for name, value in named.items() if value is not None})
    with nullcontext() if dry_run else alone(services):
        digest = "" if dry_run else _digest(services, kind, value)
        pointers = published(services, edit)  # read before the receipts that name them are removed
        result = carry_out(services, edit, forget, dry_run=dry_run)
        places = (*pointers, *result.elsewhere, *git_history(services))
        report = PurgeReport(**asdict(evolve(result, elsewhere=places), recurse=False), kind=kind)
        if not dry_run:
            bury(services, kind, report, digest=digest)
    return report


def _chosen(services: Services, named: Mapping[str, Any]) -> tuple[str, object, Edit]:
    """The only kind of data named, its identity, and the edit that removes it. Raises: BadValue."""
    if len(named) != 1:
        what = "takes exactly one of subject, session, before and everything"
        raise BadValue("purge", what, next_step="Name the data to forget.")
    ((kind, value),) = named.items()
    if kind == "all":
        return kind, "", Everything()
    must_be(date if kind == "before" else str, value, kind)
    if kind == "subject":
        return kind, transforms.fold(value), BySubject(value)
    if kind == "session":
        return kind, value, BySession(value)
    return kind, value, Before(value, services.layout, services.config.tz)


def git_history(services: Services) -> tuple[str, ...]:
    """A sentence with the commands when git has earlier versions of the stored documents, which no purge can change."""
    folder = services.config.storage.path
    number = int(gitrun.run(services.root, "rev-list", "--all", "--count", "--", folder, timeout_s=_GIT_S) or 0)
    sentence = (
        f"git history: {count(number, 'commit')} of {folder} may hold it. Commit this purge, look with `git log --all"
        f" -p -S TEXT -- {folder}`, and rewrite with `git filter-repo --replace-text FILE` or `git filter-repo --path"
        f" {folder} --invert-paths`. Then push with --force; other clones keep their copies."
    )
    return (sentence,) if number else ()


def published(services: Services, edit: Edit) -> tuple[str, ...]:
    """Published items affected by the edit, from flush receipts. Only a user can delete them."""
    edit.begin(services)
    pointers: dict[str, None] = {}
    for path in journal.session_files(services.state, packed=True):
        session_id = journal.session_id_of(path) or ""
        with suppress(HoldfastError):  # the walk reports it
            for entry in journal.Journal(services.state, session_id).entries():
                evidence = (entry.record.get("receipt") or {}).get("evidence") or ()
                if evidence and (edit.session(session_id, None) or edit.record(entry.record) != entry.record):
                    # Items queued then may have been published since. Their address is unknown, but not their target.
                    listed = (item for item in evidence if item["pointer"] or item["pending"])
                    pointers |= {item["pointer"] or item["target"]: None for item in listed}
    return tuple(pointers)


def bury(services: Services, kind: str, report: Report, **more: object) -> None:
    """Leave a tombstone with the time, the kind and the counts. Raises: Unavailable."""
    stone = {"at": stamp(services.clock().astimezone(UTC)), "kind": kind, **more, "changed": report.counts}
    stone |= {"files_searched": report.files, "bytes_searched": report.size, "left": len(report.left)}
    durable.append(services.private(TOMBSTONES), json.dumps(stone).encode("utf-8") + b"\n")


def _digest(services: Services, kind: str, value: object) -> str:
    """A keyed digest, which identifies a repeated purge and reveals nothing else."""
    path = services.private(TOMBSTONE_KEY)
    key = (private.read(path) or b"")[:32]
    if len(key) != 32:
        key = os.urandom(32)
        durable.replace(path, key)
    return blake2s(f"{kind}\n{value}".encode("utf-8", "replace"), key=key, digest_size=16).hexdigest()


#: Maximum masking passes, the same as the gate's.
_ROUNDS = 4
#: Shorter strings are not treated as secrets outside of the match, because ordinary words would match too.
_LEAST_CHARS = 6
_OURS = frozenset({"kind", "at", "role", "crc", "id", "sha256", "revision", "flush_id", "key", "digest"})


@frozen(kw_only=True)
class ScrubReport(Report):
    """A scrub's outcome. ``rules`` counts masks by rule. ``secrets`` is the number of different secrets. ``judges``
    names the plugins that checked. ``allowed`` lists places that hold a secret the policy permits there."""

    rules: dict[str, int]
    secrets: int
    judges: tuple[str, ...]
    allowed: tuple[str, ...] = ()


def scrub(services: Services, forget: Callable[[], None], *, dry_run: bool = False) -> ScrubReport:
    """See :meth:`holdfast_app.project.Holdfast.scrub`."""
    # Report a broken validator once, not per place.
    services.gate.findings(ValidationRequest(Surface.JOURNAL, "", "a sample"))
    leaves_trace = not dry_run and os.path.isdir(services.state)
    with alone(services) if leaves_trace else nullcontext():
        edit = _Masking(services)
        Walk(services=services, edit=edit, dry_run=True).run()  # collect all secrets before masking any
        rules = dict(sorted(edit.rules.items()))
        edit.everywhere = True
        result = carry_out(services, edit, forget, dry_run=dry_run)
        report = ScrubReport(
            **asdict(evolve(result, left=(*result.left, *edit.refused.values())), recurse=False),
            rules=rules,
            secrets=len(edit.secrets),
            judges=tuple(sorted(services.plugins.implementing("on_validate"))),
            allowed=tuple(sorted(edit.allowed_in)),
        )
        if leaves_trace:
            bury(services, "scrub", report, rules=rules)
    return report


class _Masking(Edit):
    """Masks the strings that validators reject; with ``everywhere`` also where no validator recognised them."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._clean: set[tuple[str, int]] = set()
        self._may: dict[tuple[str, str], bool] = {}
        self.everywhere = False
        #: The replacement, and the line that first held the secret, which decides whether a surface permits it.
        self.secrets: dict[str, tuple[str, str]] = {}
        self.rules: Counter[str] = Counter()
        self.refused: dict[str, Left] = {}
        self.allowed_in: set[str] = set()
        self._allowed: set[str] = set()

    def traces(self) -> tuple[Needle, ...]:
        return tuple(Needle(secret) for secret in self.secrets if secret not in self._allowed)

    def record(self, record: dict[str, Any]) -> dict[str, Any]:
        return self._mapped(record, "journal")

    def document(self, surface: Surface | None, name: str, text: str) -> str | None:
        return self._masked(text, surface or Surface.DAILY, name)

    def fact(self, fact: Fact) -> Fact | None:
        content = self._masked(fact.content, Surface.FACT, "")
        source = self._masked(fact.source, Surface.FACT, "") if fact.source else ""
        return evolve(fact, content=content, source=source)

    def table(self, table: dict[str, Any]) -> dict[str, Any] | None:
        return self._mapped(table, "private files")

    row = table  # type: ignore[assignment]  # always called by position

    def other(self, path: str, data: bytes) -> bytes | None:
        name = os.path.basename(path)
        new = transforms.edit_bytes(data, lambda text: self._masked(text, Surface.JOURNAL, name))
        if not (self.everywhere and transforms.any_in_bytes(self.traces(), new)):
            return new
        ours = not path or path.startswith(self._services.state + os.sep) or transforms.is_temporary(path)
        return None if ours else new  # cannot be masked in place

    def _mapped(self, table: dict[str, Any], name: str) -> dict[str, Any]:
        return transforms.map_texts(table, lambda text: self._masked(text, Surface.JOURNAL, name), keep=_OURS)

    def _masked(self, text: str, surface: str, name: str) -> str:
        if not text.strip():
            return text
        if self.everywhere:
            text = self._known(text, surface, name)
        if (surface, hash(text)) in self._clean:
            return text
        for _ in range(_ROUNDS):
            findings = self._services.gate.findings(ValidationRequest(surface, name, text))
            masked = mask(text, findings)
            for finding in findings:
                if finding.span is None:
                    continue
                if finding.replacement is not None and masked != text:
                    self._note(finding.rule, finding.span, finding.replacement, text)
                elif finding.replacement is None and finding.severity == "error":
                    why = f"{finding.message} ({finding.rule}), and the policy has no mask for it"
                    step = finding.fix or "Edit it manually, or set the policy to mask."
                    self.refused[name or surface] = Left(name=name or str(surface), why=why, next_step=step)
            if masked == text:
                self._clean.add((surface, hash(text)))
                return text
            text = masked
        return text

    def _note(self, rule: str, span: tuple[int, int], replacement: str, text: str) -> None:
        if not self.everywhere:
            self.rules[rule] += 1
        start, end = span
        secret = text[start:end]
        line = text[text.rfind("\n", 0, start) + 1 :].split("\n", 1)[0] if "\n" not in secret else secret
        if len(secret.strip()) >= _LEAST_CHARS:
            self.secrets.setdefault(secret, (replacement, line))

    def _known(self, text: str, surface: str, name: str) -> str:
        """``text`` with the secrets replaced whose original line the validators do not allow on this surface."""
        for secret, (replacement, line) in self.secrets.items():
            if secret in text:
                key = (secret, surface)
                if key not in self._may:
                    findings = self._services.gate.findings(ValidationRequest(surface, "", line))
                    self._may[key] = secret in mask(line, findings)
                if self._may[key]:
                    self._allowed.add(secret)
                    self.allowed_in.add(name or str(surface))
                else:
                    text = text.replace(secret, replacement)
        return text
