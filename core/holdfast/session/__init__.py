"""Sessions: how a conversation starts, stays in step with its agent, and ends."""
