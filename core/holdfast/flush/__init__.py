"""The flush pipeline, which makes a session durable, and the documents that it writes."""
