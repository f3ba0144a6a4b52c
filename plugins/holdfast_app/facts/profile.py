"""The user profile with recent activity, as one Markdown document with an anchor for each section.

``## Work``, ``## Personal`` and ``## Current Focus`` are the user's context; ``## Recent``, ``## Earlier`` and
``## Background`` the history. Items are ``- `` lines; everything else in the document is the user's and stays.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

import attrs

from holdfast.config.layout import Surface
from holdfast.errors import BadValue, must_be
from holdfast.fs import paths
from holdfast.models import Profile
from holdfast.text.lazy import Lazy
from holdfast.text.plain import BOM, clean, same_key
from holdfast_app.authorship.witness import Witness
from holdfast_app.base import Services
from holdfast_app.printable import cut
from holdfast_app.records import ownlines

#: Field -> anchor, in order of the document. Source: R063, R064; labels of reading A15.
ANCHORS: Final[Mapping[str, str]] = dict(
    zip(("work", "personal", "top_of_mind", "recent", "earlier", "background"), ownlines.PROFILE_SECTIONS, strict=True)
)
TITLE: Final = ownlines.PROFILE + "\n"
#: Maximum number of items kept in a section, newest first; items removed from Recent go to Earlier.
MAX_ITEMS: Final = 8
MAX_RECENT: Final = 5
_MAX_ITEM_CHARS: Final = 400

_FIELDS = {anchor.casefold(): name for name, anchor in ANCHORS.items()}
_HEADING: Final = Lazy(r"^(?=##? )", re.MULTILINE)


def parse(text: str) -> Profile:
    """The profile that a document holds; items are separate lines of a section's text."""
    sections: dict[str, list[str]] = {}
    for name, part in _parts(text):
        if name:
            sections.setdefault(name, []).extend(map(_item, part.splitlines()[1:]))
    return Profile(**{name: "\n".join(filter(None, items)) for name, items in sections.items()})


def load(services: Services, *, recalled: bool = False) -> Profile:
    """The stored profile, empty when there is none. ``recalled``: as it may leave the store, masked, and empty when it
    came with an untrusted clone. Raises: Corrupt, Unavailable; PluginError."""
    name = services.layout.name(Surface.PROFILE)
    document = services.recalled(name) if recalled else services.store.read(name)
    return parse(document.text) if document else Profile()


def update(services: Services, changes: Mapping[str, str]) -> Profile:
    """Set the sections named in ``changes`` (an empty string clears one) and leave the others; returns the profile.

    Raises: BadValue for an unknown section, and for a section whose value is not a string; Refused and PluginError
    from the gate; Conflict, Unavailable.
    """
    if unknown := sorted(set(changes) - set(ANCHORS)):
        raise BadValue("section", f"cannot be {unknown[0]!r}", next_step=f"Use one of: {', '.join(ANCHORS)}.")
    for name, text in changes.items():
        must_be(str, text, name)
    # Cleaned first: two lines can be one once their control characters are replaced.
    lines = {name: "\n".join(_joined("", clean(text))) for name, text in changes.items()}
    return _change(services, lambda old: attrs.evolve(old, **lines))


def learn(services: Services, new: Profile, heard: Witness) -> bool:
    """Merge an extraction's new information about the user, without sections that instruct an agent; known items that
    it omits are kept. Returns whether anything changed.

    Current Focus is replaced. The other sections gain the items that they lack. Raises: as :func:`update`.
    """
    for name in ANCHORS:
        must_be(str, getattr(new, name), name)
    new = attrs.evolve(new, **{name: "" for name in ANCHORS if heard.is_hostile(getattr(new, name))})
    if new == Profile():
        return False  # it would only make an empty document
    before = load(services)
    return _change(services, lambda old: _merged(old, new)) != before


def _merged(old: Profile, new: Profile) -> Profile:
    sections = {name: _joined(getattr(old, name), getattr(new, name)) for name in ANCHORS}
    if new.top_of_mind.strip():
        sections["top_of_mind"] = _joined("", new.top_of_mind)
    recent = sections["recent"]
    sections["recent"] = recent[-MAX_RECENT:]
    sections["earlier"] = _joined(old.earlier, "\n".join([*recent[:-MAX_RECENT], new.earlier]))
    return Profile(**{name: "\n".join(items[-MAX_ITEMS:]) for name, items in sections.items()})


def _joined(old: str, new: str) -> list[str]:
    items: dict[str, str] = {}
    for item in filter(None, map(_item, (*old.splitlines(), *new.splitlines()))):
        items.setdefault(same_key(item), item)
    return list(items.values())


def _item(line: str) -> str:
    return cut(" ".join(line.split()).removeprefix("- ").removeprefix("* "), _MAX_ITEM_CHARS)


def _change(services: Services, change: Callable[[Profile], Profile]) -> Profile:
    name = services.layout.name(Surface.PROFILE)

    def rewrite(text: str | None) -> str:
        old = parse(text or "")
        new = change(old)
        changed = [n for n in ANCHORS if getattr(new, n) != getattr(old, n)]
        written = text if text and text.strip() else TITLE
        for section in changed:
            written = _put(written, section, paths.rewrite(getattr(new, section), services.root))
        return services.gate.admit(written, surface=Surface.PROFILE, name=name, previous=text) if changed else written

    services.store.change(Surface.PROFILE, name, rewrite)
    return load(services)


def _put(text: str, name: str, value: str) -> str:
    """``text`` with one section's items replaced. A missing section is added at the end."""
    items = [f"- {item}" for item in map(_item, value.splitlines()) if item]
    made, seen = "", False
    for field, part in _parts(text):
        if field == name:
            part, seen = "\n".join([part.partition("\n")[0], "", *([] if seen else items), "", ""]), True
        made += part
    if not seen and items:
        made = "\n".join([made.rstrip("\n"), "", f"## {ANCHORS[name]}", "", *items])
    return made.rstrip("\n") + "\n"


def _parts(text: str) -> list[tuple[str, str]]:
    """The document's parts: each section's field (``""`` outside our sections), and its text with its heading."""
    heads = ((part.lstrip(BOM).partition("\n")[0].casefold(), part) for part in _HEADING.split(text))
    return [(_FIELDS.get(head[3:].strip(), "") if head.startswith("## ") else "", part) for head, part in heads]
