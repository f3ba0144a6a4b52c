"""The views. Each takes the project, the renderer and the request, and returns a page's HTML."""
