"""How each client talks to its hooks: the events that it sends, and the answers that it understands."""
