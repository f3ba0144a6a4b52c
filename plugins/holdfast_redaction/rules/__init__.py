"""The table of known formats, made from ``rules.toml``, and the rules of a user."""
