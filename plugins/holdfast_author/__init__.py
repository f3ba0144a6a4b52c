"""Tools for authors: ``holdfast plugin new`` writes a distribution, ``holdfast plugin check`` compares one with the
specifications. The templates in ``templates/`` are the files of the distributions, with ``${name}`` placeholders."""
