"""Keys for model providers and forges, kept in the keyring. Each is sent only to the server it was set for."""
