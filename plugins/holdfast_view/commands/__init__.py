"""The commands of this package."""
