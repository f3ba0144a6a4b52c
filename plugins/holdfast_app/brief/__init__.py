"""The brief from which an agent resumes work: ``memory.load()`` and ``holdfast load``."""
