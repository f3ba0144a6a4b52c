"""The write-ahead record: each turn is on the disk before anything else happens, with the state that guards it."""
