"""How vectors and the values that filters ask for become numbers."""

import zlib
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def quantised(vector: bytes) -> bytes:
    """Return a float32 vector as int8, scaled by its largest part; a cosine cancels the scale."""
    values = np.frombuffer(vector, "<f4")
    return bytes(np.rint(values * (127 / np.abs(values).max())).astype("i1"))


def sign_bits(rows: Array) -> Array:
    """Return the signs of vectors, packed into 64-bit words."""
    packed = np.packbits(np.atleast_2d(rows) > 0, axis=1)
    missing_bytes = -packed.shape[1] % 8
    return np.pad(packed, ((0, 0), (0, missing_bytes))).view("<u8")


def word_code(word: str | None) -> int:
    """Return a number for a word, 0 for none.

    Two words may share a number. The database is asked in the end, so nothing wrong is found.
    """
    if word is None:
        return 0
    return zlib.crc32(word.encode()) or 1


def microseconds(at: str) -> int:
    """Return a moment in ISO format as microseconds since 1970."""
    return round(datetime.fromisoformat(at).timestamp() * 1_000_000)
