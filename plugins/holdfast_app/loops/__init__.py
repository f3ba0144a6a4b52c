"""Python agent loops: a guard for the function that drops context, and a mirror of the loop's message list."""
