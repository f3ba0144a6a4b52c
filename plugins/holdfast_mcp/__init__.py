"""``holdfast mcp``: the memory of a project for any client of the Model Context Protocol, over stdio.

A server of tools cannot hold a compaction back; only a client's hooks can. So each reply says when no hook was seen.
Needs ``holdfast[mcp]``; the SDK is imported in the call.
"""
