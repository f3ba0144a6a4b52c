"""Past conversations: ``holdfast sessions``, the lookup of a session and its messages, and the archive of messages past
retention."""
