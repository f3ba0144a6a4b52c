"""What the features write to notes, handoffs and journals, and how they tell holdfast's own lines."""
