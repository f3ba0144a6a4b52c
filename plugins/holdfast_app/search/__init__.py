"""Search past sessions: ``memory.search()``, ``holdfast search`` and the MCP tools ``search`` and ``open``.

The index is an SQLite file with FTS5 in the private folder, derived from journals, notes, facts and documents. It is
updated by a search and in the background, never by a hook, and can be deleted at any time.

- ``words``: words in questions and stored content
- ``dates``: the days that a question names
- ``records``: searchable content, read from the store
- ``index``: the SQLite file and its updates
- ``rank``: ranking of the matches
- ``embedders``, ``vectors``: vectors, where the plugin ``embeddings`` is enabled
- ``hits``, ``answer``, ``searching``: from a question to hits, each sentence once, those that hold now first
"""

#: The kinds of hits: turn, line of a note, decision, user's rule, rejected approach, open question, line of curated
#: memory, fact, line of another document.
KINDS = ("turn", "note", "decision", "rule", "rejected", "open", "memory", "fact", "document")
