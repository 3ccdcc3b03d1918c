"""A person's instructions for a conversation: its settings, its ledger of rules and records, its goals."""
