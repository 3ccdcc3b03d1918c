"""Images as tests make them."""

from __future__ import annotations

import struct
import zlib
from functools import cache
from io import BytesIO
from typing import Any

from PIL import Image

GPS = 0x8825
ORIENTATION = 0x0112
DESCRIPTION = 0x010E
PLACE = "Rack 4, Cellar Street 1"


@cache
def picture(format: str = "PNG", *, size: tuple[int, int] = (40, 30), colour: str = "teal") -> bytes:
    file = BytesIO()
    Image.new("RGB", size, colour).save(file, format)
    return file.getvalue()


@cache
def photograph(format: str = "JPEG", *, orientation: int = 6, profile: bytes | None = None) -> bytes:
    """Its left half is red as the camera held it, and it tells where it was taken."""
    image = Image.new("RGB", (64, 32), "white")
    image.paste("red", (0, 0, 32, 32))
    exif = Image.Exif()
    exif[ORIENTATION], exif[DESCRIPTION] = orientation, PLACE
    exif.get_ifd(GPS).update({1: "N", 2: (52.0, 31.0, 12.0)})
    file = BytesIO()
    image.save(file, format, exif=exif, icc_profile=profile)
    return file.getvalue()


def opened(data: bytes) -> Any:
    image = Image.open(BytesIO(data))
    image.load()
    return image


def huge(side: int) -> bytes:
    """A PNG of a few hundred bytes that says it is so wide and high, and unpacks to nothing."""
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 6, 0, 0, 0)),
        (b"IDAT", zlib.compress(b"")),
        (b"IEND", b""),
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(kind, data) for kind, data in chunks)


def chunk(kind: bytes, data: bytes) -> bytes:
    """A part of a PNG."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
