"""Uploading a file, and downloading a stored one by its signed address."""

import shutil
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
from starlette.background import BackgroundTask
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response

from memolith.bootstrap import App
from memolith.domain.callers import Caller
from memolith.doors.request_keys import CALLER_KEY, SCOPES_KEY, SHARE_KEY
from memolith.doors.shares import Share
from memolith.doors.worker_pools import WorkerPools
from memolith.engine.documents import file_facts
from memolith.errors import Denied, InvalidInput, of_system
from memolith.private_files import open_private
from memolith.tools.memorylake.views import file_body


class FileRoutes:
    """The routes `/files` and `/files/content`."""

    def __init__(self, app: App, pools: WorkerPools) -> None:
        self.app = app
        self.pools = pools

    async def upload(self, request: Request) -> Response:
        """Keep one file; nothing is left of one that is refused."""
        if "write" not in request.scope[SCOPES_KEY]:
            raise Denied("This needs a key with the scope: write.")
        caller = request.scope[CALLER_KEY]
        may_read = "read" in request.scope[SCOPES_KEY]
        # The place comes first: a body that is not read yet takes no room on the disk.
        async with self.pools.files.place(request.scope[SHARE_KEY]):
            file = await uploaded_file(request)
            kept = await self.pools.files.run(None, lambda: self.keep(caller, file, may_read))
        return JSONResponse(kept)

    def keep(self, caller: Caller, upload: UploadFile, may_read: bool) -> dict[str, Any]:
        try:
            with upload.file, TemporaryDirectory(dir=self.app.settings.data) as folder:
                path = Path(folder, "file")
                with open(path, "wb", opener=open_private) as file:
                    shutil.copyfileobj(upload.file, file)
                item, is_new = self.app.engine.documents.ingest(caller, path, upload.filename or "")
        except OSError as error:
            raise of_system(error) from error
        if not is_new and not may_read:
            # A name or a summary may have been stored with the document since.
            return {"id": item.id, "known": True}
        return {**file_body(item), "summary": file_facts(item).summary, "known": not is_new}

    async def download(self, request: Request) -> Response:
        """A stored file, for everybody whose address is still good."""
        documents = self.app.engine.documents
        opened = ExitStack()
        sealed = request.query_params.get("pass", "")
        caller, id = await anyio.to_thread.run_sync(documents.unsealed, sealed)
        # Nobody sent a key, so all downloads from a tenant share a place.
        share = Share(f"downloads of {caller.tenant}", caller.tenant)
        name, path = await self.pools.files.run(
            share, lambda: opened.enter_context(documents.stored(caller, id))
        )
        return FileResponse(
            path,
            headers={"x-content-type-options": "nosniff"},
            media_type="application/octet-stream",
            filename=name,
            background=BackgroundTask(opened.close),
        )


async def uploaded_file(request: Request) -> UploadFile:
    """The one file of a form."""
    try:
        form = await request.form(max_files=1, max_fields=0)
        [file] = [part for part in form.values() if isinstance(part, UploadFile)]
    except (HTTPException, ClientDisconnect, ValueError) as error:
        raise InvalidInput(
            "Send exactly one file, whole, as multipart/form-data.", field="file"
        ) from error
    return file
