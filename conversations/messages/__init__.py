"""Stores, reads and searches messages, with their tool calls, files and pastes."""
