"""Grounding: whether every line of a new memory is supported by its sources. :func:`ground` is the door."""

from holdfast_dream.grounding.check import Grounded, Invention, Support, ground

__all__ = ["Grounded", "Invention", "Support", "ground"]
