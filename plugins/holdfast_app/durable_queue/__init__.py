"""Durable lists of waiting items, and their line counts, which reveal removed lines."""
