"""``holdfast web``: a read-only page on loopback that shows the project's memory.

- ``command``: ``holdfast web``
- ``server``: the HTTP server: loopback only, GET and HEAD only, stops when idle
- ``access``: the link's token, the cookie, and the Host header check
- ``site``: a path to a response: routes, error pages, response headers
- ``rendering``: Jinja2 with escaping, visible control characters, dates and numbers
- ``markdown``: Markdown to a safe subset of HTML
- ``timeline``: days and their events as an SVG
- ``paging``: one page of a long list
- ``pages``: one module per view; ``templates`` and ``static`` hold the HTML, the stylesheet and the script

:mod:`holdfast_app.view` prepares the pages' content.
"""
