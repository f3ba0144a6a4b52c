"""Reports for the operator, derived from files: ``memory.report()``, ``memory.morning()`` and ``holdfast report``."""
