"""Reads images of other sites' exports as the files of a message."""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from hashlib import sha256

from conversations.errors import Invalid
from conversations.messages import images
from conversations.messages.attachments import clean_name
from conversations.models import Attachment

MAX_IMAGES = 10
"""The most images of a message; the others come in by name."""
_DATA = re.compile(r"data:image/[\w.+-]{1,40};base64,")


def from_address(name: str, address: object, *, number: int = 0) -> Attachment | None:
    """The image in an address of data; None for any other address, a file that is no image, and one too many."""
    head = _DATA.match(address) if isinstance(address, str) else None
    if head is None or number >= MAX_IMAGES:
        return None
    try:
        data = b64decode(str(address)[head.end() :], validate=True)
    except (binascii.Error, ValueError):
        return None
    return from_bytes(name, data)


def from_bytes(name: str, data: bytes) -> Attachment | None:
    """The image as an unsaved row, without where and when it was taken; None for a file that is not taken."""
    if not images.is_image(data):
        return None
    try:
        image = images.read_image(data)
    except Invalid:
        return None
    return Attachment(
        kind=Attachment.Kind.IMAGE,
        name=clean_name(name or "image"),
        tokens=images.TOKENS,
        digest=sha256(image.data).hexdigest(),
        data=image.data,
        media_type=image.media_type,
        size=len(image.data),
        width=image.width,
        height=image.height,
    )
