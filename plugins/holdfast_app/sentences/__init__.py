"""Compares statements, and judges sentences by linear models over their words."""
