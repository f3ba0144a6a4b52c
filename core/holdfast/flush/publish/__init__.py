"""Publishing what a flush wrote: a durable outbox, and the issue tracker of a forge."""
