"""Facts: their life in the store, extraction from a conversation, import and export, and the prompt block."""
