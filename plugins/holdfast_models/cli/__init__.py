"""Models without a key: coding agents that the user has logged in to, as ``on_extract`` and ``on_dream`` plugins.

``claude_cli`` runs ``claude -p``, and ``codex_cli`` runs ``codex exec``. Off until the user switches one on:
``holdfast install CLIENT --model``.
"""
