"""Installs holdfast in a client and removes it, without touching the user's own settings."""
