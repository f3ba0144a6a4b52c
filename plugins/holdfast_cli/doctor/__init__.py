"""``holdfast doctor``: whether everything works, and the repair of what does not."""
