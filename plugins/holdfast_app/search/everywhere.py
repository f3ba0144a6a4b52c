"""Search all projects of this user on this machine: ``holdfast search --everywhere``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from holdfast.config import resolved
from holdfast.errors import HoldfastError
from holdfast_app.search.searching import Hits
from holdfast_app.trust.seen import projects

if TYPE_CHECKING:
    from holdfast import Holdfast


def search(memory: Holdfast, question: str, *, limit: int, **options: Any) -> Hits:
    """The hits of all projects, each with its folder, first what holds now. A project with settings that this user does
    not trust, or that cannot be read, is named in the warning."""
    own = os.path.realpath(memory.services.root)
    answers: dict[str, Hits] = {own: memory.search(question, limit=limit, **options)}
    left = []
    for root in projects():
        try:
            if root != own and resolved.resolve(root).withheld:
                left.append(f"{root} (its settings are not trusted)")
            elif root != own:
                with type(memory).open(root) as other:
                    answers[root] = other.search(question, limit=limit, **options)
        except HoldfastError as error:
            left.append(f"{root} ({error.message})")
    inside = {root: hits for root, hits in answers.items() if hits and not hits.outside} or answers
    found = [hit._replace(project=root) for root, hits in inside.items() for hit in hits]
    first = answers[own]
    warning = f"Not searched: {', '.join(left)}." if left else ""
    return Hits(
        sorted(found, key=lambda hit: (not hit.holds, -hit.score))[:limit],
        texts=sum(hits.texts for hits in answers.values()),
        unread=tuple(f"{root}: {name}" for root, hits in answers.items() for name in hits.unread),
        corrected=first.corrected if found and not any(hits and not hits.corrected for hits in inside.values()) else "",
        warning=" ".join(filter(None, (first.warning, warning))),
        days=first.days,
        outside=all(hits.outside for hits in inside.values()),
    )
