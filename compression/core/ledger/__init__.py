"""Finds the entries of the ledger (rules, preferences, decisions, corrections) in the text that a person typed."""
