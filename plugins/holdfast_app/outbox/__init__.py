"""What waits to be published on a forge: ``memory.outbox``, ``holdfast outbox``, and the interface of forges."""
