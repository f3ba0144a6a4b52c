"""The shortest path from a turn to disk: gate, then journal.

Agents start this at every event, so nothing here imports attrs, reads a store or reads earlier messages.
"""

from holdfast.clock import local_now
from holdfast.config import settings
from holdfast.errors import ConfigError, Refused
from holdfast.fs import private
from holdfast.gate import Gate, is_plain
from holdfast.journal.capture import admitted, record
from holdfast.journal.journal import Entry
from holdfast.plugin import discovery
from holdfast.plugin.manager import PluginManager, PluginSettings
from holdfast_app.journal.journal import Journal
from holdfast_app.project_settings import resolved


def capture(root: str, session_id: str, role: str, text: str, *, message_id: str | None = None) -> Entry:
    """Journal one message of a session of the project at ``root``, durably, without opening the store.

    Raises: ConfigError, Refused, PluginError, Unavailable, having written nothing.
    """
    manager, state = hot_plugins(root)
    gate = Gate(manager)
    message = record(role, text, at=local_now(), message_id=message_id)
    return Journal(state, gate.identifier(session_id)).append(*admitted(gate, root, [message]))[0]


def stored_id(root: str, session_id: str) -> str:
    """A session's stored id, with any secret masked.

    Raises: ConfigError, Refused, PluginError.
    """
    return session_id if is_plain(session_id) else Gate(hot_plugins(root)[0]).identifier(session_id)


def label(gate: Gate, name: str) -> str:
    """A name that a client recorded, masked; empty for a refused name. Raises: PluginError."""
    try:
        return gate.identifier(name)
    except Refused:
        return ""


def hot_plugins(root: str, *, alone: bool = False) -> tuple[PluginManager, str]:
    """The enabled plugins and the private folder, from the settings in force; ``alone`` ignores the project's file.

    Reads the same keys as :class:`holdfast.config.values.Config` and checks only those it uses, because importing
    attrs and making that class would take half as long again as the whole event. A test keeps the two in step.
    """
    data = resolved.hot(root, alone=alone)
    try:
        tables = data.get("plugins", {})
        tables = {**{name: {} for name in discovery.defaults() if name not in tables}, **tables}
        state = settings.state_folder(root, settings.preset(data))
        enabled = [
            PluginSettings(
                name, table.get("deadline_s"), {k: table[k] for k in table if k not in discovery.PLUGIN_KEYS}
            )
            for name, table in tables.items()
            if table.get("enabled", True) is not False
        ]
        if not all(plugin.deadline_s is None or plugin.deadline_s > 0 for plugin in enabled):
            raise ValueError("deadline_s")
    except (AttributeError, TypeError, KeyError, ValueError) as error:
        raise ConfigError(
            "The configuration is not valid.", next_step="Run `holdfast config` to see the mistake."
        ) from error
    private.check(state)
    manager = PluginManager()
    manager.load(enabled, discovery.scan(), root=root, state=state)
    return manager, state
