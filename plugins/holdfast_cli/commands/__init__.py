"""The commands, imported only when one runs."""
