"""Text: what people and agents said, reading it out of any shape, and printing it where it can do no harm."""
