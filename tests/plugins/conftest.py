"""The fixtures of the core's tests, for the packages that work on an opened project."""

from tests.core.conftest import config, note, opened, payload, summarizer

__all__ = ["config", "note", "opened", "payload", "summarizer"]
