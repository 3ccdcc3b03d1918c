"""Sources of a summary's statements: the messages behind each one, and its names and numbers that no message has."""
