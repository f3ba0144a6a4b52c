"""A conversation's course, by rules: the user's requests, side questions, the client's task list, and how it ends."""
