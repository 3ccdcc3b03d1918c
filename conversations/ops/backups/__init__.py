"""All that people made on a site in one file, the same for every database."""

from conversations.ops.backups.restore import RestoreResult, first_line, restore, summary
from conversations.ops.backups.take import to_file, to_stream

__all__ = ["RestoreResult", "first_line", "restore", "summary", "to_file", "to_stream"]
