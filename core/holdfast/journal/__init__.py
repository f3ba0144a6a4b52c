"""The write-ahead record. Each turn is on disk before anything else happens, with the state that guards it."""
