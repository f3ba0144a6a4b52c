"""``holdfast mcp``: a project's memory for any client of the Model Context Protocol, over stdio.

An MCP server cannot block a compaction. Only a client's hooks can, so each reply reports when no hook was seen.
Needs the extra ``mcp``; the SDK is imported in the call.
"""
