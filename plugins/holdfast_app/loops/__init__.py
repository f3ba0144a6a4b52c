"""Agent loops in Python: their rows, a mirror of them, the guard, and the frameworks' compactors."""
