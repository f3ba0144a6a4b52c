"""Checks of stored documents: ``memory.validate`` and ``holdfast validate``."""
