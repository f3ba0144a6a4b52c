"""Past conversations: ``holdfast sessions``, looking up a session and its messages, and the archive of messages past
retention."""
