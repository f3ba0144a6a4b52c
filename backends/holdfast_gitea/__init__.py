"""The store in a repository's issues: memory that people can read and several machines can share."""

from __future__ import annotations
