"""Forgetting: purge, scrub and retention, over every place that can hold what was said.

The methods are ``memory.purge()``, ``memory.scrub()`` and ``memory.retention()``, the commands ``holdfast purge``,
``scrub`` and ``retention``. :mod:`holdfast_privacy.sweep` is the one way through all places.
"""
