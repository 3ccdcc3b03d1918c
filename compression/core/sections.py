"""The headings that every summary has, in English whatever the language of the conversation."""

SECTIONS = ("Summary", "Decisions", "Files", "State", "Context")
SUMMARY, DECISIONS, FILES, STATE, CONTEXT = (f"## {name}" for name in SECTIONS)
KEPT_FACTS = "## Kept facts"
