"""The dream's commands."""
