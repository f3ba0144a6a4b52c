"""What a sentence says, by linear models over its words."""
