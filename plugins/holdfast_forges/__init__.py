"""Forges: local git repository and GitHub."""
