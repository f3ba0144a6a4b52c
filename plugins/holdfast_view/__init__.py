"""What the memory holds, in the terminal: ``holdfast timeline``, ``why``, ``diff`` and ``explain``."""
