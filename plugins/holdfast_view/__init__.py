"""The memory in the terminal: ``holdfast timeline``, ``why``, ``diff`` and ``explain``."""
