"""Decodes uploaded images in a separate process, as a file decides how much time and memory its decoding takes."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pillow_heif
from django.utils.translation import gettext as _
from PIL import Image, ImageOps, JpegImagePlugin

from conversations.errors import Invalid
from conversations.messages import svg
from conversations.messages.images import CONVERTED, CONVERTED_SIDE, MAX_SIDE, MEDIA_TYPES, ImageFile, too_wide

pillow_heif.register_heif_opener()

PRIVATE = ("exif", "xmp", "photoshop", "comment", "mp")
"""Pillow's names of metadata that can reveal where a picture was taken and who took it; any text in a PNG can, too."""


def work(data: bytes) -> ImageFile:
    """Decode an image and remove its private metadata. Raises Invalid for an image that cannot be kept."""
    try:
        return _decoded(data)
    except (Invalid, MemoryError):
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise too_wide() from None
    except Exception:  # Pillow raises nearly every kind of exception for damaged files
        raise Invalid(_("file: the image is damaged, or of a kind that cannot be read."), field="file") from None


def _decoded(data: bytes) -> ImageFile:
    if svg.is_svg(data):
        data = svg.drawn(data)
    with Image.open(BytesIO(data), formats=(*MEDIA_TYPES, *CONVERTED)) as image:
        if max(image.size) > MAX_SIDE:
            raise too_wide()
        if image.format in CONVERTED:
            return _converted(image)
        format = "JPEG" if image.format == "MPO" else str(image.format)  # telephones write several JPEGs into one
        if _is_private(image):
            data, size = _without_private(image, format)
        else:
            size = image.size
            image.draft("L", (1, 1))  # decoding a JPEG at an eighth of its size shows that it is complete
            image.load()
        return ImageFile(data, MEDIA_TYPES[format], *size)


def _converted(image: Image.Image) -> ImageFile:
    """The first picture of an image, upright and without metadata, in a format that models take."""
    upright = ImageOps.exif_transpose(image)
    is_clear = upright.has_transparency_data
    format = "PNG" if is_clear else "JPEG"
    upright = upright.convert("RGBA" if is_clear else "RGB")
    upright.thumbnail((CONVERTED_SIDE, CONVERTED_SIDE))
    upright.info = {}
    file = BytesIO()
    upright.save(file, format, **({} if is_clear else {"quality": 90}))
    return ImageFile(file.getvalue(), MEDIA_TYPES[format], *upright.size)


def _is_private(image: Image.Image) -> bool:
    """Whether the image has private metadata to remove; not for animations, which would lose their frames."""
    if image.format == "GIF" or (image.format != "MPO" and getattr(image, "is_animated", False)):
        return False
    texts = getattr(image, "text", None)  # reads a PNG to its end, as texts may follow the pixels
    return bool(texts or image.getexif() or any(name in image.info for name in PRIVATE))


def _without_private(image: Image.Image, format: str) -> tuple[bytes, tuple[int, int]]:
    """The image without metadata, upright, at its old quality: its bytes, and its width and height."""
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
