"""What holdfast remembers and how: facts, notes, dreams, the brief, search, reports. Stands on the kernel."""
