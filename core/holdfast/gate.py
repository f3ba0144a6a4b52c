"""The gate: all content entering or leaving a store passes here. Validators find, the gate masks or refuses."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from holdfast.errors import Refused, must_be
from holdfast.text.plain import clean
from holdfast.validation import CHUNK_CHARS, ValidationRequest, can_mask, mask

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from holdfast.models import Finding
    from holdfast.plugin.manager import PluginManager

_ROUNDS = 4
#: Ids that cannot hold a secret.
_HEX = frozenset("0123456789abcdef-")
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz-")
_PLAIN_CHARS = 40
#: A separator line between joined strings. A string that contains it is checked alone. Printable, see `clean`.
_BORDER_CHAR = "\ufffc"
_BORDER = f"\n{_BORDER_CHAR}\n"


class Gate:
    """Admits content. A caller passes ``notes`` to collect the warnings."""

    def __init__(self, plugins: PluginManager) -> None:
        self._plugins = plugins

    def findings(self, request: ValidationRequest) -> list[Finding]:
        """The validators' findings; changes nothing. Raises: PluginError."""
        return self._plugins.on_validate(request)

    def admit(
        self,
        text: str,
        *,
        surface: str,
        name: str = "",
        notes: list[Finding] | None = None,
        previous: str | None = None,
        verbatim: bool = False,
    ) -> str:
        """``text`` in the form that may be stored: cleaned, with every span masked that a validator wants masked.

        ``verbatim`` keeps line ends and control characters. It is for a stored document in which only one place
        was changed, by content admitted before, and for content known to have none.
        Masking repeats until the validators find nothing more to mask; warnings go to ``notes``. An error that is also
        in the document's ``previous`` text, on the same line, does not refuse, because a person's manual edit must not
        keep a flush from being saved.
        Raises: Refused when an error cannot be masked or masking does not converge; PluginError when a validator
        is broken. Either way nothing may be stored.
        """
        text = text if verbatim else clean(text)
        for _ in range(_ROUNDS):
            masked = self._masked(ValidationRequest(surface, name, text), notes, previous)
            if masked is None:
                return text
            text = masked
        raise _restless(surface, name)

    def _masked(
        self, request: ValidationRequest, notes: list[Finding] | None, previous: str | None = None
    ) -> str | None:
        """The text after one round of masking, None when there is nothing to mask. Raises: as :meth:`admit`."""
        surface, name, text = request[:3]
        findings = self._plugins.on_validate(request)
        refused = [f for f in findings if f.severity == "error" and not can_mask(f, text)]
        if refused and previous:  # rare, so the previous text is checked only when the answer matters
            known = self.known(previous, surface, name)
            line = lines_of(text, refused)
            refused = [f for f in refused if (f.rule, line.get(f.line, "")) not in known]
        if refused:
            raise refusal(surface, name, refused)
        if notes is not None:
            notes += [f for f in findings if f.replacement is None and f not in notes]
        return mask(text, findings) if any(can_mask(f, text) for f in findings) else None

    def outgoing(self, text: str, *, surface: str, name: str = "") -> str:
        """The only way out of a store: ``text`` as it may leave for a model, a terminal or another file.

        Masks everything that validators want masked now. A secret written manually, or before a rule
        covered it, does not leave. Nothing is refused, because the text is stored already.
        Raises: Refused when masking does not converge; PluginError when a validator is broken. Then nothing leaves.
        """
        for _ in range(_ROUNDS):
            request = ValidationRequest(surface, name, text, stored=True, outgoing=True)
            findings = self._plugins.on_validate(request, outgoing=True)
            if not any(can_mask(f, text) for f in findings):
                return text
            text = mask(text, findings)
        raise _restless(surface, name)

    def identifier(self, identifier: str) -> str:
        """A session or message id in the form that may become part of a file name: masked, the same each time.

        Ids that cannot hold a secret skip the validators, because agents' hooks call this at every event.
        Raises: Refused for an id with a secret that the policy refuses; PluginError when a validator is broken.
        """
        must_be(str, identifier, "the id")
        if is_plain(identifier):
            return identifier
        identifier = identifier.encode(errors="replace").decode()  # no store can keep a lone surrogate
        findings = self._plugins.on_validate(ValidationRequest("journal", "", identifier, stored=True), outgoing=True)
        refused = [f for f in findings if f.span is not None and f.severity == "error" and not can_mask(f, identifier)]
        if refused:
            raise refusal("journal", "an id", refused)
        return mask(identifier, findings)

    def identifiers(self, identifiers: Sequence[str]) -> list[str]:
        """:meth:`identifier` for many ids. Raises: as :meth:`identifier`."""
        doubtful = [identifier for identifier in dict.fromkeys(identifiers) if not is_plain(identifier)]
        masked = dict(zip(doubtful, self._each(doubtful, "journal", self.identifier), strict=True))
        return [masked.get(identifier, identifier) for identifier in identifiers]

    def outgoing_all(self, strings: Sequence[str], *, surface: str) -> list[str]:
        """:meth:`outgoing` for many strings. Raises: as :meth:`outgoing`."""
        return self._each(strings, surface, lambda text: self.outgoing(text, surface=surface))

    def admit_all(self, strings: Sequence[str], *, surface: str, notes: list[Finding] | None = None) -> list[str]:
        """:meth:`admit` for many strings. A refusal lists the findings of all of them. Raises: as :meth:`admit`."""
        warned: list[Finding] = [] if notes is None else notes
        cleaned = [clean(text) for text in strings]  # before joining, because the border is not ASCII
        return self._each(cleaned, surface, lambda text: self.admit(text, surface=surface, notes=warned), warned)

    def _each(
        self, strings: Sequence[str], surface: str, apply: Callable[[str], str], notes: list[Finding] | None = None
    ) -> list[str]:
        """``apply(text)`` for each string. Many are joined to call validators less often. Each is passed alone
        when a mask crosses a border or something is refused. Raises: Refused with the findings of all strings."""
        passed: list[str] = []
        refused: list[Finding] = []
        for chunk in _chunks(strings):
            parts: list[str] = []
            noted = len(notes or ())
            if not any(_BORDER_CHAR in text for text in chunk):
                with suppress(Refused):
                    parts = apply(_BORDER.join(chunk)).split(_BORDER)
            if len(parts) == len(chunk):
                passed += parts
                continue
            if notes is not None:
                del notes[noted:]
            for text in chunk:
                try:
                    passed.append(apply(text))
                except Refused as error:
                    if not error.findings:
                        raise
                    refused += error.findings
        if refused:
            raise refusal(surface, "", refused)
        return passed

    def known(self, previous: str, surface: str, name: str) -> frozenset[tuple[str, str]]:
        """The rules that lines of an earlier text break, each with its line. Raises: PluginError."""
        findings = self._plugins.on_validate(ValidationRequest(surface, name, previous))
        line = lines_of(previous, findings)
        return frozenset((f.rule, line.get(f.line, "")) for f in findings)


