"""Real agents: the hooks of Claude Code, Codex and opencode, as one command each: ``holdfast hook CLIENT``."""
