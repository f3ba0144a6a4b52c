"""Files on this machine: durable writes, locks, the private folder, opening what a clone could have prepared."""
