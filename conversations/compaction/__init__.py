"""Compacts conversations: when it is due, by which summariser, putting the summary in force, and undoing it."""
