"""A project's settings file: found, read, and in force as far as the user trusts it."""
