"""Trust in memory that is read back: passages that this machine did not write are withheld from agents."""
