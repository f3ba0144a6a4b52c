"""The parts of one opened project: its store, and the questions that the kernel asks an application."""
