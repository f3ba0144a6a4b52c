"""Facts from the command line: ``holdfast remember``, ``extract``, ``facts`` and ``prompt``."""
