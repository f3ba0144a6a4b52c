"""A request as the views see it."""

from __future__ import annotations

from collections.abc import Mapping

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
