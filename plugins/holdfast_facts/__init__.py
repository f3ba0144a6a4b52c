"""Facts for users and programs: their commands, extraction from a conversation, and the prompt block."""
