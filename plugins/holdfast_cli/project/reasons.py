"""Why a setting of a project needs the user's trust, for display. :mod:`holdfast.config.values` has the limits."""

from __future__ import annotations


def reason(key: str) -> str:
    """A short reason why a setting needs the user's trust, for display."""
    head, _, rest = key.partition(".")
    if head == "plugins":
        name, _, option = rest.partition(".")
        if option in ("", "enabled"):
            return f"decides whether the plugin {name} runs"
        return f"is passed to the plugin {name}"
    return _REASONS.get(key) or _REASONS.get(head) or "is beyond the limits for a project"


_REASONS = {
    "storage": "decides where memory is kept",
    "storage.spool": "lets context go before the server has the flush",
    "layout.preset": "moves the private state, and decides which files memory is written to",
    "layout": "decides which files memory is written to",
    "retention": "decides which data is deleted",
    "trust": "decides whose commits count as seen; holdfast reads it only from your own settings",
    "identity": "decides whose name a flush carries",
    "facts.max_facts": "deletes the facts above that number",
    "facts.supersede": "decides which parts of deleted facts are kept",
    "flush": "changes when context may be dropped",
    "dream.backups": "deletes older copies of MEMORY.md",
    "dream.plugin": "decides which plugin reads the notes",
    "dream.judge": "sends lines of the notes to a model",
    "dream.when": "decides when a model is paid",
    "dream.every_hours": "decides how often a model is paid",
    "extract": "decides how often a model is paid",
    "prompt.counter": "may load a vocabulary from a server",
}
