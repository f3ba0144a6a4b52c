"""Everything of a project in another backend, or in one file."""
