"""Commands on a whole project: set it up, check, repair, trust and move it."""
