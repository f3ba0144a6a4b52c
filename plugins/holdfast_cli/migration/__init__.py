"""``holdfast migrate``: copy the store to another backend, verified."""
