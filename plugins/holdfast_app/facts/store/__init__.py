"""Stored facts: how they are added, replaced, evicted, imported and logged."""
