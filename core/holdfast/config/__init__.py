"""Settings: values, source files, which ones are in force, and the user's trust."""
