"""The search layers for protected shapes, exact formats, names with values, prose, and personal data."""
