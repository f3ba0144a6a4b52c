"""Publishing a flush: a durable outbox, and a forge's issue tracker."""
