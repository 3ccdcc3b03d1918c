"""All that people made on a site in one file, the same for every database."""

from conversations.backups.restoring import Restored, restore
from conversations.backups.taking import to_file, to_stream
from conversations.backups.wording import first_line, summary

__all__ = ["Restored", "first_line", "restore", "summary", "to_file", "to_stream"]
