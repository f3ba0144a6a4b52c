"""Models without a key: coding agents that the user has logged in to, as ``on_extract`` and ``on_dream`` plugins.

``claude_cli`` runs ``claude -p``, ``codex_cli`` runs ``codex exec``, ``opencode_cli`` runs ``opencode run`` and
``gemini_cli`` runs ``gemini``. Off until the user switches one on: ``holdfast install CLIENT --model``.
"""
