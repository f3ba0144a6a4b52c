"""Durable lists of waiting items, and the counts of their lines, which reveal removed ones."""
