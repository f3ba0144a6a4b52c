"""Anthropic's client-side memory tool over a holdfast store: ``MemoryTool(memory)`` carries out its commands."""

from holdfast_app.memorytool.tool import MAX_CHARS, TOOL, Answer, MemoryTool, MemoryToolError

__all__ = ["MAX_CHARS", "TOOL", "Answer", "MemoryTool", "MemoryToolError"]
