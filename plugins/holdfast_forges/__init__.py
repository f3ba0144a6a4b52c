"""Forges: the local git repository, and GitHub."""
