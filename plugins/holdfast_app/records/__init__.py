"""Formats of notes, handoffs and journals, for the features."""
