"""Passes a draft through the gate line by line, so that a bad line does not refuse the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.gate import Gate, lines_of, refusal
from holdfast.text.plain import clean
from holdfast.validation import ValidationRequest, can_mask, mask

if TYPE_CHECKING:
    from holdfast.models import Finding

#: Removing a line may cause another error, for example when a limit on the number of items applies.
_ROUNDS = 12


def filter_lines(
    gate: Gate,
    text: str,
    *,
    surface: str,
    name: str = "",
    sources: tuple[tuple[str, str], ...] = (),
    previous: str | None = None,
    entailed: tuple[str, ...] = (),
) -> tuple[str, list[tuple[str, Finding]]]:
    """Like :meth:`Gate.admit`, but an error on one line removes that line, not the whole text. ``entailed``: see
    :class:`holdfast.validation.ValidationRequest`.

    Returns the remaining text, and the removed lines with their findings. Raises: Refused for an error in the
    whole text, or when removing lines does not converge; PluginError.
    """
    text = clean(text)
    known = gate.known(previous, surface, name) if previous else frozenset()
    gone: list[tuple[str, Finding]] = []
    errors: list[Finding] = []
    for _ in range(_ROUNDS):
        found = gate.findings(ValidationRequest(surface, name, text, sources, entailed=entailed))
        errors = [f for f in found if f.severity == "error" and not can_mask(f, text)]
        line = lines_of(text, errors) if known else {}
        errors = [f for f in errors if (f.rule, line.get(f.line, "")) not in known]
        lines = text.splitlines()
        if any(f.line is None or not 0 < f.line <= len(lines) for f in errors):
            break
        if errors:
            said = {f.line: f for f in reversed(errors) if f.line}  # the first finding of each line
            gone += [(lines[number - 1], said[number]) for number in sorted(said)]
            text = "\n".join(line for number, line in enumerate(lines, 1) if number not in said) + "\n"
        elif any(can_mask(f, text) for f in found):
            text = mask(text, found)
        else:
            return text, gone
    raise refusal(surface, name, errors)
