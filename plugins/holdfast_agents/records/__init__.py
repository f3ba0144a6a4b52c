"""The clients' transcripts, and the hooks' own small files."""
