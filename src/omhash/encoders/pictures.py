"""Picture files, bytes and PIL images, read safely and brought to one form."""

from __future__ import annotations

import base64
import io
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from PIL import Image, ImageOps

from ..errors import InputError

Picture: TypeAlias = "str | os.PathLike[str] | bytes | Image.Image"
"""A file's path, a file's bytes, or a PIL image."""

FORMATS = ("BMP", "GIF", "JPEG", "PNG", "TIFF", "WEBP")
"""Formats that are read; the rarer decoders of Pillow are not worth their risk."""

MAX_PIXELS = 50_000_000


def square(picture: Picture, side: int, *, max_pixels: int = MAX_PIXELS) -> Image.Image:
    """The picture as RGB in a square, the whole of it, on white.

    Parameters
    ----------
    side : int
        Of the square, in pixels.
    max_pixels : int
        A larger picture is refused before it is decoded.

    Examples
    --------
    >>> from PIL import Image
    >>> square(Image.new("RGBA", (40, 20)), 8).getpixel((0, 0))
    (255, 255, 255)
    """
    return _read(picture, max_pixels, lambda image: _squared(image, side))


def thumbnail(picture: Picture, side: int = 128, *, max_pixels: int = MAX_PIXELS) -> str:
    """A small copy of the picture as a data URI, to keep as the field "picture" of a payload.

    Nothing but its pixels is copied: no place, no camera, no name.

    Examples
    --------
    >>> from PIL import Image
    >>> thumbnail(Image.new("RGB", (400, 200)))[:27]
    'data:image/webp;base64,UklG'
    """
    small = _read(picture, max_pixels, lambda image: _contained(image, side))
    file = io.BytesIO()
    small.save(file, "WEBP", quality=80)
    return f"data:image/webp;base64,{base64.b64encode(file.getvalue()).decode()}"


def _read(
    picture: Picture, max_pixels: int, shaped: Callable[[Image.Image], Image.Image]
) -> Image.Image:
    """What is made of a picture, or an `InputError`, whatever is wrong with the picture."""
    where = _where(picture)
    try:
        with warnings.catch_warnings():
            # Pillow warns of large pictures before the check below refuses them.
            warnings.simplefilter("ignore")
            image = _opened(picture, where)
            _check_size(image, max_pixels, where)
            return shaped(image)
    except InputError:
        raise
    except Image.DecompressionBombError as error:
        raise InputError(f"{where}: {error}: send a smaller picture") from None
    except Exception as error:
        # Decoders meet corrupt bytes with almost any exception.
        raise InputError(
            f"{where}: cannot be read ({type(error).__name__}: {error}); it must be a whole "
            f"picture, one of {', '.join(FORMATS)}"
        ) from error


def _where(picture: Picture) -> str:
    return (
        f"picture {os.fspath(picture)!r}" if isinstance(picture, (str, os.PathLike)) else "picture"
    )


def _opened(picture: Any, where: str) -> Image.Image:
    if isinstance(picture, Image.Image):
        return picture
    if isinstance(picture, (bytes, bytearray, memoryview)):
        return Image.open(io.BytesIO(picture), formats=FORMATS)
    if isinstance(picture, (str, os.PathLike)):
        path = Path(picture)
        if not path.is_file():
            raise InputError(f"{where}: there is no such file")
        return Image.open(io.BytesIO(path.read_bytes()), formats=FORMATS)
    raise InputError(
        f"a picture must be a path, bytes or a PIL image, not {type(picture).__name__}"
    )


def _check_size(image: Image.Image, max_pixels: int, where: str) -> None:
    width, height = image.size
    if width * height > max_pixels:
        raise InputError(
            f"{where}: {width} × {height} pixels are more than {max_pixels:,}: send a smaller one"
        )
    if not width or not height:
        raise InputError(f"{where}: has no pixels")


def _contained(image: Image.Image, side: int) -> Image.Image:
    """Upright, with transparency, no larger than a square."""
    if image.format == "JPEG":
        image.draft("RGB", (2 * side, 2 * side))
    upright = ImageOps.exif_transpose(image)
    if upright.mode.startswith("I") or upright.mode == "F":
        upright = _eight_bits(upright)
    return ImageOps.contain(upright.convert("RGBA"), (side, side), Image.Resampling.BICUBIC)


def _squared(image: Image.Image, side: int) -> Image.Image:
    if image.mode == "RGB" and image.size == (side, side) and not image.getexif():
        return image.copy()
    small = _contained(image, side)
    paper = Image.new("RGBA", (side, side), "white")
    paper.alpha_composite(small, ((side - small.width) // 2, (side - small.height) // 2))
    return paper.convert("RGB")


def _eight_bits(image: Image.Image) -> Image.Image:
    """Deep grey as eight bits; Pillow would clip it."""
    values = np.asarray(image, dtype=np.float64)
    scale = 257 if values.max() > 255 else 1
    return Image.fromarray((values / scale).clip(0, 255).astype(np.uint8))
