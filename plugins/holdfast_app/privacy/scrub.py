"""Masking content stored before a rule could recognise it. The validators check it as if written now.

The secrets found are then searched for in every byte. They are held in memory only.
"""

from __future__ import annotations

import logging
import os
from collections import Counter
from typing import TYPE_CHECKING, Any

from attrs import asdict, evolve, frozen

from holdfast.config.layout import Surface
from holdfast.validation import ValidationRequest, mask
from holdfast_app.privacy.purge import bury
from holdfast_app.privacy.sweep import Walk, alone, carry_out
from holdfast_app.privacy.text_search import Needle, any_in_bytes
from holdfast_app.privacy.transforms import Edit, Left, Report, edit_bytes, is_temporary, map_texts

if TYPE_CHECKING:
    from holdfast.models import Fact, Finding
    from holdfast_app.base import Services

logger = logging.getLogger(__name__)

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


def scrub(services: Services, *, dry_run: bool = False) -> ScrubReport:
    """See :meth:`holdfast_app.project.Holdfast.scrub`."""
    # Report a broken validator once, not per place.
    services.gate.findings(ValidationRequest(Surface.JOURNAL, "", "a sample"))
    if dry_run or not os.path.isdir(services.state):
        return _scrubbed(services, dry_run=dry_run)
    with alone(services):
        report = _scrubbed(services, dry_run=False)
        searched = {"files_searched": report.files, "bytes_searched": report.size}
        bury(services, "scrub", {"changed": report.counts, "rules": report.rules, **searched, "left": len(report.left)})
        return report


def _scrubbed(services: Services, *, dry_run: bool) -> ScrubReport:
    edit = _Masking(services)
    Walk(services=services, edit=edit, dry_run=True).run()  # collect all secrets before masking any
    rules = dict(sorted(edit.rules.items()))
    edit.everywhere = True
    report = carry_out(services, edit, dry_run=dry_run)
    return ScrubReport(
        **asdict(evolve(report, left=(*report.left, *edit.refused.values())), recurse=False),
        rules=rules,
        secrets=len(edit.secrets),
        judges=tuple(sorted(services.plugins.implementing("on_validate"))),
        allowed=tuple(sorted(edit.allowed_in)),
    )


@frozen(kw_only=True)
class _Secret:
    """``line`` is the line that first held the secret, which decides whether a surface permits the secret."""

    replacement: str
    line: str


class _Masking(Edit):
    """Masks the strings that validators reject; with ``everywhere`` also where no validator recognised them."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._clean: set[tuple[str, int]] = set()
        self._may: dict[tuple[str, str], bool] = {}
        self.everywhere = False
        self.secrets: dict[str, _Secret] = {}
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
        return (
            fact if (content, source) == (fact.content, fact.source) else evolve(fact, content=content, source=source)
        )

    def row(self, row: dict[str, Any]) -> dict[str, Any] | None:
        return self._mapped(row, "private files")

    def table(self, table: dict[str, Any]) -> dict[str, Any] | None:
        return self._mapped(table, "private files")

    def other(self, path: str, data: bytes) -> bytes | None:
        name = os.path.basename(path)
        new = edit_bytes(data, lambda text: self._masked(text, Surface.JOURNAL, name))
        if not (self.everywhere and any_in_bytes(self.traces(), new)):
            return new
        ours = not path or path.startswith(self._services.state + os.sep) or is_temporary(path)
        return None if ours else new  # cannot be masked in place

    def _mapped(self, table: dict[str, Any], name: str) -> dict[str, Any]:
        changed: dict[str, Any] = map_texts(table, lambda text: self._masked(text, Surface.JOURNAL, name), keep=_OURS)
        return changed

    def _masked(self, text: str, surface: str, name: str) -> str:
        if not text.strip():
            return text
        if self.everywhere:
            text = self._known(text, surface, name)
        key = (surface, hash(text))
        if key in self._clean:
            return text
        for _ in range(_ROUNDS):
            found = self._services.gate.findings(ValidationRequest(surface, name, text))
            self._note_refused(found, surface, name)
            masked = mask(text, found)
            if masked == text:
                self._clean.add((surface, hash(text)))
                return text
            for finding in found:
                if finding.span is not None and finding.replacement is not None:
                    self._note(finding, finding.span, finding.replacement, text)
            text = masked
        return text

    def _note(self, finding: Finding, span: tuple[int, int], replacement: str, text: str) -> None:
        if not self.everywhere:
            self.rules[finding.rule] += 1
        start, end = span
        secret = text[start:end]
        line = text[text.rfind("\n", 0, start) + 1 :].split("\n", 1)[0] if "\n" not in secret else secret
        if len(secret.strip()) >= _LEAST_CHARS and secret not in self.secrets:
            self.secrets[secret] = _Secret(replacement=replacement, line=line)

    def _note_refused(self, found: list[Finding], surface: str, name: str) -> None:
        for finding in found:
            if finding.span is not None and finding.replacement is None and finding.severity == "error":
                where = name or str(surface)
                self.refused[where] = Left(
                    name=where,
                    why=f"{finding.message} ({finding.rule}), and the policy has no mask for it",
                    next_step=finding.fix or "Edit it manually, or set the policy to mask.",
                )

    def _known(self, text: str, surface: str, name: str) -> str:
        for secret, known in self.secrets.items():
            if secret in text:
                if self._may_stand(secret, known, surface):
                    self._allowed.add(secret)
                    self.allowed_in.add(name or str(surface))
                else:
                    text = text.replace(secret, known.replacement)
        return text

    def _may_stand(self, secret: str, known: _Secret, surface: str) -> bool:
        """Whether the validators allow the secret's original line on this surface."""
        key = (secret, surface)
        if key not in self._may:
            found = self._services.gate.findings(ValidationRequest(surface, "", known.line))
            self._may[key] = secret in mask(known.line, found)
        return self._may[key]
