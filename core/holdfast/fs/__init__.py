"""Files on this machine: durable writes, locks, the private folder, and safe opening of paths that a clone could have
prepared."""
