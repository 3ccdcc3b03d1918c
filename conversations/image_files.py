"""Images as they come in: told by their bytes, never by their names, checked, and kept without what tells a place."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from threading import Lock
from typing import Any

from PIL import Image, ImageOps, JpegImagePlugin

from conversations.errors import Invalid

MAX_BYTES = 5_000_000
MAX_SIDE = 8_000
"""Pixels."""
TOKENS = 1_105
"""What an image adds to a request, whatever its size: OpenAI's 85, and 170 for each of the six tiles of 512 px that
a large one is cut into, up to twice as wide as high (its guide to vision)."""
MEDIA_TYPES = {"PNG": "image/png", "JPEG": "image/jpeg", "GIF": "image/gif", "WEBP": "image/webp"}
"""By Pillow's names."""
MARKS = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a")
PRIVATE = ("exif", "xmp", "photoshop", "comment", "mp")
"""Names of what Pillow finds beside the pixels, and can tell where and by whom a picture was taken; as can any text of
a PNG."""

_decoding = Lock()
"""One image at a time in a process: the largest takes 256 MB while it is decoded."""


@dataclass(frozen=True, slots=True)
class ImageFile:
    """An image that can be decoded, as it is kept."""

    data: bytes
    media_type: str
    width: int
    height: int


def is_image(data: bytes) -> bool:
    """By its first bytes."""
    return data.startswith(MARKS) or (data[:4] == b"RIFF" and data[8:12] == b"WEBP")


def read_image(data: bytes) -> ImageFile:
    """Raises Invalid, with the field `file`, for one that is too large, or cannot be decoded."""
    _require_size(data)
    with _decoding:
        try:
            image = _decoded(data)
            _require_size(image.data)  # written anew it can be larger
            return image
        except Invalid:
            raise
        except (Image.DecompressionBombError, Image.DecompressionBombWarning):
            raise _too_wide() from None
        except Exception:  # of a damaged file Pillow raises nearly every kind
            raise Invalid("file: the image is damaged, or none that can be read.", field="file") from None


def _decoded(data: bytes) -> ImageFile:
    with Image.open(BytesIO(data), formats=tuple(MEDIA_TYPES)) as image:
        if max(image.size) > MAX_SIDE:
            raise _too_wide()
        format = "JPEG" if image.format == "MPO" else str(image.format)  # several JPEGs in one, as telephones write it
        if _is_private(image):
            data, size = _without_private(image, format)
        else:
            size = image.size
            image.draft("L", (1, 1))  # an eighth of a JPEG is enough to see that all of it is there
            image.load()
        return ImageFile(data, MEDIA_TYPES[format], *size)


def _is_private(image: Image.Image) -> bool:
    """Of a moving picture nothing is taken away: it would stand still."""
    if image.format == "GIF" or (image.format != "MPO" and getattr(image, "is_animated", False)):
        return False
    texts = getattr(image, "text", None)  # reads a PNG to its end: they may stand behind the pixels
    return bool(texts or image.getexif() or any(name in image.info for name in PRIVATE))


def _without_private(image: Image.Image, format: str) -> tuple[bytes, tuple[int, int]]:
    """The pixels alone, upright, as coarse as they were. Its bytes, and its width and height."""
    how: dict[str, Any] = {"icc_profile": image.info.get("icc_profile")}
    if isinstance(image, JpegImagePlugin.JpegImageFile):
        how |= {"qtables": image.quantization, "subsampling": JpegImagePlugin.get_sampling(image)}
    elif format == "WEBP":
        how |= {"quality": 90}
    ImageOps.exif_transpose(image, in_place=True)
    image.info = {name: value for name, value in image.info.items() if name == "transparency"}
    file = BytesIO()
    image.save(file, format, **how)
    return file.getvalue(), image.size


def _require_size(data: bytes) -> None:
    if len(data) > MAX_BYTES:
        raise Invalid(f"file: an image has at most {MAX_BYTES // 1_000_000} MB.", field="file", limit=MAX_BYTES)


def _too_wide() -> Invalid:
    return Invalid(f"file: an image has at most {MAX_SIDE:,} pixels a side.", field="file", limit=MAX_SIDE)
