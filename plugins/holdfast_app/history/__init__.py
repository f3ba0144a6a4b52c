"""The sessions that the clients recorded on this machine, before and beside holdfast."""
