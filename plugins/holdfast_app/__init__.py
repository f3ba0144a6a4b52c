"""The application on the kernel: facts, notes, dreams, the brief, search, reports."""
