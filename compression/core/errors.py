"""The exceptions that end a compaction without a result."""


class CompactionSkipped(Exception):
    """The compaction has nothing to gain; the exception's text is the reason shown to a person."""


class CompactionFailed(Exception):
    """A stage of the compaction failed; the conversation's history and summaries stay unchanged."""

    def __init__(self, stage: str, reason: str) -> None:
        super().__init__(f"{stage}: {reason}")
        self.stage = stage
        self.reason = reason
