"""Whether everything works, and the repair of what does not."""
