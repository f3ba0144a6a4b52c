"""The flush: the pipeline that makes a session durable, and the documents that it writes."""
