"""Tools for authors. ``holdfast plugin new`` writes a distribution, ``holdfast plugin check`` compares it with the
specifications. The folder ``templates/`` has a distribution's files, with ``${name}`` placeholders."""
