"""Past conversations: ``holdfast sessions``, and looking up a session and its messages."""
