"""Sources of a summary's statements: the messages that have each, and the names and numbers that no message has."""
