"""What core asks of packages, and what it does without them.

A package offers each service as ``services.NAME``, see :meth:`holdfast.session.services.Services.offered`.
"""
