"""A passage's author: the user, or a tool, page or client that the agent read. A flush asks it through
``services.authorship``.

Only the user's own words may become curated memory. A sentence from elsewhere that instructs an agent is marked with
its source, or left out.
"""
