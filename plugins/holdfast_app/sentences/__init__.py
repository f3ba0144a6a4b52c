"""Judges sentences by linear models over their words."""
