"""Grounding: whether every line of a new memory is supported by its sources. :func:`ground` is the door."""

from holdfast_app.dream.grounding.check import Grounded, Invention, Support, ground
from holdfast_app.dream.grounding.evidence import indexed

__all__ = ["Grounded", "Invention", "Support", "ground", "indexed"]
