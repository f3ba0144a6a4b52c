"""Rows of a conversation in the forms that SDKs use: Chat Completions, Messages and Responses.

:mod:`holdfast.text.rows.reading` collects what rows say. A package that reads files of a client builds on it.
"""
