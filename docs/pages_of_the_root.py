"""Adds the Markdown files of the repository's root to the documentation's pages, and makes links between both work."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "", "CHANGELOG.md": "", "SECURITY.md": ""}
"""Files of the root, with their names among the pages where those differ."""
_LINK = re.compile(r"\]\((?:docs/|\.\./)?([\w./-]+\.(?:md|png|svg|json))(#[\w-]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    for name, page in PAGES.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, page or name, content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    return _LINK.sub(lambda found: f"]({PAGES.get(found[1], '') or found[1]}{found[2] or ''})", markdown)
