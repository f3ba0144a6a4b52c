"""Plugins: finding them, calling their hooks within a deadline, and what core shares with them."""
