"""Stored data, prepared for people: a project's days, sessions and lines, and their origins, with all text masked."""
