"""Text to safe HTML: Markdown, formulas, code colours, citations, differences. Reads no database rows."""
