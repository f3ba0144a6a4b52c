"""A project's settings written, listed and changed."""
