"""Plugins: discovery, hook calls with deadlines, and the interfaces core shares with them."""
