"""When a conversation is compacted, by which summariser, how it is put in force, and how it is undone."""
