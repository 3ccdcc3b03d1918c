"""Everything that decides what a model sees: system prompt, summary, messages, tools, policy."""
