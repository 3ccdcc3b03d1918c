"""The exceptions that end a compaction without a result."""


class CompactionSkipped(Exception):
    """The compaction has nothing to gain; the exception's text is the reason shown to a person."""


class CompactionFailed(Exception):
    """A stage of the compaction failed; the history and summaries stay unchanged. `code` is an ErrorCode, or ""."""

    def __init__(self, stage: str, reason: str, *, code: str = "") -> None:
        super().__init__(f"{stage}: {reason}")
        self.stage = stage
        self.reason = reason
        self.code = code
