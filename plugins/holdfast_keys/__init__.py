"""Keys of model providers and forges, kept in the keyring: each is sent only to the server it was set for."""
