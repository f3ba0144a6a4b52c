"""An opened project's parts: its store, and the kernel's questions to an application."""
