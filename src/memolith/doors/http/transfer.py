"""Taking a whole tenant out of a server, and bringing one in."""

import io
import tempfile
from typing import IO, Any

import anyio
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from memolith.bootstrap import App
from memolith.domain.callers import MACHINE_TENANT, Caller
from memolith.doors.http.streamed_file import streamed_file
from memolith.doors.request_keys import CALLER_KEY, SCOPES_KEY, SHARE_KEY
from memolith.doors.worker_pools import WorkerPools
from memolith.errors import Denied, InvalidInput, TooLarge, of_system, translated

EXPORT_PATH = "/export"
LINES_TYPE = "application/x-ndjson"
FILE_NAME = "memolith.jsonl"
MAX_LINES_OF_OTHERS = 2000
"""How many lines a tenant brings in at a time that does not own the server: an import is one
transaction, and on SQLite the writes of all others wait for it."""


class TransferRoutes:
    """The routes `/export` and `/import`, for keys with the scope `admin`."""

    def __init__(self, app: App, pools: WorkerPools) -> None:
        self.app = app
        self.pools = pools

    async def export(self, request: Request) -> Response:
        """Every event of the tenant as lines of JSON.

        They are written to a file first: an answer that has begun could not tell any more that
        something went wrong. The file has no name, so nothing is left of it.
        """
        caller = admin_of(request)
        file = await self.pools.files.run(
            request.scope[SHARE_KEY], lambda: self._written(caller.tenant)
        )
        return streamed_file(file, FILE_NAME, LINES_TYPE)

    async def import_(self, request: Request) -> Response:
        """Take an export in: everything or, if one line is wrong, nothing.

        With `?source=NAME`, what an earlier import from there brought is left out.
        """
        caller = admin_of(request)
        source = request.query_params.get("source")
        async with self.pools.files.place(request.scope[SHARE_KEY]):
            with self._nameless_file() as file:
                await save_body(request, file)
                report = await self.pools.files.run(None, lambda: self._read(caller, file, source))
        return JSONResponse(report)

    def _nameless_file(self) -> IO[bytes]:
        try:
            return tempfile.TemporaryFile(dir=self.app.settings.data)
        except OSError as error:
            raise of_system(error) from error

    def _written(self, tenant: str) -> IO[bytes]:
        file = self._nameless_file()
        try:
            for line in self.app.engine.maintenance.export(tenant):
                file.write(line.encode() + b"\n")
            file.flush()
        except BaseException as error:
            file.close()
            if isinstance(error, OSError):
                raise of_system(error) from error
            raise
        return file

    def _read(self, caller: Caller, file: IO[bytes], source: str | None) -> dict[str, Any]:
        file.seek(0)
        if caller.tenant != MACHINE_TENANT:
            refuse_many(file)
        not_text = translated(UnicodeDecodeError, InvalidInput, "The body is not UTF-8 text.")
        lines = io.TextIOWrapper(file, encoding="utf-8")
        try:
            with not_text:
                report = self.app.engine.maintenance.import_(caller, lines, source=source)
                return report._asdict()
        finally:
            # The file itself is closed by whoever opened it.
            lines.detach()


def refuse_many(file: IO[bytes]) -> None:
    """Refuse more lines than a tenant may bring in at a time that does not own the server."""
    for number, _ in enumerate(file, start=1):
        if number > MAX_LINES_OF_OTHERS:
            raise TooLarge(
                f"Bring in at most {MAX_LINES_OF_OTHERS:,} lines at a time, or let the owner of "
                "the server run `memolith import`."
            )
    file.seek(0)


def admin_of(request: Request) -> Caller:
    """The caller, whose key must have the scope `admin`: an export holds what others wrote."""
    if "admin" not in request.scope[SCOPES_KEY]:
        raise Denied("This needs a key with the scope: admin.")
    caller: Caller = request.scope[CALLER_KEY]
    return caller


async def save_body(request: Request, file: IO[bytes]) -> None:
    """Write the body of a request to a file as it comes."""
    try:
        async for chunk in request.stream():
            await anyio.to_thread.run_sync(file.write, chunk)
    except ClientDisconnect as error:
        raise InvalidInput("The request ended in the middle.") from error
    except OSError as error:
        raise of_system(error) from error
