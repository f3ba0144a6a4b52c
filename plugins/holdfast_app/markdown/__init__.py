"""The one reader of Markdown.

- ``marks``: headings, list items, fences, rules and comments, as a line begins with them
- ``lines``: a document's lines, each with its mark, for memory that people and models write
- ``outline``: the headings and items of a document's own structure, as CommonMark nests blocks

docs/decisions/0011-markdown-readers.md says why there are two levels and where markdown-it-py is used.
"""
