"""A project's settings written, listed and changed, and its nightly dream set up."""
