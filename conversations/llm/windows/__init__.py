"""Finds the context window of each model: asks its server, looks it up, or learns it from replies."""
