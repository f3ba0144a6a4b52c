"""The views. Each takes the project, the renderer and the request, and returns a page's HTML. And a request as they see
it, and one page of a long list."""

from collections.abc import Mapping, Sequence
from typing import Final, Generic, TypeVar

from attrs import field, frozen


@frozen(kw_only=True)
class Request:
    """``argument`` is the decoded rest of the path, ``query`` the last value of each field."""

    argument: str = ""
    query: Mapping[str, str] = field(factory=dict)

    def text(self, name: str, most: int = 2_000) -> str:
        """A field's value without surrounding blanks, cut to ``most`` characters; empty when missing."""
        return self.query.get(name, "").strip()[:most]

    def choice(self, name: str, allowed: tuple[str, ...]) -> str:
        """A field's value if ``allowed`` has it, otherwise the first allowed value."""
        value = self.text(name, 80)
        return value if value in allowed else allowed[0]


T = TypeVar("T")

SIZE: Final = 50


@frozen(kw_only=True)
class Page(Generic[T]):
    """``items`` of page ``number`` (from 1) of ``pages``; ``total`` items in all. ``first`` is the position of the
    first item, from 1; 0 for an empty list."""

    items: Sequence[T]
    number: int
    pages: int
    total: int
    first: int

    @property
    def last(self) -> int:
        return self.first + len(self.items) - 1 if self.total else 0


def page(items: Sequence[T], wanted: str, *, size: int = SIZE) -> Page[T]:
    """Page ``wanted`` of ``items``. A number out of range gives the nearest page, anything else the first."""
    pages = max(1, -(-len(items) // size))
    number = min(max(int(wanted), 1), pages) if wanted.isascii() and wanted.isdigit() and len(wanted) < 10 else 1
    start = (number - 1) * size
    shown = items[start : start + size]
    return Page(items=shown, number=number, pages=pages, total=len(items), first=start + 1 if shown else 0)
