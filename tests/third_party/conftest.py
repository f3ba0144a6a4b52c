"""The distributions here are others' projects: tests/repo builds and installs them, and runs their tests in there."""

collect_ignore = ["acme"]
