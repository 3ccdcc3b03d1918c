"""The formats that can be imported, a module a format."""
