"""Finds passages of compacted messages for a question."""
