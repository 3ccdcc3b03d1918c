"""The content of a model's requests: system prompt, summary, messages, tools and policy."""
