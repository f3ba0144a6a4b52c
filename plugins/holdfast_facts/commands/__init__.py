"""The facts commands."""
