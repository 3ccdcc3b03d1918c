"""Reads Jupyter's notebooks: notes, code and what the code printed; pictures are left out."""

from __future__ import annotations

import json
import re
from typing import Any

from conversations.messages.formats.parts import Parts, Read

_COLOURS = re.compile(r"\x1b\[[0-9;]{0,40}m")


def read(data: bytes) -> Read:
    notebook = json.loads(data)
    metadata = notebook.get("metadata") or {}
    language = (metadata.get("language_info") or metadata.get("kernelspec") or {}).get("language")
    language = language or (metadata.get("language_info") or {}).get("name") or "python"
    return _parts(notebook["cells"], str(language)), None


def _parts(cells: list[dict[str, Any]], language: str) -> Parts:
    for cell in cells:
        source = _text(cell.get("source"))
        if cell.get("cell_type") != "code":
            yield f"{source}\n"
            continue
        if source.strip():
            yield f"```{language}\n{source}\n```\n"
        for output in cell.get("outputs") or ():
            if shown := _output(output).strip("\n"):
                yield f"Output:\n```\n{shown}\n```\n"


def _output(output: dict[str, Any]) -> str:
    if output.get("output_type") == "error":
        return f"{output.get('ename')}: {output.get('evalue')}"
    data = output.get("data") or {}
    text = _text(output.get("text") or data.get("text/plain"))
    picture = next((kind for kind in data if kind.startswith("image/")), None)
    return _COLOURS.sub("", text) or (f"[{picture}]" if picture else "")


def _text(lines: object) -> str:
    """A text, which a notebook also has as a list of lines."""
    return "".join(map(str, lines)) if isinstance(lines, list) else str(lines or "")
