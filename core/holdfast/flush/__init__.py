"""The flush: the pipeline by which a session becomes durable, and the documents that it writes."""
