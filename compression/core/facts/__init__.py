"""Finds the facts of messages, counts them, looks for them in summaries, and restores missing ones."""
