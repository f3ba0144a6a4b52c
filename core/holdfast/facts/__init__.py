"""The rules for facts that all stores share."""
