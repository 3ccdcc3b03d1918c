"""Images as they come in: told by their bytes, never by their names, checked, and kept without what tells a place."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from conversations.bounded_process import NotDone, OverMemory, OverTime, Pool
from conversations.errors import Invalid
from conversations.fair_turns import Turns

MAX_BYTES = 5_000_000
MAX_SIDE = 8_000
"""Pixels."""
TOKENS = 1_105
"""What an image adds to a request, whatever its size: OpenAI's 85, and 170 for each of the six tiles of 512 px that
a large one is cut into, up to twice as wide as high (its guide to vision)."""
MEDIA_TYPES = {"PNG": "image/png", "JPEG": "image/jpeg", "GIF": "image/gif", "WEBP": "image/webp"}
"""By Pillow's names."""
MARKS = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a")
SECONDS = 4.0
"""Of a processor that reading one image may take: a photograph of 64 million pixels takes one to three."""
MEGABYTES = 700
"""Of memory: as many as the largest take that are read."""

_pool = Pool("conversations.image_reading", seconds=SECONDS, megabytes=MEGABYTES)
_turns = Turns(at_once=2, a_person=3, waiting=3, seconds=20, what="images")


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


def read_image(data: bytes, *, by: Hashable = None) -> ImageFile:
    """Read in a process of its own, in the turn of the person `by` whom it is from.

    Raises Invalid, with the field `file`, for one that is too large, cannot be decoded, or takes too long to decode.
    Raises TooMany and Busy where it is not this person's turn.
    """
    require_size(data)
    with _turns.turn(by or object()):
        try:
            image: ImageFile = _pool.run(data)
        except OverTime:
            raise Invalid(
                f"file: the image could not be read within {SECONDS:g} seconds.", field="file", limit=SECONDS
            ) from None
        except OverMemory:
            raise Invalid(
                f"file: the image could not be read within {MEGABYTES} MB of memory.", field="file", limit=MEGABYTES
            ) from None
        except NotDone:
            raise Invalid("file: the image could not be read.", field="file") from None
    require_size(image.data)  # written anew it can be larger
    return image


def require_size(data: bytes) -> None:
    """Raises Invalid."""
    if len(data) > MAX_BYTES:
        raise Invalid(f"file: an image has at most {MAX_BYTES // 1_000_000} MB.", field="file", limit=MAX_BYTES)


def too_wide() -> Invalid:
    return Invalid(f"file: an image has at most {MAX_SIDE:,} pixels a side.", field="file", limit=MAX_SIDE)
