"""Anthropic's Messages in front of any model: requests become chat completions, and these become messages again."""
