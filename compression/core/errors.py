"""How a compaction can end without a result."""


class CompactionSkipped(Exception):
    """There is nothing to gain; the text is the reason that a person is shown."""


class CompactionFailed(Exception):
    """A stage could not do its work; history stays as it was."""

    def __init__(self, stage: str, reason: str) -> None:
        super().__init__(f"{stage}: {reason}")
        self.stage = stage
        self.reason = reason
