"""Acknowledged data that is missing: journals, documents, blocks, facts, and lines of lists.

Core asks for the losses that are quick to find through ``services.losses``.
"""
