"""Template filters that show a message's files and long pastes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from django import template
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from conversations.messages.attachments import words_of
from conversations.messages.documents import MEDIA_TYPES
from conversations.models import Attachment, Message, ModelProfile
from conversations.page.markup.addresses import linked
from conversations.page.markup.segments import PasteSegment, Segment, split
from conversations.runtime.amounts import amount, localized

register = template.Library()
IMAGES = "image/png, image/jpeg, image/gif, image/webp, image/heic, image/avif, image/tiff, image/bmp"
TEXTS = (
    "application/pdf, .pdf, .docx, .docm, .dotx, .pptx, .pptm, .ppsx, .xlsx, .xlsm, .odt, .ods, .odp, .epub, .rtf, "
    ".eml, .ipynb, text/*, .txt, .csv, .tsv, .md, .json, .jsonl, .yaml, .yml, .toml, .xml, .sql, .sh, .py, .js, .ts, "
    ".tsx, .rs, .go, .java, .c, .h, .cpp, .css, .log, .ini, .cfg, .conf, .tex, .diff, .patch"
)
"""The files that a chooser of files offers, as the attribute `accept` has them."""

PARTS = {
    MEDIA_TYPES[kind]: part for kind, part in (("pptx", "slide"), ("odp", "slide"), ("xlsx", "sheet"), ("ods", "sheet"))
}
"""The parts of documents that have no pages, by media type."""
WIDEST, HIGHEST = 320, 240
"""The largest size of an image in a message, in pixels."""
Kind = Attachment.Kind


@dataclass(frozen=True, slots=True)
class Picture:
    """An image with its size in pixels, known before it loads, so that the page's layout does not move."""

    row: Attachment
    width: int
    height: int


MAX_HEADING = 1_500
_PART = re.compile(r'<file name="[^"\n]*, part \d{1,6} of \d{1,6}(?:, pages? [^"\n]*)?">')


register.filter(linked)


@register.filter
def segments(message: Message) -> list[Segment]:
    """A message's own text without its files, split at pastes."""
    pastes = (PasteSegment(f"LongText#{paste.number}", paste.start, paste.length) for paste in message.pastes.all())
    return split(words_of(message), pastes)


@register.filter
def without_files(message: Message) -> str:
    """A message's own text without its files, pastes included."""
    return words_of(message)


@register.filter
def is_file_part(message: Message) -> bool:
    """Whether a message is a part of a file that was longer than the window, and nothing else."""
    return bool(message.role == Message.Role.USER and _PART.match(message.content[:MAX_HEADING]))


@register.filter
def pictures(message: Message) -> list[Picture]:
    return [_picture(row) for row in message.attachments.all() if row.kind == Kind.IMAGE]


@register.filter
def text_files(message: Message) -> list[tuple[Attachment, str]]:
    """The message's text files with their contents."""
    files = [row for row in message.attachments.all() if row.start is not None]
    return [(row, message.content[row.start : (row.start or 0) + (row.length or 0)]) for row in files]


@register.filter
def file_names(message: Message) -> str:
    return ", ".join(row.name for row in message.attachments.all())


@register.filter
def price_with(attachment: Attachment, profile: ModelProfile | None) -> Decimal | None:
    """The cost that a file adds to a request, in US dollars; None if the model has no price."""
    tokens = tokens_for(attachment.tokens, profile)
    return profile.cost(prompt=tokens, cached=0, completion=0) if profile else None


@register.filter
def tokens_for(tokens: int, profile: ModelProfile | None) -> int:
    """Tokens by our own count as the model counts them, as on the meter."""
    return profile.usable_window.corrected(tokens) if profile else tokens


@register.filter
def is_unseen_by(attachment: Attachment, profile: ModelProfile | None) -> bool:
    """Whether the file is an image and the model cannot see images."""
    return attachment.kind == Attachment.Kind.IMAGE and profile is not None and not profile.can_see


@register.filter
def extent(attachment: Attachment) -> str:
    """The size of a file in words: its pages, slides or sheets, else its bytes."""
    if not attachment.pages:
        return bytes_size(attachment.size)
    number = attachment.pages
    words = {
        "slide": ngettext("%(number)s slide", "%(number)s slides", number),
        "sheet": ngettext("%(number)s sheet", "%(number)s sheets", number),
        "page": ngettext("%(number)s page", "%(number)s pages", number),
    }
    return words[PARTS.get(attachment.media_type, "page")] % {"number": amount(number)}


@register.filter
def bytes_size(size: int) -> str:
    """A size in decimal units (1 KB = 1,000 bytes), as the limits are stated."""
    if size < 1_000:
        return f"{size} B"
    return f"{size / 1_000:.0f} KB" if size < 999_500 else localized(f"{size / 1_000_000:.1f} MB")


@register.filter
def characters(text: str) -> str:
    return _("%(number)s characters") % {"number": amount(len(text))}


def _picture(row: Attachment) -> Picture:
    width, height = row.width or WIDEST, row.height or HIGHEST
    scale = min(1, WIDEST / width, HIGHEST / height)
    return Picture(row, max(1, round(scale * width)), max(1, round(scale * height)))


@register.simple_tag
def accepted_types(*, with_images: bool = True) -> str:
    return f"{IMAGES}, {TEXTS}" if with_images else TEXTS
