"""Talking to the server: requests and retries, the token, and the errors as holdfast's."""
