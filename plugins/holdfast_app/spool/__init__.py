"""Flushes kept on this machine until the store's server takes them: ``memory.spool`` and ``holdfast spool``."""
