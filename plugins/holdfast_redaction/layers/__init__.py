"""The layers of the search: protected shapes, exact formats, names with values, prose, and personal data."""
