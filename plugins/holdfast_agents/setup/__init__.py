"""Putting holdfast into a client and taking it out again, without touching what is the user's."""
