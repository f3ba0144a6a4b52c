"""The gate: every text on its way to storage passes here. Validators find, the gate masks or refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.errors import Refused
from holdfast.subject import Subject

if TYPE_CHECKING:
    from holdfast.dispatch import Dispatch
    from holdfast.models import Finding

_ROUNDS = 4
#: Control characters that no Markdown needs and that break readers; newline and tab stay. Lone surrogates cannot be
#: written as UTF-8 at all.
_CONTROLS = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 127), "�")


def clean(text: str) -> str:
    """``text`` as it can be stored: line ends become ``\\n``, control characters and lone surrogates ``U+FFFD``."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.isprintable():  # quick for the common case of one plain line
        text = text.translate(_CONTROLS)
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


class Gate:
    """Admits texts. ``warnings`` of the last admissions are collected by whoever asks with ``notes``."""

    def __init__(self, dispatch: Dispatch) -> None:
        self._dispatch = dispatch

    def findings(self, subject: Subject) -> list[Finding]:
        """What the validators say, changing nothing. Raises: PluginError."""
        return self._dispatch.on_validate(subject)

    def admit(
        self,
        text: str,
        *,
        surface: str,
        name: str = "",
        sources: tuple[tuple[str, str], ...] = (),
        notes: list[Finding] | None = None,
        previous: str | None = None,
    ) -> str:
        """The text as it may be stored: cleaned, with every span masked that a validator wants masked.

        Masking is repeated until the validators ask for nothing more; warnings go to ``notes``. An error that the
        ``previous`` text of the document has too, in the same line, does not refuse: what a person wrote by hand must
        not keep a flush from being saved.
        Raises: Refused when an error cannot be masked or masking does not come to rest; PluginError when a validator
        is broken. Either way nothing may be stored.
        """
        text = clean(text)
        known = self._known(previous, surface, name) if previous else frozenset()
        for _ in range(_ROUNDS):
            found = self._dispatch.on_validate(Subject(surface, name, text, sources))
            if not found:
                return text
            refused = [f for f in found if f.severity == "error" and (f.span is None or f.replacement is None)]
            refused = [f for f in refused if (f.rule, _line_of(text, f)) not in known]
            if refused:
                raise _refusal(surface, name, refused)
            if notes is not None:
                notes += [f for f in found if f.replacement is None]
            masked = mask(text, found)
            if masked == text:
                return text
            text = masked
        raise Refused(
            f"Masking the text for {name or surface} does not come to rest.",
            next_step="A validator finds something in its own replacement: switch it off and report it to its author.",
        )

    def _known(self, previous: str, surface: str, name: str) -> frozenset[tuple[str, str]]:
        found = self._dispatch.on_validate(Subject(surface, name, previous))
        return frozenset((f.rule, _line_of(previous, f)) for f in found)


def _line_of(text: str, finding: Finding) -> str:
    lines = text.splitlines()
    return lines[finding.line - 1] if finding.line and finding.line <= len(lines) else ""


def mask(text: str, findings: list[Finding]) -> str:
    """Put each finding's replacement in place of its span. Of overlapping spans the first and then the longest wins,
    stretched over the others, so that no part of any span stays."""
    spans = sorted(
        ((*f.span, f.replacement) for f in findings if f.span is not None and f.replacement is not None),
        key=lambda s: (s[0], -s[1]),
    )
    out: list[str] = []
    position = 0
    merged: list[tuple[int, int, str]] = []
    for start, end, replacement in spans:
        start, end = max(0, start), min(len(text), end)
        if merged and start < merged[-1][1]:
            first, last, chosen = merged[-1]
            merged[-1] = (first, max(last, end), chosen)
        elif end >= start:
            merged.append((start, end, replacement))
    for start, end, replacement in merged:
        out += (text[position:start], replacement)
        position = end
    return "".join([*out, text[position:]])


def _refusal(surface: str, name: str, findings: list[Finding]) -> Refused:
    lines = []
    for finding in findings[:5]:
        where = f"line {finding.line}: " if finding.line else ""
        lines.append(f"{where}{finding.message} ({finding.rule})")
    more = f" and {len(findings) - 5} more" if len(findings) > 5 else ""
    return Refused(
        f"The text for {name or surface} was refused: {'; '.join(lines)}{more}.",
        next_step=next((f.fix for f in findings if f.fix), "Change the text and try again."),
        findings=tuple(findings),
    )
