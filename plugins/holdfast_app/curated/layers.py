"""The continuity doctrine's table: who owns each surface, who reads it first, and its purpose (R089-R095); and the
surface for a fact (R105-R107, R151-R159, reading A46): if unsure, log first and promote later."""

from enum import StrEnum
from typing import Final, NamedTuple

from holdfast.config.layout import Layout, Surface
from holdfast.models import Category


class Layer(NamedTuple):
    """One row, with a layout's names."""

    surface: Surface
    name: str
    owner: str
    audience: str
    role: str


_AGENT: Final = "agent-facing"
_INSPECTED: Final = "agent-facing first, operator-inspectable"
_ROLES: Final[tuple[tuple[Surface, str, str, str], ...]] = (
    (Surface.MEMORY, "curated", _AGENT,
     "Curated durable world-state: stable infrastructure facts, standing rules, long-lived truths"),
    (Surface.USER, "curated", _AGENT,
     "Curated operator profile, values and durable preferences, standing corrections"),
    (Surface.DAILY, "home", "operator-facing first, agent-readable second",
     "Append-only chronological log: decisions, artifacts, blockers, links, unresolved work"),
    (Surface.HEARTBEAT, "home", _INSPECTED,
     "Structured operational continuity made by automation; read for recap and health, never rewritten"),
    (Surface.BRIEFING, "home", _INSPECTED, "Daily briefings made by automation; read for recap, never rewritten"),
    (Surface.MEMORIES, "home", "agent-facing, operator-inspectable",
     "Files that an agent keeps for itself with the memory tool; only that agent writes them"),
    (Surface.HANDOFF, "home", _AGENT, "Compact current state of unfinished work, for the next agent"),
    (Surface.ACTIVE_CONTEXT, "home", _AGENT,
     "Current state of the work: focus, decisions, open questions, next steps; read first by every workflow"),
    (Surface.PATTERNS, "home", _AGENT, "Conventions, gotchas and approved practices of this project"),
    (Surface.PROGRESS, "home", _AGENT,
     "Done and proven work: verified deliverables with their evidence, deferred items"),
    (Surface.REPORT, "derived", "operator-facing",
     "Digest of the day, derived from the files and the forge; never the only place of a fact"),
    (Surface.TRAIL, "forge", "operator-facing and agent-facing",
     "Execution truth: status, review proof, assignment, merge state, visible decisions"),
)  # fmt: skip


def layers(layout: Layout) -> tuple[Layer, ...]:
    """The table, with the names of ``layout``."""
    return tuple(
        Layer(
            surface,
            layout.names.get(surface, "").replace("{date}", "YYYY-MM-DD"),
            layout.root_names.get(owner, owner),
            audience,
            role,
        )
        for surface, owner, audience, role in _ROLES
    )


class Horizon(StrEnum):
    """The question that a fact answers."""

    TODAY = "what happened today"
    STANDING = "what is still true next month unless explicitly changed"
    UNSURE = "unsure"


_USER = {Category.PREFERENCE, Category.BEHAVIOR, Category.GOAL, Category.CORRECTION}


def route(horizon: Horizon, *, category: str = "knowledge", validated: bool = False) -> Surface:
    """The surface for a fact: curated memory only for a standing *and* validated fact, USER.md for one about the
    operator (preference, behavior, goal, correction), otherwise the daily log. Repetition is not validation. Raises:
    ValueError for an unknown horizon or category."""
    curated = Surface.USER if Category(category) in _USER else Surface.MEMORY
    return curated if Horizon(horizon) is Horizon.STANDING and validated else Surface.DAILY
