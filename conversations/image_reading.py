"""Images decoded, in a process of its own: what it takes to read them is for whoever wrote them to choose."""

from __future__ import annotations

from io import BytesIO
from typing import Any

from PIL import Image, ImageOps, JpegImagePlugin

from conversations.errors import Invalid
from conversations.image_files import MAX_SIDE, MEDIA_TYPES, ImageFile, too_wide

PRIVATE = ("exif", "xmp", "photoshop", "comment", "mp")
"""Names of what Pillow finds beside the pixels, and can tell where and by whom a picture was taken; as can any text of
a PNG."""


def work(data: bytes) -> ImageFile:
    """Raises Invalid for an image that cannot be kept."""
    try:
        return _decoded(data)
    except (Invalid, MemoryError):
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise too_wide() from None
    except Exception:  # of a damaged file Pillow raises nearly every kind
        raise Invalid("file: the image is damaged, or none that can be read.", field="file") from None


def _decoded(data: bytes) -> ImageFile:
    with Image.open(BytesIO(data), formats=tuple(MEDIA_TYPES)) as image:
        if max(image.size) > MAX_SIDE:
            raise too_wide()
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
