"""Core's requests to packages, and its behaviour without them.

A package offers each service as ``services.NAME``, see :meth:`holdfast.session.services.Services.offered`.
"""
