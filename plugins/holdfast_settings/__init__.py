"""The settings of a project: ``holdfast init`` writes them, ``holdfast config`` shows and changes them."""
