"""Whole payloads, and settings, in few words."""

from typing import Any

from holdfast.api import Holdfast, Payload, Receipt
from holdfast.config.values import PluginConfig
from holdfast.plugin import discovery
from holdfast_app.config import Config

#: What a test shows with these does not depend on a plugin.
NO_PLUGINS = {name: PluginConfig(enabled=False) for name in discovery.defaults()}


def only(plugin: str, settings: dict[str, object]) -> Config:
    """UTC, and no plugin but this one."""
    return Config(zone="UTC", plugins={**NO_PLUGINS, plugin: PluginConfig(settings=settings)})


def done(objective: str = "Go on", **fields: Any) -> dict[str, Any]:
    """A payload of ended work: what is not given is empty. None leaves a field out."""
    lists = dict.fromkeys(("facts", "decisions", "blockers", "artifacts", "follow_ups", "state_mutations"), ())
    whole = {"objective": objective, **lists, "next_step": "none", "work_open": False, "curated": "none", **fields}
    return {name: list(value) if value == () else value for name, value in whole.items() if value is not None}


def goes_on(objective: str, next_step: str, **fields: Any) -> dict[str, Any]:
    """A payload of work that goes on."""
    handoff = {"active_task": objective, "branch": "main", "blocker": "none", "next_action": next_step}
    return done(objective, **{"next_step": next_step, "work_open": None, "handoff": handoff, **fields})


def flushed(memory: Holdfast, *changes: tuple[str, str, str], objective: str = "Ship it", **fields: Any) -> Receipt:
    """A flush of one message, with these changes of state: kind, target and summary of each."""
    session = memory.session("s")
    session.add("user", "hello")
    tables = [dict(zip(("kind", "target", "summary"), one, strict=True)) for one in changes]
    return session.flush(Payload(**done(objective, **fields, state_mutations=tables)))
