"""The session: what a conversation starts from, how it stays in step with its agent, and how it ends."""
