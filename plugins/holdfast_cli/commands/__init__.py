"""The commands, imported only when one of them runs."""
