"""Text handling: read the words of people and agents in any format, and print them safely."""
