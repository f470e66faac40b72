"""Zip-based files (XLSX, NPZ) are looked at before they are opened: a small file can unpack to more than the memory."""

from __future__ import annotations

import struct
import zipfile
from pathlib import Path

from ..errors import DataError

MIB = 1024 * 1024


def check_zip(path: Path, limit: int, what: str, members: tuple[str, ...] = ()) -> None:
    """Refuse a file that is no zip archive or whose ``members`` (all if empty) unpack to more than ``limit`` bytes.

    Raises:
        DataError: missing file, not an archive, too large.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(entry.file_size for entry in archive.infolist() if not members or entry.filename in members)
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise DataError(f"{path}: is a folder; give a file") from None
    except (zipfile.BadZipFile, NotImplementedError, ValueError, struct.error):
        raise DataError(f"{path}: not {what} (no zip archive inside); save it again in that format") from None
    if size > limit:
        raise DataError(f"{path}: unpacks to {size / MIB:,.0f} MiB; at most {limit / MIB:,.0f} MiB are read; "
                        "keep only the data that the question needs")
