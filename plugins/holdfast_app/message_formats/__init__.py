"""Rows of a conversation in the forms that SDKs use, as messages: Chat Completions, Messages and Responses.

:mod:`holdfast_app.message_formats.reading` collects the rows' contents. Packages that read a client's files build on
it.
"""
