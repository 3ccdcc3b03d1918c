"""Text to safe HTML: Markdown, formulas, citations, differences. No rows."""
