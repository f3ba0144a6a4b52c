"""Hooks for the coding agents Claude Code, Codex and opencode: ``holdfast hook CLIENT``."""
