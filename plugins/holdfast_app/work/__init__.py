"""The work of all sessions: ``memory.work`` and ``holdfast work``."""
