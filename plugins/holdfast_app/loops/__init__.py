"""Python agent loops: a guard for the function that drops context, and a mirror for its message list."""
