"""The context window of each model: asked of its server, looked up, or learned from replies."""
