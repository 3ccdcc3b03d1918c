"""The views, one file for each page. Each view guards, parses, acts and renders."""
