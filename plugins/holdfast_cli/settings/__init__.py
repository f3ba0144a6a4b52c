"""A project's settings: ``holdfast init`` writes them, ``holdfast config`` shows and changes them."""