def is_plain(identifier: str) -> bool:
    """Whether an id cannot hold a secret: words of lower-case letters, followed by a UUID, ``ses_`` with letters and
    digits (opencode's form), or nothing."""
    head, form, rest = identifier.rpartition("ses_")
    if form and rest.isascii() and rest.isalnum() and len(rest) <= _PLAIN_CHARS:
        identifier = head
    head, tail = identifier[:-36], identifier[-36:]
    if len(tail) == 36 and tail[8] == tail[13] == tail[18] == tail[23] == "-" and _HEX.issuperset(tail):
        identifier = head
    return len(identifier) <= _PLAIN_CHARS and _LETTERS.issuperset(identifier)


def _chunks(strings: Sequence[str]) -> Iterator[Sequence[str]]:
    """The strings in order, in groups that a validator can check within its deadline, at least one per group."""
    start = size = 0
    for number, text in enumerate(strings):
        needed = len(text) + len(_BORDER)
        if size and size + needed > CHUNK_CHARS:
            yield strings[start:number]
            start, size = number, 0
        size += needed
    if start < len(strings):
        yield strings[start:]


def lines_of(text: str, findings: Sequence[Finding]) -> dict[int | None, str]:
    """The lines of ``text`` that findings name, by their numbers. Splits the text once, however many findings there
    are."""
    from holdfast.text.plain import lines

    wanted = {finding.line for finding in findings} - {None}
    if not wanted:
        return {}
    return {number: line for number, (_, line) in enumerate(lines(text), 1) if number in wanted}


def _restless(surface: str, name: str) -> Refused:
    return Refused(
        f"Masking the text for {name or surface} does not converge.",
        next_step="A validator finds something in its own replacement: switch it off and report it to its author.",
    )


def refusal(surface: str, name: str, findings: list[Finding]) -> Refused:
    places = ((f"line {f.line}: " if f.line else "", f) for f in findings)  # a payload's fields have no line
    problems = list(dict.fromkeys(f"{where}{f.message} ({f.rule})" for where, f in places))
    more = f" and {len(problems) - 5} more" if len(problems) > 5 else ""
    return Refused(
        f"The text for {name or surface} was refused: {'; '.join(problems[:5])}{more}.",
        next_step=next((f.fix for f in findings if f.fix), "Change the text and try again."),
        findings=tuple(findings),
    )
