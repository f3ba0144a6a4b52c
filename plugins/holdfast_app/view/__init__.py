"""Stored data, prepared for people to look at: a project's days, sessions, lines and brief, and the commands that
print them.

- ``project``: read-only queries on the opened project, with all text masked
- ``journals``: one session's messages, and what each compaction dropped and saved
- ``events``: what happened on each day
- ``memory_lines``, ``origins``: where a line of memory or a fact comes from

The page of :mod:`holdfast_web` shows the same. Nothing here needs an extra.
"""
