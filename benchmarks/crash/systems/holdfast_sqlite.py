"""holdfast: the same with the SQLite store."""

from systems import holdfast_facts


class Store(holdfast_facts.Store):
    backend = "sqlite"
