"""Grounding: whether every line of a new memory is quoted from its sources. :func:`ground` is the door."""

from holdfast_app.dream.grounding.check import Grounded, Invention, Support, ground

__all__ = ["Grounded", "Invention", "Support", "ground"]
