"""Pictures from files: decoded to 8-bit RGB, at most 768 px on the longest side, never upscaled, as PNG bytes.

The rule is the modality paper's (appendix B.1, B.2). The same bytes come out for the same file every time, and every
resize happens here and nowhere else, so all arms see one picture.
"""

from __future__ import annotations

import io
import warnings
from pathlib import Path

import numpy as np
from PIL import Image, UnidentifiedImageError

from ..errors import DataError

LONGEST = 768
MAX_PIXELS = 150_000_000
"""A picture with more pixels is refused: it is a decompression bomb or a mistake."""


def read_picture(source: Path | bytes, place: str = "", longest: int = LONGEST) -> bytes:
    """PNG bytes of a picture file (or of encoded bytes, when ``place`` names them).

    CMYK, palette, grey, 16-bit and transparent pictures come out as RGB; transparency goes onto white.

    Raises:
        DataError: missing, not a picture, truncated, or too large; names the file.
    """
    place = place or str(source)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(source) if isinstance(source, bytes) else source) as picture:
                width, height = picture.size
                if width * height > MAX_PIXELS:
                    raise DataError(f"{place}: {width} x {height} px is more than {MAX_PIXELS // 10**6} million pixels")
                picture.draft("RGB", (longest, longest))  # lets the JPEG decoder skip detail that is thrown away
                return encode(shrink(to_rgb(picture), longest))
    except DataError:
        raise
    except FileNotFoundError:
        raise DataError(f"{place}: no such picture") from None
    except UnidentifiedImageError:
        raise DataError(f"{place}: not a picture that can be read; PNG or JPEG is expected") from None
    except Image.DecompressionBombError:
        raise DataError(f"{place}: more than {MAX_PIXELS // 10**6} million pixels") from None
    except (OSError, ValueError, SyntaxError) as error:
        raise DataError(f"{place}: the picture is damaged: {error}; fetch or save it again") from None


def to_rgb(picture: Image.Image) -> Image.Image:
    """8-bit RGB. 16-bit grey keeps its upper eight bits (Pillow's own conversion would clip to white)."""
    picture.load()
    if picture.mode.startswith("I;16") or picture.mode == "I":
        grey = np.asarray(picture, dtype=np.int64)
        return Image.fromarray((np.clip(grey, 0, 65535) >> 8).astype(np.uint8)).convert("RGB")
    if picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info:
        rgba = picture.convert("RGBA")
        white = Image.new("RGBA", rgba.size, "white")
        return Image.alpha_composite(white, rgba).convert("RGB")
    return picture.convert("RGB")


def shrink(picture: Image.Image, longest: int) -> Image.Image:
    """The picture, scaled down when its longest side exceeds ``longest``."""
    scale = longest / max(picture.size)
    if scale >= 1:
        return picture
    size = max(1, round(picture.width * scale)), max(1, round(picture.height * scale))
    return picture.resize(size, Image.Resampling.LANCZOS)


def encode(picture: Image.Image, colours: int | None = None) -> bytes:
    """PNG bytes without any metadata. ``colours`` quantises drawings to a palette, which makes them small."""
    if colours:
        picture = picture.quantize(colours, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    out = io.BytesIO()
    picture.save(out, "PNG", compress_level=6)
    return out.getvalue()
