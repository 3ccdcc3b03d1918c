"""OpenAI's Responses in front of any model: requests become chat completions, and these become responses again."""
