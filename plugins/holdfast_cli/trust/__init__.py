"""Trust for a project's settings and its private state: ``holdfast trust``."""
