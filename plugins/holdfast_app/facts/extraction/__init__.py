"""From conversations to facts: the queue of turns, and the extractors' candidates."""
