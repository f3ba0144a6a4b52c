"""The methods added to an opened project; :class:`holdfast.plugin.features.Features` declares them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast import Holdfast
    from holdfast.facts.extract import ExtractResult
    from holdfast.plugin.features import Said


def extract(memory: Holdfast, messages: Said | Iterable[Said], *, source: str = "") -> ExtractResult:
    from holdfast.flush.backlog import extract_now
    from holdfast_facts.conversation import turns_given

    return extract_now(memory.services, turns_given(messages), source=source)
