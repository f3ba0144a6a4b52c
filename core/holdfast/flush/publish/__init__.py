"""Publishing a flush, with a durable outbox and a forge's issue tracker."""
