"""Shell completion: ``holdfast completion``."""
