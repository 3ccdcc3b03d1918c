"""The headings of every summary; they are English in every conversation."""

SECTIONS = ("Summary", "Decisions", "Files", "State", "Context")
SUMMARY, DECISIONS, FILES, STATE, CONTEXT = (f"## {name}" for name in SECTIONS)
KEPT_FACTS = "## Kept facts"
