"""The workflow commands."""
