"""The write-ahead record: each turn is on disk before anything else happens, with the state that guards it."""
