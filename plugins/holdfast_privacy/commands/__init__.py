"""The privacy commands."""
