"""Readers of documents, one for each kind. They run in a separate process."""
