"""The sessions that the clients recorded on this machine, with and without holdfast."""
