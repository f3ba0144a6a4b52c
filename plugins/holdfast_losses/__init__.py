"""Acknowledged data that is missing: journals, documents, blocks and facts, and lines of lists, which are counted.

Core asks for the losses that are quick to find through ``services.losses``.
"""
