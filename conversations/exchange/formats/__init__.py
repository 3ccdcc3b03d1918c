"""The importable formats, one module each."""
