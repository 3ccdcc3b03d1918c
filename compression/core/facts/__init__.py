"""The facts of messages: found, counted, traced, and kept."""
