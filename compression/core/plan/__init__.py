"""Decides when to compact, how much, and what becomes of older summaries."""
