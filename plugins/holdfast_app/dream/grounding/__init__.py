"""Grounding: whether every line of a new memory is quoted from its sources. :func:`ground` is the door."""

from holdfast_app.dream.grounding.check import Grounded, ground

__all__ = ["Grounded", "ground"]
