"""What the hooks read and remember: transcripts of the clients, and small files of their own."""
