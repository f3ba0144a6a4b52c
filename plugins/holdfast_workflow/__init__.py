"""The three-file memory of document 004: workflows that load and update it, patterns captured during work, and the
plugin ``anchors``, which refuses a document without its required headings.

The methods are ``memory.workflow()``, ``update()`` and ``capture()``, the commands ``holdfast workflow``, ``update``
and ``capture``. The plugin runs at every agent event, so nothing is imported here.
"""
