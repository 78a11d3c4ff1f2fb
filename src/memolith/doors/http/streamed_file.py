"""An open file as an answer."""

import os
from collections.abc import AsyncIterator
from typing import IO

import anyio
from starlette.responses import StreamingResponse

CHUNK_BYTES = 1 << 18


def streamed_file(file: IO[bytes], name: str, media_type: str) -> StreamingResponse:
    """The file from its beginning, to be saved under a name; it is closed in the end.

    It is open already, so nobody can take it away while it is sent.
    """
    file.seek(0)
    headers = {
        "content-length": str(os.fstat(file.fileno()).st_size),
        "content-disposition": f'attachment; filename="{name}"',
        "content-security-policy": "sandbox",
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
    }
    return StreamingResponse(_chunks(file), headers=headers, media_type=media_type)


async def _chunks(file: IO[bytes]) -> AsyncIterator[bytes]:
    with file:
        while chunk := await anyio.to_thread.run_sync(file.read, CHUNK_BYTES):
            yield chunk
