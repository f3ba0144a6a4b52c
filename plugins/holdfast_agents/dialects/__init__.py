"""Each client's hook protocol: the events it sends and the answers it understands."""
