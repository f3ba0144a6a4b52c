"""The table of known formats, generated from ``rules.toml``, and a user's own rules."""
