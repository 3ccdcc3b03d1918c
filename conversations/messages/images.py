"""Checks uploaded images: recognized by their bytes, decoded in a bounded process, kept without private metadata."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from django.utils.translation import gettext as _

from conversations.errors import Invalid
from conversations.runtime.bounded_process import JobFailed, OverMemory, OverTime, Pool
from conversations.runtime.fair_queue import FairQueue

MAX_BYTES = 5_000_000
MAX_SIDE = 8_000
"""Pixels of the longer side."""
TOKENS = 1_105
"""The tokens that an image of any size adds to a request.

OpenAI's guide to vision: 85, and 170 for each of the six tiles of 512 px that a large image is cut into, up to twice
as wide as high.
"""
MEDIA_TYPES = {"PNG": "image/png", "JPEG": "image/jpeg", "GIF": "image/gif", "WEBP": "image/webp"}
"""Pillow's names of formats -> media types."""
CONVERTED = ("AVIF", "HEIF", "TIFF", "BMP")
"""Formats that models do not accept: the image is stored as a PNG, or as a JPEG if it has no transparency."""
CONVERTED_SIDE = 3_000
"""The most pixels of the longer side of a converted image: models shrink larger ones, and it must stay in MAX_BYTES."""
MARKS = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a")
TIFF = (b"II*\0", b"MM\0*")
BRANDS = (b"avif", b"avis", b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1")
"""The brands of AVIF and HEIF files, after `ftyp`."""
SECONDS = 4.0
"""CPU seconds that decoding one image may take; a photograph of 64 million pixels takes one to three."""
MEGABYTES = 700
"""Memory that decoding may take: as much as the largest allowed images need."""

_pool = Pool("conversations.messages.image_decoding", seconds=SECONDS, megabytes=MEGABYTES)
_turns = FairQueue(at_once=2, a_person=3, waiting=3, seconds=20, what="images")


@dataclass(frozen=True, slots=True)
class ImageFile:
    """A decodable image as it is stored."""

    data: bytes
    media_type: str
    width: int
    height: int


def is_image(data: bytes) -> bool:
    """Whether the data are an image, by their first bytes."""
    if data.startswith((*MARKS, *TIFF)) or (data[:4] == b"RIFF" and data[8:12] == b"WEBP"):
        return True
    is_bitmap = data.startswith(b"BM") and data[6:10] == bytes(4) and len(data) > 26
    return is_bitmap or (data[4:8] == b"ftyp" and data[8:12] in BRANDS)


def read_image(data: bytes, *, by: Hashable = None) -> ImageFile:
    """Decode an image in a separate process; people take turns, and the image counts as a turn of the person `by`.

    Raises Invalid, with the field `file`, for an image that is too large, cannot be decoded, or needs too much time or
    memory. Raises TooMany and Busy if this person has no turn now.
    """
    require_size(data)
    with _turns.turn(by or object()):
        try:
            image: ImageFile = _pool.run(data)
        except OverTime:
            raise Invalid(
                _("file: the image could not be read within %(seconds)s seconds.") % {"seconds": f"{SECONDS:g}"},
                field="file",
                limit=SECONDS,
            ) from None
        except OverMemory:
            raise Invalid(
                _("file: the image could not be read within %(megabytes)s MB of memory.") % {"megabytes": MEGABYTES},
                field="file",
                limit=MEGABYTES,
            ) from None
        except JobFailed:
            raise Invalid(_("file: the image could not be read."), field="file") from None
    require_size(image.data)  # encoded anew, an image can be larger
    return image


def require_size(data: bytes) -> None:
    """Raises Invalid for an image with too many bytes."""
    if len(data) > MAX_BYTES:
        raise Invalid(
            _("file: an image has at most %(most)s MB.") % {"most": MAX_BYTES // 1_000_000},
            field="file",
            limit=MAX_BYTES,
        )


def too_wide() -> Invalid:
    return Invalid(
        _("file: an image has at most %(most)s pixels a side."),
        values={"most": f"{MAX_SIDE:,}"},
        field="file",
        limit=MAX_SIDE,
    )
