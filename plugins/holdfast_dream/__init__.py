"""The dream: daily notes become MEMORY.md, and every line of it is traced to its sources.

The methods are ``memory.deep_dream()``, ``undo_dream()``, ``dream_due()`` and ``dreams()``, the commands ``holdfast
dream`` and ``schedule``. :mod:`holdfast_dream.validator` is the plugin ``grounding``, which refuses lines without a
source. It runs at every agent event, so nothing is imported here.
"""
