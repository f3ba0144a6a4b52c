"""Forgetting: purge, scrub and retention, over every place that can hold session content.

The methods are ``memory.purge()``, ``memory.scrub()`` and ``memory.retention()``, the commands ``holdfast purge``,
``scrub`` and ``retention``. :mod:`holdfast_app.privacy.sweep` walks all of these places.
"""
