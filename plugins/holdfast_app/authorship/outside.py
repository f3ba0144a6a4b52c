"""The tools whose results strangers write. Part of the hot path, so without regular expressions."""

from __future__ import annotations

_NAMES = (
    "web", "fetch", "document", "resource", "attach", "search", "browse", "navigate", "http", "curl", "mcp", "issue",
    "pull_request", "mail", "slack", "discord",
)  # fmt: skip


def is_outside(tool: str) -> bool:
    """Whether strangers write the results of a tool of this name: pages, searches, servers."""
    return any(part in tool.lower() for part in _NAMES)
