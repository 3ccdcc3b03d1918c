"""Numbers in the language of the page: with its separators of thousands and of decimals."""

from __future__ import annotations

from django.utils.formats import get_format
from django.utils.translation import get_language


def amount(number: int) -> str:
    """A whole number, with separators between thousands."""
    return localized(f"{number:,}")


def localized(figure: str) -> str:
    """A number that is written as in English, as in "1,234.5", with the separators of the active language."""
    if (get_language() or "en") == "en":
        return figure
    separators = {",": get_format("THOUSAND_SEPARATOR") or ",", ".": get_format("DECIMAL_SEPARATOR")}
    return "".join(separators.get(letter, letter) for letter in figure)
