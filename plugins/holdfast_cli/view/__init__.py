"""This package's commands."""
