"""The stored memory that agents do not get: what this machine did not write, and its user has not seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen

from holdfast.errors import Corrupt
from holdfast.text.humanize import count

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.models import Fact
    from holdfast.session.provenance import Withheld as Passage
    from holdfast_cli.terminal import Term


@frozen
class Withheld:
    """``passages`` by document, and ``facts``. Accepting covers exactly these. ``rows`` are all of them for display:
    a document's name or ``facts``, the line or the id, and the masked text."""

    root: str
    passages: Mapping[str, tuple[Passage, ...]]
    facts: tuple[Fact, ...]
    rows: tuple[tuple[str, str, str], ...]

    @classmethod
    def of(cls, root: str) -> Withheld:
        """The project's withheld memory. An unreadable document is left out. Raises: any HoldfastError."""
        from holdfast import Holdfast

        passages = {}
        with Holdfast.open(root) as memory:
            store = memory.store
            for name in store.names():
                try:
                    document = store.read(name)
                except Corrupt:
                    continue  # `doctor` reports it
                if document is not None and (withheld := store.sifted(document).withheld):
                    passages[name] = withheld
            facts = tuple(store.withheld_facts())
            listed = [(name, str(one.line), one.text) for name, found in passages.items() for one in found]
            listed += [("facts", fact.id, fact.content) for fact in facts]
            masked = memory.services.gate.outgoing_all([text for _, _, text in listed], surface="daily")
            rows = tuple((name, place, text) for (name, place, _), text in zip(listed, masked, strict=True))
            return cls(root, passages, facts, rows)

    @property
    def number(self) -> int:
        """How many passages and facts."""
        return len(self.rows)

    def accept(self) -> None:
        """Record all of it as seen. Raises: Unavailable."""
        from holdfast import Holdfast

        with Holdfast.open(self.root) as memory:
            memory.store.provenance.accept(self.passages, self.facts)

    def say(self, out: Term) -> None:
        """Show all of it, made safe for the terminal."""
        them = "it" if self.number == 1 else "them"
        out.say(f"Agents do not get {count(self.number, 'passage')}, because this machine did not write {them}:")
        last = ""
        for name, place, text in self.rows:
            if name != last:
                out.say(f"\n{out.bold(out.plain(name))}")
            last = name
            first, *rest = text.split("\n")
            out.exact(f"{place:>6}  {first}\n" + "".join(f"{'':>6}  {line}\n" for line in rest))

    def table(self) -> list[dict[str, str]]:
        """The same for ``--json``."""
        return [{"name": name, "place": place, "text": text} for name, place, text in self.rows]
