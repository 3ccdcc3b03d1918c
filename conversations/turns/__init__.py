"""A turn of a conversation: begun, run, stopped, taken up again; versions and forks of what was said."""
