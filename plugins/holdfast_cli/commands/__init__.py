"""The commands of core, one module each, imported only when the command runs."""
