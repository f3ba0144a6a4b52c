"""Facts: their life in the store, extraction from conversations, the profile, the prompt block and the commands."""
