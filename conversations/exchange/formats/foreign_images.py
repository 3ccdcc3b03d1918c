"""Reads images of other sites' exports as the files of a message."""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections.abc import Mapping
from hashlib import sha256

from conversations.errors import Invalid
from conversations.messages import images
from conversations.messages.attachments import MAX_PENDING, clean_name
from conversations.models import Attachment

MAX_READ = 500
"""The most images of a file that are decoded; the others come in by name."""
_DATA = re.compile(r"data:image/[\w.+-]{1,40};base64,")


class Images:
    """The images of one export: those inside its text, and those in files beside it, by id."""

    def __init__(self, beside: Mapping[str, bytes] | None = None) -> None:
        self._beside = beside or {}
        self._left = MAX_READ

    def at_address(self, name: str, address: object) -> Attachment | None:
        """The image of a `data:` address; None for other addresses and for data that is no image."""
        head = _DATA.match(address) if isinstance(address, str) else None
        if head is None:
            return None
        try:
            return self._read(name, b64decode(str(address)[head.end() :], validate=True))
        except (binascii.Error, ValueError):
            return None

    def beside(self, id: str, name: str) -> Attachment | None:
        """The image with this id; None if the export has no such file."""
        data = self._beside.get(id)
        return self._read(name or id, data) if data else None

    def _read(self, name: str, data: bytes) -> Attachment | None:
        """The image as an unsaved row, without a photo's place and time; None if it cannot be imported."""
        if not images.is_image(data) or not self._left:
            return None
        self._left -= 1
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


def fit(found: list[Attachment]) -> bool:
    """Whether the message has room for another image."""
    return len(found) < MAX_PENDING
