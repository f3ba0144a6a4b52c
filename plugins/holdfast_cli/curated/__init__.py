"""Commands that show and route curated memory."""
