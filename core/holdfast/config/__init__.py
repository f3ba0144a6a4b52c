"""Settings: their values, the files they come from, which of them are in force, and what the user trusts."""
