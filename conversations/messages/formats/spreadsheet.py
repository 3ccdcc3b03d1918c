"""Reads Excel's sheets: the last computed values; a formula that was never computed stands as such."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, time
from io import BytesIO
from itertools import repeat
from typing import Any
from zipfile import ZipFile

from django.utils.translation import gettext as _

from conversations.errors import Invalid
from conversations.messages.formats.parts import Parts, Read, joined_cells

MAX_CELLS = 1_000_000
"""The most cells that are read of a spreadsheet."""
_UNCOMPUTED = re.compile(rb"<f[ >][^<]{0,10000}</f>(?:<v ?/>|<v></v>)?</c>")


def read(data: bytes) -> Read:
    from openpyxl import load_workbook

    def opened(*, values: bool) -> Any:
        return load_workbook(BytesIO(data), read_only=True, data_only=values, keep_links=False)

    book = opened(values=True)
    formulas = opened(values=False) if _has_uncomputed(data) else None
    return _parts(book, formulas), len(book.worksheets)


def _parts(book: Any, formulas: Any) -> Parts:
    cells = 0
    for at, sheet in enumerate(book.worksheets):
        yield f"[Sheet {sheet.title}]" if sheet.sheet_state == "visible" else f"[Sheet {sheet.title}, hidden]"
        beside = _rows(formulas.worksheets[at]) if formulas else repeat(())
        for row, computed_from in zip(_rows(sheet), beside, strict=False):
            cells += len(row)
            if cells > MAX_CELLS:
                raise Invalid(
                    _("file: a spreadsheet has at most %(most)s cells."),
                    values={"most": f"{MAX_CELLS:,}"},
                    field="file",
                    limit=MAX_CELLS,
                )
            shown = [_shown(value) for value in row]
            if computed_from:
                shown = [text or _shown(formula) for text, formula in zip(shown, computed_from, strict=False)]
            if any(shown):
                yield joined_cells(shown).rstrip(" |")
        yield ""


def _rows(sheet: Any) -> Iterator[tuple[Any, ...]]:
    sheet.reset_dimensions()  # the file may claim a million columns
    return iter(sheet.iter_rows(values_only=True))


def _shown(value: Any) -> str:
    """A value as a sheet shows it: a day without midnight, a number without the noise of its last digits."""
    if value is None:
        return ""
    if isinstance(value, datetime) and value.time() == time():
        return str(value.date())
    if isinstance(value, float):
        return f"{value:.15g}"
    return str(value)


def _has_uncomputed(data: bytes) -> bool:
    """Whether a formula has no value, as in files that programs write."""
    with ZipFile(BytesIO(data)) as file:
        sheets = [name for name in file.namelist() if name.startswith("xl/worksheets/sheet")]
        return any(_UNCOMPUTED.search(file.read(name)) for name in sheets)
