"""The servers that models run on: OpenAI's protocol, Anthropic's, and the builtin model, behind `port.Model`."""
