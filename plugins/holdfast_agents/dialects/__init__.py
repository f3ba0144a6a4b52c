"""Each client's hook protocol, with the events it sends and the answers it understands."""
