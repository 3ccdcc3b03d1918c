"""What was said, as rows: messages, their tool calls, files and pastes, how they are read and searched."""
