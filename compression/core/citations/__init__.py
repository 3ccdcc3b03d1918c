"""Where a summary's statements come from: the messages that each has, and the names and numbers that none has."""
