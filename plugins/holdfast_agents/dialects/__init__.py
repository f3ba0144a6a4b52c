"""The hook protocol of each client: the events that it sends and the answers that it understands."""
