"""The open work of all sessions: ``holdfast work``."""
