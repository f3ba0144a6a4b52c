"""A brief's facts: corrections first, then the most confident, of equals the newest. The others are counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from attrs import frozen

from holdfast.config import provenance
from holdfast.errors import Corrupt
from holdfast.facts.factrules import duplicate_key
from holdfast.models import Category
from holdfast_facts import prompt

if TYPE_CHECKING:
    from holdfast.models import Fact
    from holdfast.session.services import Services

#: The section's name in the brief.
NAME: Final = "facts"
#: The facts' share of the total space.
SHARE: Final = 0.2
_MORE: Final = "… {count:,} more: `holdfast facts`"


@frozen(kw_only=True)
class Known:
    """The facts that fit: ``lines`` by content, as :func:`holdfast.facts.factrules.duplicate_key` writes it, in order.
    ``more`` counts the others."""

    lines: dict[str, str]
    more: int

    def text(self, elsewhere: str = "") -> str:
        """The section, without facts that are a line in ``elsewhere``; empty without facts."""
        said = {duplicate_key(line.strip().removeprefix("- ")) for line in elsewhere.splitlines()}
        lines = [line for key, line in self.lines.items() if key not in said]
        return "\n".join([*lines, *([_MORE.format(count=self.more)] if self.more else [])])


def read(services: Services, max_chars: int | None) -> Known:
    """The stored facts, masked, for a brief of ``max_chars`` characters. None if they came with a clone that the user
    does not trust, or are damaged, which the brief reports. Raises: PluginError; Unavailable."""
    backend = services.store.backend
    if services.store.is_withheld(provenance.FACTS):
        return Known(lines={}, more=0)
    try:
        stored = sorted(backend.strongest(), key=lambda fact: fact.category != Category.CORRECTION)
    except Corrupt:
        stored = []
    room = None if max_chars is None else int(max_chars * SHARE) - len(_MORE)
    fit = stored if room is None else stored[: _fitting(stored, room)]
    lines = prompt.lines(services, fit)
    return Known(
        lines={duplicate_key(fact.content): line for fact, line in zip(fit, lines, strict=True) if line},
        more=len(stored) - len(fit),
    )


def _fitting(stored: list[Fact], room: int) -> int:
    for number, fact in enumerate(stored):
        room -= len(prompt.fact_line(fact)) + 1
        if room < 0:
            return number
    return len(stored)
