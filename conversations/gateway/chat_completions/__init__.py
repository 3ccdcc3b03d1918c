"""OpenAI's chat completions: requests in the forms of other protocols, and answers in this one."""
